/*
 * The directories that are watched, and where they are. inotify tells of a
 * directory by the name that it had then; what is there now may be another.
 * So nothing is believed of a name: what is watched is what was opened, and
 * where it does not fit what is known, the tree is built anew (w->lost).
 *
 * No descriptor of a directory is kept, nor a current directory: the kernel
 * tells of its end only when nobody has it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_tree.h"
#include "sandbox/fs_watch.h"

#define DIR_MASK                                                               \
	(IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |     \
	 IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR |              \
	 IN_EXCL_UNLINK)
#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC)

struct fs_watch_dir *fs_watch_tree_find(const struct watch *w, int wd)
{
	struct fs_watch_dir *d;

	HASH_FIND_INT(w->all, &wd, d);
	return d;
}

bool fs_watch_tree_has(const struct watch *w, const struct fs_watch_dir *d)
{
	while (d->up != NULL)
		d = d->up;
	return d == w->top;
}

static void take_off(struct fs_watch_dir *d)
{
	if (d->at != NULL)
		*d->at = d->next;
	if (d->at != NULL && d->next != NULL)
		d->next->at = d->at;
	d->at = NULL;
	d->next = NULL;
}

static void put_on(struct fs_watch_dir *d, struct fs_watch_dir *up)
{
	d->up = up;
	if (up == NULL)
		return;
	d->next = up->below;
	d->at = &up->below;
	if (d->next != NULL)
		d->next->at = &d->next;
	up->below = d;
}

void fs_watch_tree_drop(struct watch *w, struct fs_watch_dir *d)
{
	if (d == NULL)
		return;
	while (d->below != NULL)
		fs_watch_tree_drop(w, d->below);
	take_off(d);
	inotify_rm_watch(w->inotify, d->wd);
	HASH_DELETE(hh, w->all, d);
	if (w->moved == d)
		w->moved = NULL;
	if (w->top == d)
		w->top = NULL;
	free(d);
}

void fs_watch_tree_close(struct watch *w)
{
	fs_watch_tree_drop(w, w->moved);
	fs_watch_tree_drop(w, w->top);
	own_fd(&w->inotify);
}

/* The top is found by its name; it must still be what it was. */
static int open_top(struct watch *w)
{
	OWN(own_fd) int fd = open(w->path, OPEN_DIR);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != w->dev ||
	    st.st_ino != w->ino) {
		w->why = WATCH_WHY_GONE;
		return -1;
	}
	return STEAL_FD(fd);
}

/* -1: it is not there now: what tells why is still to be read. */
static int open_dir(struct watch *w, const struct fs_watch_dir *d)
{
	OWN(own_fd) int up = -1;
	OWN(own_fd) int fd = -1;
	struct stat st;

	if (d->up == NULL)
		return open_top(w);
	up = open_dir(w, d->up);
	if (up >= 0)
		fd = openat(up, d->name, OPEN_DIR | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino != d->ino)
		return -1;
	return STEAL_FD(fd);
}

/* A directory watched at another place came here. */
static struct fs_watch_dir *again(struct watch *w, struct fs_watch_dir *d,
				  struct fs_watch_dir *up, const char *name)
{
	struct fs_watch_dir *old = d;

	if (d == w->moved)
		w->moved = NULL;
	else if (d->up == up && strcmp(d->name, name) == 0)
		return d;
	else
		w->lost = true;
	for (; up != NULL; up = up->up) {
		if (up == old) { /* below itself: we know it wrong */
			w->lost = true;
			return NULL;
		}
	}
	return d;
}

static struct fs_watch_dir *renamed(struct watch *w, struct fs_watch_dir *d,
				    struct fs_watch_dir *up, const char *name)
{
	size_t len = strlen(name) + 1;
	struct fs_watch_dir *new = calloc(1, sizeof(*new) + len);
	struct fs_watch_dir *b;

	if (new == NULL) {
		w->why = WATCH_WHY_FAILED;
		return NULL;
	}
	memcpy(new->name, name, len);
	new->wd = d->wd;
	new->ino = d->ino;
	new->missed = d->missed;
	new->below = d->below;
	if (new->below != NULL)
		new->below->at = &new->below;
	for (b = new->below; b != NULL; b = b->next)
		b->up = new;
	take_off(d);
	HASH_DELETE(hh, w->all, d);
	HASH_ADD_INT(w->all, wd, new);
	free(d);
	put_on(new, up);
	return new;
}

static int watch_fd(struct watch *w, int fd)
{
	int wd = -1;
	int sys;

	if (fchdir(fd) == 0)
		wd = inotify_add_watch(w->inotify, ".", DIR_MASK);
	sys = errno;
	if (chdir("/") < 0)
		w->why = WATCH_WHY_FAILED;
	errno = sys;
	if (wd < 0 && sys == ENOSPC)
		w->why = WATCH_WHY_WATCHES;
	else if (wd < 0 && sys == ENOMEM)
		w->why = WATCH_WHY_FAILED;
	return wd;
}

/* Watch the open directory ${fd} as ${name} in ${up}; NULL: it is not. */
static struct fs_watch_dir *add(struct watch *w, struct fs_watch_dir *up,
				const char *name, int fd)
{
	int wd = watch_fd(w, fd);
	size_t len = strlen(name) + 1;
	struct fs_watch_dir *d;
	struct stat st;

	if (wd < 0 || fstat(fd, &st) < 0)
		return NULL;
	d = fs_watch_tree_find(w, wd);
	if (d != NULL) {
		if (d->up == up && strcmp(d->name, name) == 0 && d != w->moved)
			return d;
		d = again(w, d, up, name);
		return d != NULL ? renamed(w, d, up, name) : NULL;
	}
	d = calloc(1, sizeof(*d) + len);
	if (d == NULL) {
		w->why = WATCH_WHY_FAILED;
		return NULL;
	}
	memcpy(d->name, name, len);
	d->wd = wd;
	d->ino = st.st_ino;
	put_on(d, up);
	HASH_ADD_INT(w->all, wd, d);
	return d;
}

struct scan {
	struct watch *w;
	bool tell;
	int depth;
};

static void scan(struct scan s, struct fs_watch_dir *d, int fd);

static void scan_sub(struct scan s, struct fs_watch_dir *up, int fd,
		     const char *name)
{
	OWN(own_fd) int sub = -1;
	struct fs_watch_dir *d;

	if (!fs_watch_enters(s.w, up, name))
		return;
	if (s.depth >= FS_DEPTH_MAX) {
		s.w->why = WATCH_WHY_DEEP;
		return;
	}
	sub = openat(fd, name, OPEN_DIR | O_NOFOLLOW);
	if (sub < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		s.w->why = WATCH_WHY_FAILED;
	d = sub >= 0 ? add(s.w, up, name, sub) : NULL;
	s.depth++;
	if (d != NULL)
		scan(s, d, STEAL_FD(sub));
}

static bool is_dir(int dir, const struct dirent *ent)
{
	struct stat st;

	if (ent->d_type != DT_UNKNOWN)
		return ent->d_type == DT_DIR;
	return fstatat(dir, ent->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* All that is in ${d}, which is watched and open as ${fd}, used up here. */
static void scan(struct scan s, struct fs_watch_dir *d, int fd)
{
	DIR *dir = fdopendir(fd);
	struct dirent *ent;

	if (dir == NULL) {
		close(fd);
		s.w->why = WATCH_WHY_FAILED;
		return;
	}
	while (s.w->why == 0 && (ent = readdir(dir)) != NULL) {
		struct watch_seen what = {.type = WATCH_CREATE};

		if (strcmp(ent->d_name, ".") == 0 ||
		    strcmp(ent->d_name, "..") == 0)
			continue;
		what.is_dir = is_dir(fd, ent);
		if (s.tell)
			fs_watch_tell(s.w, d, ent->d_name, what);
		if (what.is_dir)
			scan_sub(s, d, fd, ent->d_name);
	}
	closedir(dir);
}

int fs_watch_tree_build(struct watch *w)
{
	OWN(own_fd) int fd = -1;
	struct scan s = {.w = w};

	fs_watch_tree_close(w);
	w->lost = false;
	w->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->inotify < 0) {
		w->why = errno == EMFILE ? WATCH_WHY_INSTANCES
					 : WATCH_WHY_FAILED;
		return -1;
	}
	fd = open_top(w);
	if (fd < 0)
		return -1;
	w->top = add(w, NULL, "", fd);
	if (w->top == NULL) {
		w->why = w->why != 0 ? w->why : WATCH_WHY_FAILED;
		return -1;
	}
	if (w->recursive)
		scan(s, w->top, STEAL_FD(fd));
	w->lost = false; /* what moved meanwhile will be told */
	return w->why != 0 ? -1 : 0;
}

static int depth_of(const struct fs_watch_dir *d)
{
	int n = 0;

	for (; d != NULL; d = d->up)
		n++;
	return n;
}

void fs_watch_tree_enter(struct watch *w, struct fs_watch_dir *up,
			 const char *name)
{
	OWN(own_fd) int dir = -1;
	struct scan s = {.w = w, .tell = true, .depth = depth_of(up)};

	if (!fs_watch_enters(w, up, name))
		return;
	dir = open_dir(w, up);
	if (dir >= 0)
		scan_sub(s, up, dir, name);
	else
		up->missed = true;
}

/* What was missed in ${d} and below it can be found now. */
static void find_missed(struct watch *w, struct fs_watch_dir *d)
{
	struct scan s = {.w = w, .tell = true, .depth = depth_of(d)};
	struct fs_watch_dir *b;
	struct fs_watch_dir *next;
	int fd = d->missed ? open_dir(w, d) : -1;

	if (fd >= 0) {
		d->missed = false;
		scan(s, d, fd);
		return; /* and all below it */
	}
	for (b = d->below; b != NULL && !w->lost; b = next) {
		next = b->next;
		find_missed(w, b);
	}
}

void fs_watch_tree_take(struct watch *w, struct fs_watch_dir *up,
			const char *name, uint32_t cookie)
{
	struct fs_watch_dir *d = up->below;

	fs_watch_tree_drop(w, w->moved);
	while (d != NULL && strcmp(d->name, name) != 0)
		d = d->next;
	if (d == NULL)
		return;
	take_off(d);
	d->up = NULL;
	w->moved = d;
	w->cookie = cookie;
}

void fs_watch_tree_put(struct watch *w, struct fs_watch_dir *up,
		       const char *name)
{
	struct fs_watch_dir *d = w->moved;

	if (!fs_watch_tree_has(w, up)) { /* into itself: we know it wrong */
		w->lost = true;
		return;
	}
	w->moved = NULL;
	if (!fs_watch_enters(w, up, name)) {
		fs_watch_tree_drop(w, d);
		return;
	}
	d = renamed(w, d, up, name);
	if (d != NULL)
		find_missed(w, d);
}

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/bundle_swap.h"
#include "sandbox/bundle_swap_in.h"
#include "sandbox/fs_path.h"
#include "sandbox/fs_tree.h"

#define LOCK "restore"

static void drop(int at, const char *name)
{
	struct fs_op quiet = {0};

	(void)fs_tree_remove(&quiet, at, name);
}

void bundle_swap_close(struct bundle_swap *s)
{
	if (s->name[0] != '\0')
		drop(s->at, s->name);
	own_fd(&s->root);
	own_fd(&s->stage);
	own_fd(&s->lock);
	own_fd(&s->target);
	own_fd(&s->parent);
	s->at = -1;
}

/* ---- what others left ---- */

/* One that nobody works on any more. */
static void heal_one(int dir, const char *name)
{
	OWN(own_fd) int stage = -1;
	OWN(own_fd) int lock = -1;

	stage = openat(dir, name,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (stage < 0)
		return;
	lock = openat(stage, LOCK,
		      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		return;
	if (bundle_swap_in_settle(dir, stage) == 0)
		drop(dir, name);
}

static void heal(int dir)
{
	OWN(buf_free) struct buf names = BUF_INIT(BUNDLE_SWAP_NAMES_MAX);
	struct fs_op quiet = {0};

	if (bundle_swap_in_names(&quiet, dir, NULL, &names) < 0)
		return;
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
		if (fs_temp_is(names.data + at))
			heal_one(dir, names.data + at);
}

void bundle_swap_heal(const char *path)
{
	OWN(own_fd)
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir >= 0)
		heal(dir);
}

/* ---- the stage ---- */

static int stage_make(struct bundle_swap *s, int at)
{
	char name[FS_TEMP_LEN];

	fs_temp_name(name);
	if (mkdirat(at, name, 0700) < 0)
		return -1;
	memcpy(s->name, name, sizeof(name));
	s->at = at;
	s->stage = openat(at, name,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->stage < 0)
		return -1;
	s->lock = openat(s->stage, LOCK,
			 O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			 0600);
	if (s->lock < 0 || flock(s->lock, LOCK_EX | LOCK_NB) < 0)
		return -1;
	return mkdirat(s->stage, "new", 0755);
}

/* "c/d" of what is missing, in the tree that becomes "b". */
static int root_make(struct bundle_swap *s, const char *below)
{
	int fd = openat(s->stage, "new", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char part[NAME_MAX + 1];

	while (fd >= 0 && below[0] != '\0') {
		size_t n = strcspn(below, "/");
		int next = -1;

		if (n > NAME_MAX) {
			close(fd);
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(part, below, n);
		part[n] = '\0';
		below += n + strspn(below + n, "/");
		if (mkdirat(fd, part, 0755) == 0)
			next = openat(fd, part,
				      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	s->root = fd;
	return fd < 0 ? -1 : 0;
}

/* A mount cannot be renamed, nor what is in a directory of another. */
static bool is_mount(int dir, int parent)
{
	struct statx a, b;

	return statx(dir, "", AT_EMPTY_PATH, STATX_MNT_ID, &a) < 0 ||
	       statx(parent, "", AT_EMPTY_PATH, STATX_MNT_ID, &b) < 0 ||
	       a.stx_mnt_id != b.stx_mnt_id;
}

/* The target is there. */
static int open_there(struct bundle_swap *s, const char *path)
{
	OWN(fs_at_close) struct fs_at at = {.dir = -1};

	if (fs_path_target(s->op, path, false, &at) < 0)
		return -1;
	if (at.dots)
		return fs_fail_as(s->op, FS_INVALID);
	memcpy(s->target_name, at.name, sizeof(at.name));
	s->parent = openat(at.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	heal(s->target);
	if (s->parent >= 0 && !is_mount(s->target, s->parent)) {
		heal(s->parent);
		if (stage_make(s, s->parent) == 0)
			return 0;
		if (errno != EACCES && errno != EPERM && errno != EROFS)
			return fs_fail(s->op, errno);
	}
	own_fd(&s->parent);
	return stage_make(s, s->target) < 0 ? fs_fail(s->op, errno) : 0;
}

/* The path of the nearest directory that is there, and the rest. */
static int above(struct bundle_swap *s, char *path, const char **rest)
{
	char *slash;

	for (;;) {
		slash = strrchr(path, '/');
		if (slash == NULL)
			return fs_fail_as(s->op, FS_INVALID);
		*slash = '\0';
		s->parent = open(slash == path ? "/" : path,
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (s->parent >= 0)
			break;
		if (errno != ENOENT)
			return fs_fail(s->op, errno);
		*rest = slash + 1; /* joined again below */
	}
	*rest = slash + 1;
	return 0;
}

static int open_new(struct bundle_swap *s, const char *path)
{
	char text[PATH_MAX];
	const char *rest = NULL;
	char *below;
	size_t n = strlen(path), whole;

	if (n >= sizeof(text))
		return fs_fail(s->op, ENAMETOOLONG);
	memcpy(text, path, n + 1);
	while (n > 1 && text[n - 1] == '/')
		text[--n] = '\0';
	whole = n;
	if (above(s, text, &rest) < 0)
		return -1;
	/* above() cut it into parts. */
	for (size_t i = (size_t)(rest - text); i < whole; i++)
		if (text[i] == '\0')
			text[i] = '/';
	below = text + (rest - text);
	n = strcspn(below, "/");
	if (n == 0 || n > NAME_MAX)
		return fs_fail(s->op, n == 0 ? EINVAL : ENAMETOOLONG);
	memcpy(s->target_name, below, n);
	s->target_name[n] = '\0';
	below += n + strspn(below + n, "/");
	heal(s->parent);
	if (stage_make(s, s->parent) < 0 || root_make(s, below) < 0)
		return fs_fail(s->op, errno);
	return 0;
}

int bundle_swap_open(struct bundle_swap *s, const char *path)
{
	s->target = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->target < 0 && errno != ENOENT)
		return fs_fail(s->op, errno);
	if (s->target < 0)
		return open_new(s, path);
	if (open_there(s, path) < 0)
		return -1;
	return root_make(s, "") < 0 ? fs_fail(s->op, errno) : 0;
}

/* ---- the swap ---- */

/* By content after all: the stage goes along, into the target. */
static int swap_inside(struct bundle_swap *s)
{
	bool open;
	int r;

	if (s->at != s->target) {
		if (renameat(s->at, s->name, s->target, s->name) < 0)
			return fs_fail(s->op, errno);
		s->at = s->target;
	}
	r = bundle_swap_in_run(s->op, s->target, s->stage, s->name, &open);
	if (open)
		s->name[0] = '\0';
	return r;
}

int bundle_swap_commit(struct bundle_swap *s)
{
	if (s->target < 0)
		return renameat2(s->stage, "new", s->parent, s->target_name,
				 RENAME_NOREPLACE) < 0
			   ? fs_fail(s->op, errno)
			   : 0;
	if (s->parent < 0)
		return swap_inside(s);
	if (renameat2(s->stage, "new", s->parent, s->target_name,
		      RENAME_EXCHANGE) == 0)
		return 0;
	if (errno != EXDEV && errno != EBUSY && errno != EACCES &&
	    errno != EPERM)
		return fs_fail(s->op, errno);
	return swap_inside(s);
}

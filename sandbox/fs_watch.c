/*
 * Watching: inotify on each directory of a tree, as base/watch_msg.h says.
 * Whoever does not read what is told is waited for; meanwhile the kernel keeps
 * what happens, up to a limit of its own (IN_Q_OVERFLOW). Then the tree is
 * watched anew, and its reader told that he must look himself.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "sandbox/fs_temp.h"
#include "sandbox/fs_tree.h"
#include "sandbox/fs_watch.h"

#define READ_BYTES (64U << 10)
#define ASKS 64

struct mask_type {
	uint32_t mask;
	enum watch_type type;
};

static const struct mask_type mask_types[] = {
    {IN_CREATE, WATCH_CREATE},      {IN_MODIFY, WATCH_MODIFY},
    {IN_DELETE, WATCH_DELETE},      {IN_MOVED_FROM, WATCH_MOVE_FROM},
    {IN_MOVED_TO, WATCH_MOVE_TO},   {IN_ATTRIB, WATCH_ATTRIB},
    {IN_DELETE_SELF, WATCH_DELETE}, {IN_MOVE_SELF, WATCH_MOVE_FROM},
};

static void watch_free(struct watch *w)
{
	fs_watch_tree_close(w);
	fs_watch_queue_free(&w->queue);
}

static enum watch_type type_of(uint32_t mask)
{
	size_t i;

	for (i = 0; i < sizeof(mask_types) / sizeof(mask_types[0]); i++) {
		if ((mask & mask_types[i].mask) != 0)
			return mask_types[i].type;
	}
	return WATCH_TYPE_END;
}

/* The end of the top. */
static void self_gone(struct watch *w, struct fs_watch_dir *d,
		      enum watch_type type)
{
	struct watch_seen what = {.type = type, .is_dir = true};

	if (w->only == NULL)
		fs_watch_tell(w, d, "", what);
	w->why = WATCH_WHY_GONE;
}

/* Of a directory itself: the one that it is in tells it, but of the top. */
static void self_event(struct watch *w, struct fs_watch_dir *d,
		       struct watch_seen what, uint32_t mask)
{
	if (d != w->top || what.type == WATCH_TYPE_END)
		return;
	if ((mask & (IN_DELETE_SELF | IN_MOVE_SELF)) != 0)
		self_gone(w, d, what.type);
	else if (w->only == NULL)
		fs_watch_tell(w, d, "", what);
}

/* A directory came to or left ${d}. */
static void dir_event(struct watch *w, struct fs_watch_dir *d, const char *name,
		      struct watch_seen *what)
{
	bool matched = w->moved != NULL && w->cookie == what->cookie;

	switch (what->type) {
	case WATCH_CREATE:
		fs_watch_tell(w, d, name, *what);
		fs_watch_tree_enter(w, d, name);
		return;
	case WATCH_MOVE_FROM:
		fs_watch_tree_take(w, d, name, what->cookie);
		fs_watch_tell(w, d, name, *what);
		return;
	case WATCH_MOVE_TO:
		/* Without what was known of it all in it is told anew. */
		if (!matched && w->recursive)
			what->cookie = 0;
		fs_watch_tell(w, d, name, *what);
		if (matched)
			fs_watch_tree_put(w, d, name);
		else
			fs_watch_tree_enter(w, d, name);
		return;
	case WATCH_MODIFY:
	case WATCH_DELETE:
	case WATCH_ATTRIB:
		fs_watch_tell(w, d, name, *what);
		return;
	case WATCH_TYPE_END:
		return;
	}
}

/* A file in the making (fs_temp.h); without a name, the kernel says #inode. */
static bool in_the_making(const char *name, const struct watch_seen *what)
{
	size_t n = strlen(name);

	return !what->is_dir &&
	       (fs_temp_is(name) ||
		(what->type == WATCH_ATTRIB && name[0] == '#' && n > 1 &&
		 strspn(name + 1, "0123456789") == n - 1));
}

static void handle(struct watch *w, const struct inotify_event *ev,
		   const char *name)
{
	struct fs_watch_dir *d = fs_watch_tree_find(w, ev->wd);
	struct watch_seen what = {.type = type_of(ev->mask),
				  .is_dir = (ev->mask & IN_ISDIR) != 0,
				  .cookie = ev->cookie};

	if ((ev->mask & IN_Q_OVERFLOW) != 0)
		w->lost = true;
	if (d == NULL)
		return;
	if ((ev->mask & IN_IGNORED) != 0) {
		if (d == w->top)
			self_gone(w, d, WATCH_DELETE);
		else
			fs_watch_tree_drop(w, d);
	} else if (name[0] == '\0') {
		self_event(w, d, what, ev->mask);
	} else if (what.type == WATCH_TYPE_END || in_the_making(name, &what)) {
		return;
	} else if (!fs_watch_tree_has(w, d)) {
		w->lost = true; /* it is on its way, who knows where */
	} else if (what.is_dir) {
		dir_event(w, d, name, &what);
	} else {
		fs_watch_tell(w, d, name, what);
	}
}

static void handle_all(struct watch *w, const char *p, size_t n)
{
	struct inotify_event ev;

	while (n >= sizeof(ev) && w->why == 0) {
		memcpy(&ev, p, sizeof(ev));
		/* a name has its 0, or there is none */
		handle(w, &ev, ev.len > 0 ? p + sizeof(ev) : "");
		p += sizeof(ev) + ev.len;
		n -= sizeof(ev) + ev.len;
	}
}

/* Build anew what was lost; the reader is told when all is watched again. */
static void recover(struct watch *w)
{
	if (!w->lost || w->why != 0)
		return;
	if (fs_watch_tree_build(w) == 0)
		fs_watch_tell_end(w, WATCH_RESYNC);
}

/* All that inotify has now. */
static void drain(struct watch *w)
{
	char data[READ_BYTES];
	ssize_t n = 1;

	while (n > 0 && w->why == 0 && !w->lost) {
		n = read(w->inotify, data, sizeof(data));
		if (n > 0)
			handle_all(w, data, (size_t)n);
		if (fs_watch_queue_wait_ms(&w->queue) == 0 &&
		    fs_watch_queue_tell(&w->queue) < 0)
			_exit(1);
	}
	fs_watch_tree_drop(w, w->moved); /* it left */
	recover(w);
}

/* ---- to a reader ---- */

static int stop(struct watch *w)
{
	fs_watch_tell_end(w, WATCH_STOPPED);
	return fs_watch_queue_tell(&w->queue);
}

static int run_told(struct watch *w)
{
	while (w->why == 0) {
		struct pollfd p[2] = {{.fd = w->inotify, .events = POLLIN},
				      {.fd = STDOUT_FILENO}};
		int wait = fs_watch_queue_wait_ms(&w->queue);
		int n = wait == 0 ? 0 : poll(p, 2, wait);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n == 0 && fs_watch_queue_tell(&w->queue) < 0)
			return -1;
		if (n <= 0)
			continue;
		if (p[1].revents != 0)
			return 0; /* nobody listens any more */
		drain(w);
	}
	return stop(w);
}

/* ---- counting ---- */

/* What was asked, on stdin; 1: nobody will ask any more. */
static int answer(struct watch *w)
{
	OWN(buf_free) struct buf b = BUF_INIT((size_t)ASKS * WATCH_ANSWER_LEN);
	uint64_t asked;
	int r = fs_take_all(&asked, sizeof(asked));

	if (r != 0)
		return 1;
	drain(w);
	watch_put_answer(&b, asked, w->cursor);
	return buf_ok(&b) && fs_send(b.data, b.len) == 0 ? 0 : -1;
}

static int run_counted(struct watch *w)
{
	int64_t until = clock_mono_ms() + WATCH_IDLE_MS;

	while (w->why == 0) {
		struct pollfd p[2] = {{.fd = w->inotify, .events = POLLIN},
				      {.fd = STDIN_FILENO, .events = POLLIN}};
		int n = poll(p, 2, clock_left_ms(until));
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n;
		if (p[1].revents == 0) {
			drain(w);
			continue;
		}
		r = answer(w);
		if (r != 0)
			return r < 0 ? -1 : 0;
		until = clock_mono_ms() + WATCH_IDLE_MS;
	}
	return 0;
}

/* ---- the start ---- */

static int start_failed(struct fs_op *op, const struct watch *w)
{
	switch (w->why) {
	case WATCH_WHY_GONE:
		return fs_fail(op, ENOENT);
	case WATCH_WHY_WATCHES:
		return fs_fail_as(op, FS_WATCHES);
	case WATCH_WHY_INSTANCES:
		return fs_fail_as(op, FS_WATCHERS);
	case WATCH_WHY_DEEP:
		return fs_fail_as(op, FS_TOO_DEEP);
	case WATCH_WHY_FAILED:
	case WATCH_WHY_END:
		break;
	}
	return fs_fail(op, errno);
}

/* What is to be watched: a directory, or the one that holds a file. */
static int find_top(struct fs_op *op, struct watch *w, char *path)
{
	char *slash;
	struct stat st;

	if (stat(path, &st) < 0)
		return fs_fail(op, errno);
	fs_head_of(op, AT_FDCWD, path, &st);
	w->path = path;
	if (!S_ISDIR(st.st_mode)) {
		slash = strrchr(path, '/');
		w->only = slash + 1;
		w->recursive = false;
		w->path = slash == path ? "/" : path;
		*slash = '\0';
		if (stat(w->path, &st) < 0)
			return fs_fail(op, errno);
	}
	w->dev = st.st_dev;
	w->ino = st.st_ino;
	return 0;
}

static int run(struct fs_op *op, bool counts)
{
	OWN(watch_free)
	struct watch w = {.inotify = -1,
			  .counts = counts,
			  .glob = op->arg + 3,
			  .nglobs = op->args - 3,
			  .queue = FS_WATCH_QUEUE_INIT};
	char path[PATH_MAX];

	if (fs_flag(op, 1, &w.recursive) < 0 || fs_number(op, 2, &w.types) < 0)
		return -1;
	if (op->arg[0][0] != '/')
		return fs_fail_as(op, FS_INVALID);
	if (snprintf(path, sizeof(path), "%s", op->arg[0]) >= PATH_MAX)
		return fs_fail(op, ENAMETOOLONG);
	if (find_top(op, &w, path) < 0)
		return -1;
	fs_tree_room();
	if (chdir("/") < 0)
		return fs_fail(op, errno);
	if (fs_watch_tree_build(&w) < 0)
		return start_failed(op, &w);
	op->head.payload = FS_UNTIL_END;
	if (fs_send_head(op) < 0)
		return -1;
	return counts ? run_counted(&w) : run_told(&w);
}

int fs_watch_tree(struct fs_op *op)
{
	return run(op, false);
}

int fs_watch_count(struct fs_op *op)
{
	return run(op, true);
}

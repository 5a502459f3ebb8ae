/*
 * Watching a tree: its parts, which only fs_watch*.c use. What a watch needs
 * of base/watch_msg.h is in struct watch; all of it is the sandbox's memory.
 */
#ifndef SANDBOX_FS_WATCH_H
#define SANDBOX_FS_WATCH_H

#include <uthash.h>

#include "base/watch_msg.h"
#include "sandbox/fs_op.h"

/* ---- fs_watch_queue.c: what is to be told ---- */

#define FS_WATCH_EVENTS_MAX 1000 /* so many wait, then they are told */
#define FS_WATCH_WINDOW_MS 50

struct fs_watch_seen;

struct fs_watch_queue {
	struct buf out;             /* records */
	struct fs_watch_seen *seen; /* paths of out, and those told lately */
	unsigned n;                 /* records in out */
	bool now;                   /* one of them is not to wait */
	int64_t due_ms;             /* until then the others may */
};

#define FS_WATCH_QUEUE_INIT                                                    \
	{                                                                      \
		.out = BUF_INIT(4U << 20)                                      \
	}

/**
 * fs_watch_queue_add(q, rec):
 * Tell ${rec} later, unless what waits to be told says the same: a second
 * create, a modify or attrib of what was created or modified since. -1: no
 * memory.
 */
int fs_watch_queue_add(struct fs_watch_queue *q,
		       const struct watch_record *rec);

/** fs_watch_queue_tell(q): All of it to fd 1. Blocks: for its reader. */
int fs_watch_queue_tell(struct fs_watch_queue *q);

/**
 * fs_watch_queue_wait_ms(q):
 * How long what waits may wait still: a modify or attrib of a path that was
 * told within FS_WATCH_WINDOW_MS until that is over, all else not at all; -1:
 * nothing waits.
 */
int fs_watch_queue_wait_ms(const struct fs_watch_queue *q);

void fs_watch_queue_free(struct fs_watch_queue *q);

/* ---- fs_watch_tree.c: the directories ---- */

struct fs_watch_dir {
	int wd;
	ino_t ino;
	bool missed; /* what came into it was not found: it had moved on */
	struct fs_watch_dir *up; /* NULL: the top */
	struct fs_watch_dir *below;
	struct fs_watch_dir *next; /* of those in up */
	struct fs_watch_dir **at;  /* what points here */
	UT_hash_handle hh;         /* by wd */
	char name[];
};

struct watch {
	const char *path;        /* of the top, absolute */
	const char *only;        /* the top is one file: its name in ${path} */
	const char *const *glob; /* "+x", "-x" */
	int nglobs;
	bool recursive;
	bool counts; /* check: nothing is told, changes are counted */
	uint64_t types;
	int inotify;
	dev_t dev; /* what the top is */
	ino_t ino;
	struct fs_watch_dir *top;
	struct fs_watch_dir *all;   /* by wd */
	struct fs_watch_dir *moved; /* taken off its place, with … */
	uint32_t cookie;
	bool lost;          /* the tree here is not as it is: build it anew */
	enum watch_why why; /* 0: go on */
	uint64_t cursor;
	struct fs_watch_queue queue;
};

/**
 * fs_watch_tree_build(w):
 * Open inotify and watch all there is; what was watched before is forgotten.
 * -1: w->why says why not, errno what inotify said.
 */
int fs_watch_tree_build(struct watch *w);

/**
 * fs_watch_tree_enter(w, up, name):
 * The directory ${name} in ${up} came: watch it and tell all that is in it.
 * What is gone again, is no directory, or may not be read is left out.
 */
void fs_watch_tree_enter(struct watch *w, struct fs_watch_dir *up,
			 const char *name);

/** fs_watch_tree_take(w, up, name, cookie): It moves: kept as w->moved. */
void fs_watch_tree_take(struct watch *w, struct fs_watch_dir *up,
			const char *name, uint32_t cookie);

/** fs_watch_tree_put(w, up, name): w->moved came to this place. */
void fs_watch_tree_put(struct watch *w, struct fs_watch_dir *up,
		       const char *name);

/** fs_watch_tree_drop(w, d): Watch ${d} (NULL: nothing) no longer, nor what
 * is below it. */
void fs_watch_tree_drop(struct watch *w, struct fs_watch_dir *d);

/** fs_watch_tree_find(w, wd): NULL: it is not watched any more. */
struct fs_watch_dir *fs_watch_tree_find(const struct watch *w, int wd);

/** fs_watch_tree_has(w, d): ${d} is below the top, not below w->moved. */
bool fs_watch_tree_has(const struct watch *w, const struct fs_watch_dir *d);

/** fs_watch_tree_close(w): Forget all. */
void fs_watch_tree_close(struct watch *w);

/* ---- fs_watch_tell.c: what is told of it ---- */

struct watch_seen {
	enum watch_type type;
	bool is_dir;
	uint32_t cookie;
};

/** fs_watch_tell(w, up, name, what): Of ${name} in ${up}; "": of ${up}. */
void fs_watch_tell(struct watch *w, const struct fs_watch_dir *up,
		   const char *name, struct watch_seen what);

/** fs_watch_tell_end(w, kind): WATCH_RESYNC, or WATCH_STOPPED with w->why. */
void fs_watch_tell_end(struct watch *w, enum watch_kind kind);

/** fs_watch_enters(w, up, name): It is to be watched, if it is a directory. */
bool fs_watch_enters(const struct watch *w, const struct fs_watch_dir *up,
		     const char *name);

#endif

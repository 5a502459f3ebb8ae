/* Inside the recorder: its keepers, their executions, the open group. */
#ifndef STORE_RECORDER_LINK_H
#define STORE_RECORDER_LINK_H

#include <uthash.h>

#include "base/keeper_msg.h"
#include "base/loop.h"
#include "store/node.h"
#include "store/recorder.h"

#define LINK_EXECS_MAX 4096
#define LINK_TX_MAX (4U << 20)
#define LINK_TAG_SUBSCRIBE 1U
#define LINK_TAG_SNAPSHOT 2U
#define LINK_TAG_FIRST 3U
#define LINK_RETRY_MIN_MS 50
#define LINK_RETRY_MAX_MS 5000

/* An execution whose events come, named by its ATTACH's tag. */
struct rec_exec {
	uint32_t tag;
	id_text_t id;
	enum exec_kind kind;
	uint64_t last; /* newest seq in logs.db or in the group */
	bool ended;    /* end is known; it goes with the next commit */
	bool dirty;    /* in the group: to be acknowledged */
	struct node_end end;
	UT_hash_handle hh;    /* by tag */
	UT_hash_handle hh_id; /* by id */
};

struct rec_link {
	struct recorder *rec;
	id_sandbox_t id;
	int fd; /* -1: not connected */
	struct loop_watch watch;
	struct wire_rx rx;
	struct wire_tx tx;
	uint32_t next_tag;
	struct rec_exec *by_tag;
	struct rec_exec *by_id;
	struct log_bounds bounds;
	bool dirty;              /* one of its executions is */
	bool dead;               /* nobody listened when last tried */
	int64_t connected_ms;    /* unix */
	int64_t retry_ms;        /* the wait before the next try */
	struct loop_timer timer; /* retry, or snapshot to settle */
	UT_hash_handle hh;
};

struct recorder {
	struct recorder_conf conf;
	struct loop loop;
	struct store_conn *store;
	struct store_ckpt *ckpt;
	struct rec_link *links;
	int inotify;
	struct loop_watch inotify_watch;
	int signals;
	struct loop_watch signals_watch;
	/* the open group */
	bool open; /* a transaction of logs.db is */
	bool dirty;
	unsigned events;
	size_t bytes;
	struct loop_timer group_timer;
	bool broken; /* the store failed: start all anew */
	struct loop_timer broken_timer;
	bool lost; /* R/keepers went away under us */
};

/* ---- recorder.c: the group ---- */

/** recorder_dirty(l, x): ${x} is acknowledged, and ended, at the commit. */
void recorder_dirty(struct rec_link *l, struct rec_exec *x);

/** recorder_append(l, x, ev, e): Into the group. Errors: ERR_STORE, …. */
FALLIBLE enum err recorder_append(struct rec_link *l, struct rec_exec *x,
				  const struct keeper_event *ev,
				  struct errinfo *e);

/** recorder_commit(r): The group is in the files, or the store is broken. */
void recorder_commit(struct recorder *r);

/** recorder_broken(r, e): The store failed: drop all, try again soon. */
void recorder_broken(struct recorder *r, const struct errinfo *e);

/* ---- recorder_link.c: one keeper ---- */

/** recorder_link_new(r, id): Not connected yet; NULL: no memory. */
struct rec_link *recorder_link_new(struct recorder *r, const char *id);

/** recorder_link_begin(l, fd, e): Subscribe. Owns: ${fd} in any case. */
FALLIBLE enum err recorder_link_begin(struct rec_link *l, int fd,
				      struct errinfo *e);

/** recorder_link_flush(l): Send what waits; drops ${l} on failure. */
void recorder_link_flush(struct rec_link *l);

/** recorder_link_drop(l): Close the connection and forget its executions. */
void recorder_link_drop(struct rec_link *l);

/** recorder_link_forget(l, x): Its tag is unknown from now on. */
void recorder_link_forget(struct rec_link *l, struct rec_exec *x);

/** recorder_link_free(l): Out of the table. */
void recorder_link_free(struct rec_link *l);

/* ---- recorder_find.c: which keepers there are ---- */

/** recorder_find_open(r, e): Watch R/keepers; connect to those there. */
FALLIBLE enum err recorder_find_open(struct recorder *r, struct errinfo *e);

/** recorder_find_retry(l, now): Try at once, or after l->retry_ms. */
void recorder_find_retry(struct rec_link *l, bool now);

/** recorder_find_settle(l): All was told: rows it lacks are gone soon. */
void recorder_find_settle(struct rec_link *l);

#endif

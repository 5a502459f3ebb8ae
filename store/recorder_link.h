/* Inside the recorder: its keepers, their executions, the open group. */
#ifndef STORE_RECORDER_LINK_H
#define STORE_RECORDER_LINK_H

#include <uthash.h>

#include "base/keeper_msg.h"
#include "base/loop.h"
#include "store/ctl_tenant.h"
#include "store/node.h"
#include "store/node_tidy.h"
#include "store/recorder.h"

#define LINK_EXECS_MAX 4096
#define LINK_TX_MAX (4U << 20)
#define LINK_TAG_SUBSCRIBE 1U
#define LINK_TAG_SNAPSHOT 2U
#define LINK_TAG_FIRST 3U
#define LINK_RETRY_MIN_MS 50
#define LINK_RETRY_MAX_MS 5000

/*
 * What a sandbox prints in a burst, and as long as it likes: more is read
 * later, and its programs wait for that. A flood would else take most of a
 * core and of the disk, which are not the tenant's.
 */
#define LINK_BURST_BYTES (INT64_C(16) << 20)
#define LINK_BYTES_A_MS ((INT64_C(32) << 20) / 1000)
#define LINK_SLOW_MS 20

/* A part of a frame that any keeper may have in our memory; more of it only
 * one at a time, and so long: recorder_wide.c. */
#define LINK_NARROW_BYTES (256U << 10)
#define LINK_WIDE_MS 20000

/* An execution whose events come, named by its ATTACH's tag. */
struct rec_exec {
	uint32_t tag;
	id_text_t id;
	enum exec_kind kind;
	uint64_t last; /* newest seq in logs.db or in the group */
	bool ended;    /* end is known; it goes with the next commit */
	bool dirty;    /* in the group: to be acknowledged */
	struct rec_exec *next_dirty;
	uint32_t first, newest; /* its events in the group */
	struct node_end end;
	struct rec_link *link;
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
	ctl_tenant_id_t tenant;  /* "": its sandbox was deleted */
	bool acks;               /* some wait to be sent */
	bool deaf;               /* it takes no more of them: to be dropped */
	bool dead;               /* nobody listened when last tried */
	int64_t connected_ms;    /* unix */
	int64_t retry_ms;        /* the wait before the next try */
	struct loop_timer timer; /* retry, or snapshot to settle */
	int64_t room_bytes;      /* that it may send before it waits */
	int64_t room_ms;         /* monotonic: when that was worked out */
	struct loop_timer slow;  /* armed: it waits */
	uint64_t held;           /* it waits for that turn; 0: it does not */
	UT_hash_handle hh;
};

struct recorder {
	struct recorder_conf conf;
	struct loop loop;
	struct store_conn *store;
	struct store_ckpt *ckpt;
	struct rec_link *links;
	struct rec_link *wide; /* says something long; or NULL */
	struct loop_timer wide_timer;
	uint64_t held; /* the last number given to who waits for that */
	int inotify;
	struct loop_watch inotify_watch;
	int signals;
	struct loop_watch signals_watch;
	int hits; /* what nginx counted for previews */
	struct loop_watch hits_watch;
	struct rec_group *group;
	struct rec_exec *dirty; /* that have something in the group */
	struct loop_timer group_timer;
	int64_t wrote_ms; /* monotonic: the last commit */
	struct loop_timer tidy_timer;
	struct loop_timer prune_timer;
	struct node_tidy prune;
	bool shrunk; /* some file is to get shorter */
	bool broken; /* the store failed: start all anew */
	struct loop_timer broken_timer;
	bool lost; /* R/keepers went away under us */
};

/* ---- recorder_link.c ---- */

/** recorder_link_fail(l, e): Drop it: it is not to be believed. */
void recorder_link_fail(struct rec_link *l, const struct errinfo *e);

/** recorder_link_look(l): Read from it, unless it is to wait. */
void recorder_link_look(struct rec_link *l);

/* ---- recorder_wide.c ---- */

/** recorder_wide_look(l): Something of ${l} was read: whether the rest of its
 * frame is so long that it needs a turn. */
void recorder_wide_look(struct rec_link *l);

/** recorder_wide_leave(l): It is being dropped. */
void recorder_wide_leave(struct rec_link *l);

/* ---- recorder_group.c ---- */

/** recorder_group_open(r, e): An empty one. Errors: ERR_NOMEM. */
FALLIBLE enum err recorder_group_open(struct recorder *r, struct errinfo *e);
void recorder_group_close(struct recorder *r);

/** recorder_group_reset(r): Forget what is in it. */
void recorder_group_reset(struct recorder *r);

/** recorder_full(r): It is time to commit. */
bool recorder_full(const struct recorder *r);

/** recorder_clean(r, x): ${x} is not in the group any more. */
void recorder_clean(struct recorder *r, struct rec_exec *x);

/** recorder_dirty(l, x): ${x} is acknowledged, and ended, at the commit. */
void recorder_dirty(struct rec_link *l, struct rec_exec *x);

/** recorder_append(l, x, ev, e): Into the group. Errors: ERR_NOMEM. */
FALLIBLE enum err recorder_append(struct rec_link *l, struct rec_exec *x,
				  const struct keeper_event *ev,
				  struct errinfo *e);

/** recorder_commit(r): The group is in the files, or the store is broken. */
void recorder_commit(struct recorder *r);

/* ---- recorder.c ---- */

/** recorder_broken(r, e): The store failed: drop all, try again soon. */
void recorder_broken(struct recorder *r, const struct errinfo *e);

/* ---- recorder_hits.c ---- */

/** recorder_hits_open(r, e): Take what nginx counts. Errors: ERR_IO, ERR_ARG;
 * recorder_hits_close() in any case. */
FALLIBLE enum err recorder_hits_open(struct recorder *r, struct errinfo *e);
void recorder_hits_close(struct recorder *r);

/* ---- recorder_tidy.c ---- */

/** recorder_tidy_begin(r): From now on what is to be freed is looked for. */
void recorder_tidy_begin(struct recorder *r);

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

/*
 * Live sandboxes, as the broker sees them: init and keeper by pidfd, a slot,
 * cgroups, a socket. States: starting -> running -> ending -> gone.
 */
#ifndef SANDBOX_LIVE_H
#define SANDBOX_LIVE_H

#include <stdbool.h>

#include "sandbox/broker.h"
#include "sandbox/spawn.h"

enum live_state { LIVE_STARTING, LIVE_RUNNING, LIVE_ENDING };

/* A request that waits for a sandbox to run, or to be gone. */
struct live_wait {
	struct peer *peer; /* NULL once that peer has left */
	struct broker_req req;
	bool late; /* it came while the sandbox was ending */
	struct live_wait *next;
};

struct live {
	struct broker *broker;
	id_sandbox_t id;
	enum live_state state;
	uint32_t slot; /* BERTH_SLOTS: none yet */
	struct spawn_child init;
	pid_t keeper_pid;
	int keeper_pidfd; /* -1 once it has ended */
	struct loop_watch init_watch;
	struct loop_watch report_watch;
	struct loop_watch keeper_watch;
	struct loop_watch job_watch;
	struct disk_job job;    /* an image that is checked or mounted */
	struct broker_req want; /* of the start that waits for that */
	int64_t want_until_ms;
	int disk; /* the image's mount, so that it can be forsaken; or -1 */
	int tree; /* a mount namespace that an ender is to let go; or -1 */
	struct loop_timer timer; /* start deadline; then clean-up retries */
	struct spawn_report failure;
	enum err refused; /* before there was any process */
	bool destroy;     /* its files go too */
	struct flow_item turn;
	struct live_wait *waits;
	struct live *next;
};

/** live_find(b, id): The live sandbox of that id, or NULL. */
struct live *live_find(struct broker *b, const char *id);

/**
 * live_start(b, peer, req, e):
 * Begin to start a sandbox that is not live; ${req} is answered when it runs
 * or has failed, which may be at once. On failure nothing is left, and the
 * answer is the caller's.
 */
FALLIBLE enum err live_start(struct broker *b, struct peer *peer,
			     const struct broker_req *req, struct errinfo *e);

/** live_resume(b): Begin the starts that wait, each when it is its flow's turn
 * (flow.h), as far as there is what they need. */
void live_resume(struct broker *b);

/** live_resume_soon(b): Likewise, when what is just done is done. */
void live_resume_soon(struct broker *b);

/** live_refusal_step(code, req): What a START that is refused with ${code}
 * is answered as its step. */
uint32_t live_refusal_step(enum err code, const struct broker_req *req);

/** live_wait(l, peer, req): Answer ${req} at the next turn of its state. */
FALLIBLE enum err live_wait(struct live *l, struct peer *peer,
			    const struct broker_req *req, struct errinfo *e);

/** live_forget_peer(b, peer): No waiting request is answered to it. */
void live_forget_peer(struct broker *b, struct peer *peer);

/** live_new(b, id, flow): An empty one, not in any list; NULL without
 * memory. */
struct live *live_new(struct broker *b, const char *id, uint64_t flow);

/** live_free(l): It is in no list, and nobody waits for it. */
void live_free(struct live *l);

/** live_watch(l): See the ends of what it has started. */
void live_watch(struct live *l);

/** live_hold_tree(l): Keep the mount namespace that its init is in now, until
 * an ender gets it (maker_release()). */
void live_hold_tree(struct live *l);

/** live_unlink(l): Out of the broker's list; ${l} stays the caller's. */
void live_unlink(struct live *l);

/** live_answer_starts(l, code, step): Answer every START that waits for the
 * start of ${l}, and none that came later. */
void live_answer_starts(struct live *l, enum err code, uint32_t step);

/* ---- live_start.c, live_end.c ---- */

/**
 * live_start_now(l, req, e):
 * ${l} is in the list, and nothing is missing. On failure it stays there,
 * without any process; when processes failed, it ends like any other, its
 * waits are answered, and that is no failure here.
 */
FALLIBLE enum err live_start_now(struct live *l, const struct broker_req *req,
				 struct errinfo *e);

/** live_end(l): Kill all in it; clean up when init and keeper are reaped. */
void live_end(struct live *l);

/** live_end_without_init(l): Init has ended. Its keeper sees it too: it tells
 * every reader, then ends; if not, it is killed after a while. */
void live_end_without_init(struct live *l);

/** live_end_go_on(l): A process of one that ends was reaped: clean up if it
 * was the last one. ${l} is gone then. */
void live_end_go_on(struct live *l);

/* ---- live_adopt.c ---- */

/** live_adopt_all(b): Take over what an earlier broker left running; end
 * and clean up what is half there. */
void live_adopt_all(struct broker *b);

#endif

/*
 * The one place that decides whose sandbox it is, and the way into it.
 *
 *	OWN(link_close) struct link l = LINK_INIT;
 *	r = link_open(rq, LINK_CREATE, &l, e);
 *	r = link_start(&l, &start, NULL, 0, &pid, e);
 *	while ((r = link_next(&l, deadline, &ev, e)) == ERR_NONE) …
 *
 * A link is one connection to the sandbox's keeper and serves one call.
 */
#ifndef FCGI_SANDBOX_LINK_H
#define FCGI_SANDBOX_LINK_H

#include "base/keeper_msg.h"
#include "fcgi/route.h"

enum link_mode {
	LINK_CREATE, /* a changing call: make the sandbox, start it */
	LINK_START,  /* it must exist; start it if it does not run */
	LINK_LIVE    /* it must exist and run: a read never starts it, and
			wakes it only by a route that changes something */
};

struct link {
	struct request *rq;
	int fd;
	uint32_t tag;
	struct wire_rx rx;
	bool watch;
	bool woke;     /* it slept when this was opened */
	bool patient;  /* calls have no deadline: their turn comes some time */
	unsigned seen; /* frames since the client was looked at */
	/* After link_attach: the oldest seq still there, the next one to
	 * come, and that no more will. */
	uint64_t first;
	uint64_t next;
	bool ended;
	enum link_mode mode;
	uint32_t ping;    /* the tag of the one that is not answered yet */
	bool sure;        /* the keeper lives */
	bool fresh;       /* it was started for this call */
	int64_t since_ms; /* after link_list: the keeper lives since (unix) */
};

#define LINK_INIT                                                              \
	{                                                                      \
		.fd = -1, .watch = true                                        \
	}

/* How long a start of a sandbox, or any short call to it, may take. */
#define LINK_START_MS 20000
#define LINK_CALL_MS 10000

/** link_no_sandbox(rq, name, e): It does not exist, or is another's: 404. */
FALLIBLE enum err link_no_sandbox(struct request *rq, const char *name,
				  struct errinfo *e);

/**
 * link_find(rq, e):
 * Set rq->sandbox by {sandbox} of its path: a name or an id of this tenant.
 * Errors: ERR_NOT_FOUND with 404 noted, the same for one that does not exist
 * and one that is another's.
 */
FALLIBLE enum err link_find(struct request *rq, struct errinfo *e);

/**
 * link_reserve(rq, spec, made, e):
 * The row of ${spec} as rq->sandbox; ${made}: it is new. Errors: with the
 * failure noted: 503 while that name is deleted, 429 when the tenant has as
 * many sandboxes as it may.
 */
FALLIBLE enum err link_reserve(struct request *rq,
			       const struct ctl_sandbox_spec *spec, bool *made,
			       struct errinfo *e);

/**
 * link_ensure(rq, e):
 * As link_find, but a name that is free becomes a sandbox (first use
 * creates); nothing is started. Errors: as link_find for ids; ERR_ARG for a
 * bad name; ERR_LIMIT.
 */
FALLIBLE enum err link_ensure(struct request *rq, struct errinfo *e);

/**
 * link_open(rq, mode, l, e):
 * Find (or create) the sandbox and connect to its keeper, starting or waking
 * it and reopening its ports as ${mode} allows. As long as such a link is
 * open the sandbox is in use.
 * Errors: those of link_find; ERR_GONE (LINK_LIVE only, no failure noted)
 * when it does not run; ERR_IO, ERR_TIMEOUT when it cannot be started (503).
 */
FALLIBLE enum err link_open(struct request *rq, enum link_mode mode,
			    struct link *l, struct errinfo *e);

/**
 * link_open_early(rq, mode, l, e), link_sure(l, e):
 * The two halves of link_open: between them the caller may do what takes time
 * but no keeper, while the keeper is asked whether it lives. No other call on
 * ${l} before the second. Errors: as link_open, of either.
 */
FALLIBLE enum err link_open_early(struct request *rq, enum link_mode mode,
				  struct link *l, struct errinfo *e);
FALLIBLE enum err link_sure(struct link *l, struct errinfo *e);

/** link_close(l): Close; an execution with KF_KILL_ON_CLOSE is killed. */
void link_close(struct link *l);

/**
 * link_start(l, s, fds, nfds, pid, e):
 * START ${s}; ${pid} (as seen inside) may be NULL. Descriptors stay yours.
 * Errors: what the keeper refused, with e->text = the step or field
 * ("cwd", "argv", "id", …); ERR_GONE when the keeper died.
 */
FALLIBLE enum err link_start(struct link *l, const struct keeper_start *s,
			     const int *fds, int nfds, uint32_t *pid,
			     struct errinfo *e);

/**
 * link_call(l, type, payload, msg, e):
 * Send one frame and wait for its one answer: OK, ITEM, ATTACHED, STARTED,
 * SESSION, PORT_IS, STRAYS.
 * Owns: ${msg} (may be NULL) is valid until the next call on ${l}. Events of
 * an execution attached on ${l} that come meanwhile are lost: take another
 * link for calls while you follow one.
 * Errors: REFUSED as its error; ERR_GONE when the keeper died.
 */
FALLIBLE enum err link_call(struct link *l, enum keeper_msg type,
			    const struct buf *payload, struct wire_msg **msg,
			    struct errinfo *e);
FALLIBLE enum err link_call_fds(struct link *l, enum keeper_msg type,
				const struct buf *payload, const int *fds,
				int nfds, struct wire_msg **msg,
				struct errinfo *e);

/**
 * link_attach(l, id, after, follow, e):
 * Events of ${id} with seq > ${after} follow from link_next().
 * Errors: ERR_NOT_FOUND: this keeper does not know ${id}.
 */
FALLIBLE enum err link_attach(struct link *l, const char *id, uint64_t after,
			      bool follow, struct errinfo *e);

/** link_kill(l, id, grace_ms, reason, e): TERM to all of it, grace, KILL. */
FALLIBLE enum err link_kill(struct link *l, const char *id, uint32_t grace_ms,
			    enum end_reason reason, struct errinfo *e);

/** link_status(l, id, item, e): ${item}->id lives until the next call. */
FALLIBLE enum err link_status(struct link *l, const char *id,
			      struct keeper_item *item, struct errinfo *e);

/**
 * link_list(l, each, ctx, e):
 * Call ${each} for all executions that the keeper has.
 */
FALLIBLE enum err link_list(struct link *l,
			    enum err (*each)(void *ctx,
					     const struct keeper_item *item,
					     struct errinfo *e),
			    void *ctx, struct errinfo *e);

enum link_got {
	LINK_EVENT,    /* ev is filled; EVENT_END is the last one */
	LINK_GAP,      /* events before gap_first are gone */
	LINK_REPLAYED, /* all that is there was sent (follow = false) */
	LINK_TICK      /* the deadline passed */
};

struct link_event {
	enum link_got got;
	struct keeper_event ev; /* data valid until the next call */
	uint64_t gap_first;
};

/**
 * link_next(l, deadline_ms, out, e):
 * Wait for what comes next of an execution that was started or attached.
 * Errors: ERR_GONE with e->text "client" when the client hung up;
 * ERR_PEER when the keeper ended (the sandbox is gone) or talks nonsense.
 * Blocks: until the monotonic ${deadline_ms}; LINK_TICK then.
 */
FALLIBLE enum err link_next(struct link *l, int64_t deadline_ms,
			    struct link_event *out, struct errinfo *e);

/** link_client_gone(e): The error of link_next() was the client's end. */
bool link_client_gone(const struct errinfo *e);

/** link_watch(l, on): Whether waits end when the client hangs up (yes). */
void link_watch(struct link *l, bool on);

/**
 * link_default(spec, name):
 * The settings of a sandbox that is made by its first use.
 */
void link_default(struct ctl_sandbox_spec *spec, const char *name);

/** link_runs(rq, id): Its keeper answers. */
bool link_runs(const struct request *rq, const char *id);

#endif

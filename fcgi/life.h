/*
 * A sandbox' life: sleeping, waking, stopping, its end.
 *
 * What is true is in its keeper, which puts it to sleep and wakes it; the row
 * follows. Whoever changes something writes the row, then looks again: so the
 * one who wrote last has seen what is true (life_settle()).
 */
#ifndef FCGI_LIFE_H
#define FCGI_LIFE_H

#include "base/keeper_msg.h"
#include "fcgi/route.h"

struct life {
	enum sandbox_state state;
	bool in_use;
	int64_t used_ms; /* unix; now when it is in use */
};

/**
 * life_ask(run_dir, id, type, payload, out, e):
 * Send a keeper STATE, WAKE or SLEEP, on a connection of its own.
 * Errors: ERR_NOT_FOUND: none lives; ERR_STATE (SLEEP): it is in use.
 * Blocks: for two seconds at most. Threads: any.
 */
FALLIBLE enum err life_ask(const char *run_dir, const char *id,
			   enum keeper_msg type, const struct buf *payload,
			   struct keeper_state *out, struct errinfo *e);

/** life_look(rq, s, out): How it is with ${s}, whatever its row says. */
void life_look(const struct request *rq, const struct ctl_sandbox *s,
	       struct life *out);

/** life_reread(rq, e): rq->sandbox anew. Errors: ERR_NOT_FOUND. */
FALLIBLE enum err life_reread(struct request *rq, struct errinfo *e);

/**
 * life_settle(rq, e):
 * The row of rq->sandbox, here and stored, becomes what is true.
 * Errors: ERR_NOT_FOUND when it is deleted meanwhile.
 */
FALLIBLE enum err life_settle(struct request *rq, struct errinfo *e);

/**
 * life_sleep(rq, which, e):
 * Put rq->sandbox to sleep, if it is one of ${which} (UNUSED: since its row's
 * last use), and wait until nothing in it runs.
 * Errors: ERR_STATE: it is none. One that does not run stays as it is.
 */
FALLIBLE enum err life_sleep(struct request *rq, enum keeper_sleep which,
			     struct errinfo *e);

/**
 * life_stop(rq, asleep, e):
 * End all that runs in rq->sandbox; its files stay. ${asleep}: only if it
 * sleeps, ERR_STATE else. Errors: with the failure noted (503).
 */
FALLIBLE enum err life_stop(struct request *rq, bool asleep, struct errinfo *e);

/** life_close_ports(rq, id): Before its end: no preview reaches it any
 * more. */
void life_close_ports(struct request *rq, const char *id);

/**
 * life_destroy(rq, id, name, e):
 * Everything of the sandbox whose row is in state deleting, and the row.
 * Errors: with the failure noted (503): to be tried again.
 */
FALLIBLE enum err life_destroy(struct request *rq, const char *id,
			       const char *name, struct errinfo *e);

#endif

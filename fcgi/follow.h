/*
 * An execution's event log as one sequence: what the recorder has stored,
 * then what the keeper still holds, then what comes. No double; a gap only
 * where events were dropped, and it is told.
 */
#ifndef FCGI_FOLLOW_H
#define FCGI_FOLLOW_H

#include "base/keeper_msg.h"
#include "fcgi/route.h"

enum follow_how {
	FOLLOW_ON = 0,
	FOLLOW_ENDED = 1, /* END was given to event() */
	FOLLOW_SO_FAR,    /* all that there is now; only if not live */
	FOLLOW_GONE       /* END lies before after, or the sandbox is gone and
			     none was stored: the row says how it ended */
};

struct follow {
	struct request *rq;
	const char *id;
	uint64_t after;
	bool live; /* wait for what comes */
	/* Each event in order. Errors end the following. */
	enum err (*event)(void *ctx, const struct keeper_event *ev,
			  struct errinfo *e);
	/* Events ${from} to ${to} are not there any more; may be NULL. */
	enum err (*gap)(void *ctx, uint64_t from, uint64_t to,
			struct errinfo *e);
	/* While nothing comes, each idle_ms (0: a second, then five) and at
	 * until_ms (monotonic; 0: never); may be NULL. */
	enum err (*idle)(void *ctx, struct errinfo *e);
	void *ctx;
	int64_t idle_ms; /* event() and idle() may change it */
	int64_t until_ms;
	enum follow_how how; /* set by follow_run */
	bool quiet;          /* nothing came for a while */
};

/**
 * follow_run(f, e):
 * rq->sandbox must be set. Parks the store connection while it waits.
 * Errors: ERR_GONE when the client left; what event() and idle() return.
 * Blocks: as long as the execution runs, if live.
 */
FALLIBLE enum err follow_run(struct follow *f, struct errinfo *e);

#endif

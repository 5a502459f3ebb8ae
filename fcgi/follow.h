/*
 * An execution's event log as one sequence: what the recorder has stored,
 * then what the keeper still holds, then what comes. No double; a gap only
 * where events were dropped, and it is told.
 */
#ifndef FCGI_FOLLOW_H
#define FCGI_FOLLOW_H

#include "base/keeper_msg.h"
#include "fcgi/route.h"
#include "fcgi/sandbox_link.h"
#include "store/node_execution.h"

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

/**
 * follow_row(rq, id, row, e):
 * After FOLLOW_GONE: the row of execution ${id}, as soon as the recorder has
 * stored its end there, or as it is after a moment. Owns: ${row}, {0} before,
 * is freed by node_execution_free. Errors: ERR_NOT_FOUND.
 */
FALLIBLE enum err follow_row(struct request *rq, const char *id,
			     struct node_execution *row, struct errinfo *e);

/**
 * follow_link(f, l, e):
 * The same from a keeper that sends the events after f->after on ${l}, as to
 * who starts an execution: what it had to drop meanwhile is read from the
 * store. f->how stays FOLLOW_ON when the keeper ended first.
 * Errors: as follow_run. Blocks: the same.
 */
FALLIBLE enum err follow_link(struct follow *f, struct link *l,
			      struct errinfo *e);

#endif

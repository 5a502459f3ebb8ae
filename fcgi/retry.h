/*
 * Calls that may be retried (the header Idempotency-Key):
 *
 *	struct retry again = RETRY_INIT;
 *	id_stamped("proc", again.row.made);
 *	r = retry_begin(rq, rq->sandbox.id, &again, e);
 *	if (r == ERR_NONE && retry_answered(&again))
 *		return retry_replay(rq, &again, e);
 *
 * Then the call makes again.row.made, which is the first try's id if this is
 * not the first: it takes up what is there and makes what is missing.
 */
#ifndef FCGI_RETRY_H
#define FCGI_RETRY_H

#include "fcgi/route.h"
#include "store/node_retry.h"

#define RETRY_KEY_MAX 255

struct retry {
	const char *key; /* NULL: an ordinary call */
	const char *scope;
	bool first;
	struct node_retry row;
};

#define RETRY_INIT                                                             \
	{                                                                      \
		.first = true                                                  \
	}

void retry_free(struct retry *x);

/**
 * retry_begin(rq, scope, x, e):
 * Look for the key of ${rq}, whose body was read, in ${scope}; x->row.made is
 * set before. Errors: with the failure noted: 400 for a bad key, 422 when it
 * came with another request before.
 */
FALLIBLE enum err retry_begin(struct request *rq, const char *scope,
			      struct retry *x, struct errinfo *e);

/**
 * retry_wait(rq, x, e):
 * The first try may be at it: give it a moment to answer. After that it is
 * over, or its worker is; or it came to nothing and this is the first one.
 */
FALLIBLE enum err retry_wait(struct request *rq, struct retry *x,
			     struct errinfo *e);

/** retry_asked(rq): There is such a header. */
bool retry_asked(const struct request *rq);

/** retry_answered(x), retry_replay(rq, x, e): It was done; say so again. */
bool retry_answered(const struct retry *x);
FALLIBLE enum err retry_replay(struct request *rq, const struct retry *x,
			       struct errinfo *e);

/** retry_done(rq, x, o): ${o} is what retries are answered. */
void retry_done(struct request *rq, const struct retry *x,
		const struct json_out *o);

/**
 * retry_open(rq, id, open, e):
 * Whether execution ${id}, which the first try made, may not have come to its
 * START or RUN: it has no events and no end. If its keeper knows it, a second
 * one says so and starts nothing. Errors: with 409 noted if there is no row.
 */
FALLIBLE enum err retry_open(struct request *rq, const char *id, bool *open,
			     struct errinfo *e);

/** retry_drop(rq, x): It came to nothing: a retry begins anew. */
void retry_drop(struct request *rq, const struct retry *x);

#endif

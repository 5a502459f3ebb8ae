/*
 * One command from its start to its end, whether this call starts it or, as
 * the retry of one with the same Idempotency-Key, takes up what another did.
 */
#ifndef FCGI_EXEC_CALL_H
#define FCGI_EXEC_CALL_H

#include "fcgi/exec_body.h"
#include "fcgi/follow.h"
#include "fcgi/retry.h"
#include "fcgi/sandbox_link.h"

struct exec_call {
	struct request *rq;
	struct exec_body *body;
	struct link link;
	struct retry retry;
	id_text_t id;
	uint64_t after; /* events up to here are not asked for */
	bool taken_up;  /* the first try started it */
	bool cut;       /* not all of its output is there */
	bool lost;      /* the sandbox ended under it */
	struct keeper_end end;
	uint64_t end_seq; /* 0: told by its row */
	int64_t ended_ms;
};

#define EXEC_CALL_INIT                                                         \
	{                                                                      \
		.link = LINK_INIT, .retry = RETRY_INIT                         \
	}

/* What happens with a command's events, in order. */
struct exec_ear {
	/* OUT and ERR. */
	enum err (*chunk)(void *ctx, const struct keeper_event *ev,
			  struct errinfo *e);
	/* Events ${from} to ${to} are not there any more; may be NULL. */
	enum err (*gap)(void *ctx, uint64_t from, uint64_t to,
			struct errinfo *e);
	/* About once a second while nothing comes; may be NULL. */
	enum err (*idle)(void *ctx, struct errinfo *e);
	void *ctx;
};

/**
 * exec_call_begin(x, e):
 * x->rq and x->body are set. Its row, then its start; a start that is refused
 * leaves no row. Errors: with the failure noted.
 */
FALLIBLE enum err exec_call_begin(struct exec_call *x, struct errinfo *e);

/**
 * exec_call_hear(x, ear, e):
 * Until its end, which is then in x->end, or x->lost.
 * Errors: ERR_GONE when the client left; what ${ear} returns.
 */
FALLIBLE enum err exec_call_hear(struct exec_call *x,
				 const struct exec_ear *ear, struct errinfo *e);

void exec_call_close(struct exec_call *x);

#endif

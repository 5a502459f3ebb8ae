/* Answers: JSON, empty, raw bytes. Each has X-Request-Id, Server-Timing. */
#ifndef FCGI_ANSWER_H
#define FCGI_ANSWER_H

#include "fcgi/json_out.h"
#include "fcgi/route.h"

/**
 * answer_header(rq, name, fmt, ...):
 * One more header for the answer that is yet to begin. Control bytes in the
 * value are a bug of the caller.
 */
void answer_header(struct request *rq, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * answer_json(rq, status, o, e):
 * Answer with ${o}. Errors: ERR_NOMEM when ${o} is not ok (nothing was sent
 * then). A client that went away is no error.
 */
FALLIBLE enum err answer_json(struct request *rq, int status,
			      const struct json_out *o, struct errinfo *e);

/**
 * answer_json_parts(rq, status, o, parts, n, e):
 * The same, with the ${n} texts put into ${o} where they belong, in order: so
 * what is large is not copied once more.
 */
struct answer_part {
	size_t at;           /* byte of ${o} that it goes before */
	const struct buf *b; /* as it is to be there */
};

FALLIBLE enum err answer_json_parts(struct request *rq, int status,
				    const struct json_out *o,
				    const struct answer_part *parts, size_t n,
				    struct errinfo *e);

/** answer_empty(rq, status): For 204, and HEAD. */
void answer_empty(struct request *rq, int status);

/**
 * answer_begin(rq, status, type, length):
 * Send the head of a raw answer; ${length} -1: not known. Then any number of
 * answer_write(). For HEAD nothing may follow.
 */
void answer_begin(struct request *rq, int status, const char *type,
		  int64_t length);

/**
 * answer_write(rq, p, n, e), answer_flush(rq, e):
 * Errors: ERR_GONE: the client went away (or took nothing for a minute).
 */
FALLIBLE enum err answer_write(struct request *rq, const void *p, size_t n,
			       struct errinfo *e);
FALLIBLE enum err answer_flush(struct request *rq, struct errinfo *e);

/**
 * answer_break(rq):
 * The rest of an answer that has begun will not come: cut the connection, so
 * that nobody takes it for whole.
 */
void answer_break(struct request *rq);

/** answer_gone(rq): The client has hung up (one poll, no wait). */
bool answer_gone(struct request *rq);

#endif

/* The request's body. */
#ifndef FCGI_BODY_H
#define FCGI_BODY_H

#include <stddef.h>

#include "fcgi/json_in.h"
#include "fcgi/route.h"

/**
 * body_all(rq, out, e):
 * The whole body into ${out}, at most the route's limit.
 * Errors: ERR_LIMIT (413), ERR_NOMEM, ERR_PEER (cut off).
 */
FALLIBLE enum err body_all(struct request *rq, struct buf *out,
			   struct errinfo *e);

/**
 * body_json(rq, fields, n, out, e):
 * The whole body as a JSON object, read by ${fields} into ${out}. What is
 * read lives as long as the request. An empty body is {}.
 * Errors: with the failure noted: 400 naming the field, 413.
 */
FALLIBLE enum err body_json(struct request *rq, const struct json_field *fields,
			    size_t n, void *out, struct errinfo *e);

/** body_part(rq, obj, fields, n, out, e): The same for an object inside. */
FALLIBLE enum err body_part(struct request *rq, struct json_object *obj,
			    const struct json_field *fields, size_t n,
			    void *out, struct errinfo *e);

/**
 * body_read(rq, p, n, got, e):
 * Up to ${n} further bytes of the body; ${got} is 0 at its end. The route's
 * limit holds over all calls together.
 * Errors: ERR_LIMIT (413), ERR_PEER (cut off). Blocks: for the client.
 */
FALLIBLE enum err body_read(struct request *rq, void *p, size_t n, size_t *got,
			    struct errinfo *e);

/**
 * body_drain(rq):
 * Read what no handler wanted of the body, so that the connection can be
 * kept; one with very much left over is not.
 */
void body_drain(struct request *rq);

/**
 * body_end(rq):
 * The same, for a call that takes long: what reading the body took is given
 * back, with the stream for errors. No function here is called after it.
 */
void body_end(struct request *rq);

/** body_length(rq): What Content-Length says; -1 when it says nothing. */
int64_t body_length(const struct request *rq);

#endif

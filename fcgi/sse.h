/* Server-sent events: "id: N\ndata: <json>\n\n" and heartbeats. */
#ifndef FCGI_SSE_H
#define FCGI_SSE_H

#include "fcgi/json_out.h"
#include "fcgi/route.h"

#define SSE_BEAT_MS 15000

/* Without it nginx cuts the connection: nginx/templates/api.conf.in. */
#define SSE_LAST ": end\n\n"

struct sse {
	struct request *rq;
	int64_t beat_at_ms; /* monotonic: when the next heartbeat is due */
};

/** sse_begin(s, rq, e): Send the head. Errors: ERR_GONE. */
FALLIBLE enum err sse_begin(struct sse *s, struct request *rq,
			    struct errinfo *e);

/**
 * sse_send(s, id, o, e):
 * One event with the data ${o}, flushed; ${id} 0: no id line.
 * Errors: ERR_GONE (client), ERR_NOMEM (${o} is not ok).
 */
FALLIBLE enum err sse_send(struct sse *s, uint64_t id, const struct json_out *o,
			   struct errinfo *e);

/** sse_beat(s, e): A heartbeat if one is due. Errors: ERR_GONE. */
FALLIBLE enum err sse_beat(struct sse *s, struct errinfo *e);

/**
 * sse_end(rq): Of every request that was served: if it is a stream, all of it
 * was told.
 */
void sse_end(struct request *rq);

/** sse_head(b, id): What goes before the data; after it an empty line. */
void sse_head(struct buf *b, uint64_t id);

/**
 * sse_after(rq, after, e):
 * Where a reader wants to go on: ?after=N, else Last-Event-ID, else 0.
 * Errors: ERR_ARG with the failure noted.
 */
FALLIBLE enum err sse_after(struct request *rq, uint64_t *after,
			    struct errinfo *e);

#endif

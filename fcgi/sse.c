#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/pool.h"
#include "fcgi/sse.h"

enum err sse_begin(struct sse *s, struct request *rq, struct errinfo *e)
{
	enum err r = pool_long(rq, e);

	if (r != ERR_NONE)
		return r;
	answer_header(rq, "Cache-Control", "no-cache, no-transform");
	answer_header(rq, "X-Accel-Buffering", "no");
	answer_begin(rq, 200, "text/event-stream", -1);
	body_end(rq);
	buf_free(&rq->headers);
	rq->streams = true;
	s->rq = rq;
	s->beat_at_ms = clock_mono_ms() + SSE_BEAT_MS;
	return answer_flush(rq, e);
}

void sse_head(struct buf *b, uint64_t id)
{
	if (id > 0)
		buf_addf(b, "id: %llu\n", (unsigned long long)id);
	buf_adds(b, "data: ");
}

enum err sse_send(struct sse *s, uint64_t id, const struct json_out *o,
		  struct errinfo *e)
{
	OWN(buf_free) struct buf head = BUF_INIT(64);
	enum err r;

	if (!json_out_ok(o))
		return err_set(e, ERR_NOMEM, 0, "event");
	sse_head(&head, id);
	if (!buf_ok(&head))
		return err_set(e, ERR_NOMEM, 0, "event");
	s->beat_at_ms = clock_mono_ms() + SSE_BEAT_MS;
	r = answer_write(s->rq, head.data, head.len, e);
	if (r == ERR_NONE)
		r = answer_write(s->rq, buf_str(&o->b), o->b.len, e);
	if (r == ERR_NONE)
		r = answer_write(s->rq, "\n\n", 2, e);
	return r == ERR_NONE ? answer_flush(s->rq, e) : r;
}

enum err sse_beat(struct sse *s, struct errinfo *e)
{
	enum err r;

	if (answer_gone(s->rq))
		return err_set(e, ERR_GONE, 0, "client");
	if (clock_mono_ms() < s->beat_at_ms)
		return ERR_NONE;
	s->beat_at_ms = clock_mono_ms() + SSE_BEAT_MS;
	r = answer_write(s->rq, ": beat\n\n", 8, e);
	return r == ERR_NONE ? answer_flush(s->rq, e) : r;
}

void sse_end(struct request *rq)
{
	struct errinfo e;

	/* Who left is seen by who closes; the rest goes with the end. */
	if (rq->streams &&
	    answer_write(rq, SSE_LAST, strlen(SSE_LAST), &e) != ERR_NONE)
		rq->broken = true;
}

enum err sse_after(struct request *rq, uint64_t *after, struct errinfo *e)
{
	const char *last = route_header(rq, "HTTP_LAST_EVENT_ID");
	int64_t n = -1;
	char *end;
	enum err r = route_query_int(rq, "after", 0, INT64_MAX, &n, e);

	if (r != ERR_NONE)
		return r;
	if (n < 0 && last != NULL && last[0] != '\0') {
		errno = 0;
		n = strtoll(last, &end, 10);
		if (errno != 0 || *end != '\0' || n < 0 || last[0] == ' ')
			return err_http_field(rq, e, "Last-Event-ID",
					      "must be an event's number");
	}
	*after = n < 0 ? 0 : (uint64_t)n;
	return ERR_NONE;
}

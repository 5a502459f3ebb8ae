#include <errno.h>
#include <fcgiapp.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/accept.h"
#include "fcgi/body.h"
#include "fcgi/bulk.h"
#include "fcgi/share.h"

#define BODY_STEP (64 * KIB)

/*
 * What is read and thrown away of a body that no handler wanted, if it is
 * there: whoever sends it slowly, who may have no key, gets no thread for it.
 */
#define DRAIN_MAX (1U * MIB)
#define DRAIN_STEP_MS 20
#define DRAIN_MS 100

int64_t body_length(const struct request *rq)
{
	const char *s = route_header(rq, "CONTENT_LENGTH");
	char *end;
	long long n;

	if (s == NULL || s[0] < '0' || s[0] > '9')
		return -1;
	errno = 0;
	n = strtoll(s, &end, 10);
	return errno == 0 && *end == '\0' ? n : -1;
}

static enum err body_too_large(struct request *rq, struct errinfo *e)
{
	size_t max = rq->route->body_max_bytes;

	json_out_int(err_http_context(rq), "maxSize", (int64_t)max);
	return err_http_fail(rq, e, HTTP_BODY_TOO_LARGE,
			     "The body is larger than %zu bytes", max);
}

enum err body_read(struct request *rq, void *p, size_t n, size_t *got,
		   struct errinfo *e)
{
	int64_t length = body_length(rq);
	int want = n < BODY_STEP ? (int)n : (int)BODY_STEP;
	int r;

	if (length > (int64_t)rq->route->body_max_bytes)
		return body_too_large(rq, e);
	r = FCGX_GetStr(p, want, rq->fcgi->in);
	if (r < want && FCGX_GetError(rq->fcgi->in) != 0)
		return err_set(e, ERR_PEER, 0, "body cut off");
	rq->body_bytes += (size_t)r;
	if (rq->body_bytes > rq->route->body_max_bytes)
		return body_too_large(rq, e);
	if (r == 0 && length >= 0 && rq->body_bytes < (uint64_t)length)
		return err_set(e, ERR_PEER, 0, "body cut off");
	*got = (size_t)r;
	return ERR_NONE;
}

static void body_patience(const struct request *rq, int64_t ms)
{
	const struct timeval t = {.tv_sec = ms / 1000,
				  .tv_usec = ms % 1000 * 1000};

	if (rq->client_fd >= 0)
		setsockopt(rq->client_fd, SOL_SOCKET, SO_RCVTIMEO, &t,
			   sizeof(t));
}

/* False: there is more, or it did not come in time. */
static bool body_drained(const struct request *rq)
{
	FCGX_Stream *in = rq->fcgi->in;
	int64_t deadline = clock_mono_ms() + DRAIN_MS;
	char waste[4096];
	int left = (int)DRAIN_MAX;

	while (left > 0 && clock_left_ms(deadline) > 0) {
		int want = (int)(in->stop - in->rdNext), n; /* it has */

		if (want > (int)sizeof(waste))
			want = (int)sizeof(waste);
		if (want < 1)
			want = 1;
		n = FCGX_GetStr(waste, want, in);
		if (n < want)
			return FCGX_GetError(in) == 0;
		left -= n;
	}
	return false;
}

void body_drain(struct request *rq)
{
	if (rq->fcgi->in == NULL || rq->broken ||
	    FCGX_HasSeenEOF(rq->fcgi->in) != 0)
		return;
	body_patience(rq, DRAIN_STEP_MS);
	if (body_drained(rq))
		body_patience(rq, ACCEPT_SLOW_MS);
	else
		rq->fcgi->keepConnection = 0;
}

void body_end(struct request *rq)
{
	body_drain(rq);
	if (rq->fcgi->in == NULL || rq->fcgi->keepConnection == 0 ||
	    FCGX_GetError(rq->fcgi->in) != 0)
		return;
	FCGX_FreeStream(&rq->fcgi->in);
	(void)FCGX_FClose(rq->fcgi->err);
	FCGX_FreeStream(&rq->fcgi->err);
}

/* The next bytes to ask for, of ${length} (or -1), when ${have} are there: a
 * small body takes little memory. */
static size_t body_want(int64_t length, size_t have)
{
	if (length < 0 || (uint64_t)length >= have + BODY_STEP)
		return BODY_STEP;
	return (uint64_t)length > have ? (size_t)length - have : 1;
}

enum err body_all(struct request *rq, struct buf *out, struct errinfo *e)
{
	int64_t length = body_length(rq);

	/* Reserve at once what was announced, if it is allowed. */
	if (length > 0 && length <= (int64_t)rq->route->body_max_bytes) {
		bulk_take(out, (size_t)length);
		(void)buf_space(out, (size_t)length + 1);
	}
	for (;;) {
		size_t got = 0, want = body_want(length, out->len);
		void *to = buf_space(out, want);
		enum err r;

		if (to == NULL)
			return err_set(e, ERR_NOMEM, 0, "body");
		r = body_read(rq, to, want, &got, e);
		if (r != ERR_NONE)
			return r;
		if (got == 0)
			return ERR_NONE;
		buf_grow(out, got);
		/* As bytes, and as what they mean. */
		r = share_wait(rq, 2 * out->len, e);
		if (r != ERR_NONE)
			return r;
	}
}

static enum err body_refused(struct request *rq, const struct errinfo *why,
			     struct errinfo *e)
{
	struct json_in *in = &rq->body;

	if (why->code != ERR_ARG) {
		*e = *why;
		return why->code;
	}
	if (in->syntax)
		return err_http_fail(rq, e, HTTP_INVALID_JSON,
				     "The body is not valid JSON%s%s",
				     in->why[0] != '\0' ? ": " : "", in->why);
	if (in->field[0] == '\0')
		return err_http_fail(rq, e, HTTP_INVALID_JSON, "The body %s",
				     in->why);
	return err_http_field(rq, e, in->field, in->why);
}

enum err body_json(struct request *rq, const struct json_field *fields,
		   size_t n, void *out, struct errinfo *e)
{
	OWN(bulk_give)
	struct buf b = BUF_INIT(rq->route->body_max_bytes + 2 * BODY_STEP);
	struct errinfo why = {0};
	enum err r = body_all(rq, &b, e);

	if (r != ERR_NONE)
		return r;
	if (route_header(rq, "HTTP_IDEMPOTENCY_KEY") != NULL)
		crypto_generichash(rq->body_hash, sizeof(rq->body_hash),
				   (const unsigned char *)buf_str(&b), b.len,
				   NULL, 0);
	if (b.len == 0)
		buf_adds(&b, "{}");
	if (!buf_ok(&b))
		return err_set(e, ERR_NOMEM, 0, "body");
	if (json_in_parse_body(&rq->body, &b, &why) != ERR_NONE ||
	    json_in_read(&rq->body, fields, n, out, &why) != ERR_NONE)
		return body_refused(rq, &why, e);
	return ERR_NONE;
}

enum err body_part(struct request *rq, struct json_object *obj,
		   const struct json_field *fields, size_t n, void *out,
		   struct errinfo *e)
{
	struct errinfo why = {0};

	if (json_in_read_obj(&rq->body, obj, fields, n, out, &why) != ERR_NONE)
		return body_refused(rq, &why, e);
	return ERR_NONE;
}

#include <fcgiapp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fcgi/answer.h"
#include "fcgi/pool.h"
#include "fcgi/share.h"

#define HEADERS_MAX (16U * KIB)

/* As much as goes into a socket that can be written to. */
#define PUT_MAX (32U * KIB)

/*
 * A client that does not take its answer is a long wait: the calls of others
 * do not queue up behind it.
 */
static bool answer_waits(struct request *rq)
{
	struct pollfd p = {.fd = rq->client_fd, .events = POLLOUT};
	struct errinfo e;

	if (rq->is_long || rq->client_fd < 0 || poll(&p, 1, 0) != 0)
		return true;
	route_park(rq);
	return pool_long(rq, &e) == ERR_NONE;
}

static void answer_put(struct request *rq, const char *p, size_t n)
{
	while (n > 0 && !rq->broken) {
		size_t part = n < PUT_MAX ? n : PUT_MAX;

		if (!answer_waits(rq) ||
		    FCGX_PutStr(p, (int)part, rq->fcgi->out) != (int)part)
			rq->broken = true;
		p += part;
		n -= part;
	}
}

static const char *answer_reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 201:
		return "Created";
	case 204:
		return "No Content";
	case 206:
		return "Partial Content";
	case 304:
		return "Not Modified";
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 408:
		return "Request Timeout";
	case 409:
		return "Conflict";
	case 410:
		return "Gone";
	case 413:
		return "Content Too Large";
	case 416:
		return "Range Not Satisfiable";
	case 422:
		return "Unprocessable Content";
	case 429:
		return "Too Many Requests";
	case 500:
		return "Internal Server Error";
	case 501:
		return "Not Implemented";
	case 502:
		return "Bad Gateway";
	case 503:
		return "Service Unavailable";
	case 504:
		return "Gateway Timeout";
	default:
		return "Status";
	}
}

static int64_t answer_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Milliseconds with three places, without floating point. */
static void answer_timing(struct buf *b, const char *name, int64_t us)
{
	if (us < 0)
		us = 0;
	buf_addf(b, "%s;dur=%lld.%03lld", name, (long long)(us / 1000),
		 (long long)(us % 1000));
}

void answer_header(struct request *rq, const char *name, const char *fmt, ...)
{
	char value[2048];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	must(n >= 0 && (size_t)n < sizeof(value));
	for (int i = 0; i < n; i++)
		must((unsigned char)value[i] >= 0x20);
	if (rq->headers.max_bytes == 0)
		rq->headers = (struct buf)BUF_INIT(HEADERS_MAX);
	buf_addf(&rq->headers, "%s: %s\r\n", name, value);
}

void answer_begin(struct request *rq, int status, const char *type,
		  int64_t length)
{
	OWN(buf_free) struct buf b = BUF_INIT(HEADERS_MAX + 1024);
	int64_t now = answer_now_us();

	must(!rq->answering);
	rq->answering = true;
	buf_addf(&b, "Status: %d %s\r\n", status, answer_reason(status));
	if (type != NULL)
		buf_addf(&b, "Content-Type: %s\r\n", type);
	if (length >= 0)
		buf_addf(&b, "Content-Length: %lld\r\n", (long long)length);
	buf_addf(&b, "X-Request-Id: %s\r\nServer-Timing: ", rq->id);
	answer_timing(&b, "queue", rq->begun_us - rq->came_us);
	buf_adds(&b, ", ");
	answer_timing(&b, "start", rq->start_us);
	buf_adds(&b, ", ");
	answer_timing(&b, "run", now - rq->begun_us - rq->start_us);
	buf_adds(&b, "\r\n");
	buf_add(&b, buf_str(&rq->headers), rq->headers.len);
	buf_adds(&b, "\r\n");
	if (!buf_ok(&b) || !buf_ok(&rq->headers))
		rq->broken = true;
	else
		answer_put(rq, b.data, b.len);
}

enum err answer_json(struct request *rq, int status, const struct json_out *o,
		     struct errinfo *e)
{
	enum err r;

	if (!json_out_ok(o))
		return err_set(e, ERR_NOMEM, 0, "answer");
	r = share_wait(rq, rq->held_bytes + o->b.len, e);
	if (r != ERR_NONE)
		return r;
	answer_begin(rq, status, "application/json", (int64_t)o->b.len);
	if (rq->method != METHOD_HEAD)
		answer_put(rq, buf_str(&o->b), o->b.len);
	return ERR_NONE;
}

void answer_empty(struct request *rq, int status)
{
	answer_begin(rq, status, NULL, -1);
}

enum err answer_write(struct request *rq, const void *p, size_t n,
		      struct errinfo *e)
{
	answer_put(rq, p, n);
	if (rq->broken)
		return err_set(e, ERR_GONE, 0, "client");
	return ERR_NONE;
}

enum err answer_flush(struct request *rq, struct errinfo *e)
{
	if (!rq->broken && FCGX_FFlush(rq->fcgi->out) != 0)
		rq->broken = true;
	if (rq->broken)
		return err_set(e, ERR_GONE, 0, "client");
	return ERR_NONE;
}

bool answer_gone(struct request *rq)
{
	struct pollfd p = {.fd = rq->client_fd, .events = POLLRDHUP};

	if (rq->broken)
		return true;
	if (rq->client_fd >= 0 && poll(&p, 1, 0) > 0)
		rq->broken = true;
	return rq->broken;
}

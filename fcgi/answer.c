#include <errno.h>
#include <fastcgi.h>
#include <fcgiapp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "fcgi/answer.h"
#include "fcgi/pool.h"
#include "fcgi/share.h"

#define HEADERS_MAX (16U * KIB)

/*
 * What is large goes to nginx in records of our own: libfcgi sends 8 KiB at a
 * time, and wakes nginx each time.
 */
#define RECORD_MAX 65528U /* a multiple of 8, which needs no padding */
#define RECORDS 16
#define RAW_MIN (32U * KIB)

/*
 * A client that does not take its answer is a long wait: the calls of others
 * do not queue up behind it.
 */
static bool answer_waits(struct request *rq)
{
	struct errinfo e;

	if (rq->is_long || rq->client_fd < 0)
		return true;
	route_park(rq);
	return pool_long(rq, &e) == ERR_NONE;
}

static ssize_t answer_some(struct request *rq, struct msghdr *h)
{
	for (;;) {
		bool wait = rq->is_long || rq->client_fd < 0;
		ssize_t n = sendmsg(rq->fcgi->ipcFd, h,
				    wait ? MSG_NOSIGNAL
					 : MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			return n;
		if (errno != EINTR &&
		    (wait || errno != EAGAIN || !answer_waits(rq)))
			return -1;
	}
}

static bool answer_send(struct request *rq, struct iovec *v, int n)
{
	while (n > 0) {
		struct msghdr h = {.msg_iov = v, .msg_iovlen = (size_t)n};
		ssize_t sent = answer_some(rq, &h);

		if (sent < 0)
			return false;
		while (n > 0 && (size_t)sent >= v->iov_len) {
			sent -= (ssize_t)v->iov_len;
			v++;
			n--;
		}
		if (n > 0) {
			v->iov_base = (char *)v->iov_base + sent;
			v->iov_len -= (size_t)sent;
		}
	}
	return true;
}

/* As many records as fit into one call; the bytes that went. */
static size_t answer_records(struct request *rq, const char *p, size_t n)
{
	FCGI_Header heads[RECORDS];
	struct iovec v[2 * RECORDS];
	size_t at = 0;
	int count = 0;

	for (int i = 0; i < RECORDS && at < n; i++) {
		size_t len = n - at < RECORD_MAX ? n - at : RECORD_MAX;
		int id = rq->fcgi->requestId;

		heads[i] = (FCGI_Header){
		    .version = FCGI_VERSION_1,
		    .type = FCGI_STDOUT,
		    .requestIdB1 = (unsigned char)(id >> 8),
		    .requestIdB0 = (unsigned char)id,
		    .contentLengthB1 = (unsigned char)(len >> 8),
		    .contentLengthB0 = (unsigned char)len,
		};
		v[count++] = (struct iovec){&heads[i], sizeof(heads[i])};
		/* sendmsg does not write through iov_base. */
		memcpy(&v[count].iov_base, &(const char *){p + at},
		       sizeof(char *));
		v[count++].iov_len = len;
		at += len;
	}
	if (answer_send(rq, v, count))
		return at;
	rq->broken = true;
	/* Nothing may follow half a record. */
	shutdown(rq->fcgi->ipcFd, SHUT_RDWR);
	return at;
}

/* What libfcgi sends fits into a socket that can be written to. */
static bool answer_room(struct request *rq)
{
	struct pollfd p = {.fd = rq->client_fd, .events = POLLOUT};

	return rq->is_long || rq->client_fd < 0 || poll(&p, 1, 0) != 0 ||
	       answer_waits(rq);
}

static void answer_put(struct request *rq, const char *p, size_t n)
{
	if (n >= RAW_MIN && !rq->broken &&
	    (!answer_room(rq) || FCGX_FFlush(rq->fcgi->out) != 0))
		rq->broken = true;
	while (n >= RAW_MIN && !rq->broken) {
		size_t sent = answer_records(rq, p, n);

		p += sent;
		n -= sent;
	}
	if (n > 0 && !rq->broken &&
	    (!answer_room(rq) ||
	     FCGX_PutStr(p, (int)n, rq->fcgi->out) != (int)n))
		rq->broken = true;
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
	case 412:
		return "Precondition Failed";
	case 413:
		return "Content Too Large";
	case 416:
		return "Range Not Satisfiable";
	case 426:
		return "Upgrade Required";
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

enum err answer_json_parts(struct request *rq, int status,
			   const struct json_out *o,
			   const struct answer_part *parts, size_t n,
			   struct errinfo *e)
{
	size_t len = o->b.len, from = 0;
	bool ok = json_out_ok(o);
	enum err r;

	for (size_t i = 0; i < n; i++) {
		ok = ok && buf_ok(parts[i].b);
		len += parts[i].b->len;
	}
	if (!ok)
		return err_set(e, ERR_NOMEM, 0, "answer");
	r = share_wait(rq, rq->held_bytes + o->b.len, e);
	if (r != ERR_NONE)
		return r;
	answer_begin(rq, status, "application/json", (int64_t)len);
	if (rq->method == METHOD_HEAD)
		return ERR_NONE;
	for (size_t i = 0; i < n; i++) {
		must(parts[i].at >= from && parts[i].at <= o->b.len);
		answer_put(rq, o->b.data + from, parts[i].at - from);
		answer_put(rq, buf_str(parts[i].b), parts[i].b->len);
		from = parts[i].at;
	}
	answer_put(rq, buf_str(&o->b) + from, o->b.len - from);
	return ERR_NONE;
}

enum err answer_json(struct request *rq, int status, const struct json_out *o,
		     struct errinfo *e)
{
	return answer_json_parts(rq, status, o, NULL, 0, e);
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

void answer_break(struct request *rq)
{
	rq->broken = true;
	if (rq->fcgi != NULL && rq->fcgi->ipcFd >= 0)
		shutdown(rq->fcgi->ipcFd, SHUT_RDWR);
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

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/pool.h"
#include "fcgi/port_wait.h"
#include "fcgi/preview.h"
#include "fcgi/preview_access.h"
#include "fcgi/preview_socket.h"

#define PREVIEW_PARAM "WARREN_PREVIEW_KEY"
#define PREVIEW_RETRIED "WARREN_PREVIEW_RETRIED"
#define PREVIEW_LOCATION "@preview_retry"
#define PREVIEW_CHECKED "@preview_checked"

#define HELD_MAX 64
#define HELD_LOOK_MS 50

const char *preview_key(const struct request *rq)
{
	const char *key = route_header(rq, PREVIEW_PARAM);

	return key != NULL && key[0] != '\0' ? key : NULL;
}

bool preview_split(const char *key, uint16_t *port, id_sandbox_t id,
		   char token[ID_TOKEN_LEN + 1])
{
	size_t n = strspn(key, "0123456789");
	const char *at = key + n;
	unsigned long v;

	if (n < 1 || n > 5 || key[0] == '0' || *at++ != '-')
		return false;
	v = strtoul(key, NULL, 10);
	if (v > 65535 || strlen(at) < ID_SANDBOX_LEN + 2 ||
	    at[ID_SANDBOX_LEN] != '-')
		return false;
	*port = (uint16_t)v;
	memcpy(id, at, ID_SANDBOX_LEN);
	id[ID_SANDBOX_LEN] = '\0';
	at += ID_SANDBOX_LEN + 1;
	n = strlen(at);
	if (n > ID_TOKEN_LEN ||
	    strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789") != n)
		return false;
	memcpy(token, at, n + 1);
	return id_sandbox_ok(id);
}

/* ---- answers ---- */

/* For nginx, which counts it for the port, and tells nobody. */
static void preview_known(struct request *rq)
{
	answer_header(rq, "X-Warren-Port", "known");
}

/* A page for people; programs get the error's JSON. */
static enum err preview_page(struct request *rq, int status, bool again,
			     const char *text)
{
	OWN(buf_free) struct buf b = BUF_INIT(4096);
	struct errinfo e;

	buf_adds(&b, "<!doctype html><html lang=en><meta charset=utf-8>");
	if (again)
		buf_adds(&b, "<meta http-equiv=refresh content=1>");
	buf_addf(&b,
		 "<title>%s</title><style>body{font:16px system-ui;margin:20vh "
		 "auto;max-width:30em;text-align:center;color:#444}</style>"
		 "<p>%s</p></html>\n",
		 text, text);
	if (again)
		answer_header(rq, "Retry-After", "1");
	answer_header(rq, "Cache-Control", "no-store");
	answer_begin(rq, status, "text/html; charset=utf-8", (int64_t)b.len);
	(void)!answer_write(rq, buf_str(&b), b.len, &e);
	return ERR_NONE;
}

static enum err preview_none(struct request *rq, struct errinfo *e)
{
	static const char text[] = "There is no preview at this address";

	if (preview_access_page(rq))
		return preview_page(rq, 404, false, text);
	return err_http_fail(rq, e, HTTP_NOT_FOUND, "%s", text);
}

static enum err preview_silent(struct request *rq, const struct ctl_port *p,
			       struct errinfo *e)
{
	char text[64];

	preview_known(rq);
	snprintf(text, sizeof(text), "Nothing listens on port %u yet", p->port);
	if (preview_access_page(rq))
		return preview_page(rq, 503, true, text);
	rq->failure.retry_after = 1;
	json_out_int(err_http_context(rq), "port", p->port);
	return err_http_fail(rq, e, HTTP_PORT_NOT_LISTENING, "%s", text);
}

static enum err preview_broken(struct request *rq, const struct ctl_port *p,
			       struct errinfo *e)
{
	static const char text[] =
	    "The program behind this address gave no answer";

	preview_known(rq);
	if (preview_access_page(rq))
		return preview_page(rq, 502, false, text);
	json_out_int(err_http_context(rq), "port", p->port);
	return err_http_fail(rq, e, HTTP_SERVICE_NOT_RESPONDING, "%s", text);
}

/* ---- waiting for a listener ---- */

static atomic_uint preview_held; /* requests, in this process */

/*
 * Something listens, at last or at once. Whoever has the URL makes us wait:
 * beyond HELD_MAX nobody is waited for.
 */
static bool preview_answers(struct request *rq, const struct ctl_port *p)
{
	struct port_wait w = {.rq = rq,
			      .port = p->port,
			      .path = "",
			      .interval_ms = HELD_LOOK_MS,
			      .until_ms = clock_mono_ms() + p->wait_ms};
	struct errinfo e;
	bool ready = preview_socket_answers(rq, p);

	if (ready || p->wait_ms == 0)
		return ready;
	if (atomic_fetch_add(&preview_held, 1) < HELD_MAX)
		ready = port_wait_run(&w, &e) == ERR_NONE &&
			w.how == PORT_READY;
	atomic_fetch_sub(&preview_held, 1);
	return ready;
}

/* ---- sending it on ---- */

/* nginx sends the request, with its method and body, to the socket anew. */
static enum err preview_retry(struct request *rq)
{
	answer_header(rq, "X-Accel-Redirect", "%s", PREVIEW_LOCATION);
	answer_empty(rq, 200);
	return ERR_NONE;
}

/*
 * The program may just have closed a connection that nginx had kept: what may
 * be sent twice goes once more, by a new one.
 */
static bool preview_again(const struct request *rq)
{
	const char *method = route_header(rq, "REQUEST_METHOD");

	return method != NULL &&
	       (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0);
}

/* ---- the decision ---- */

static enum err preview_port(struct request *rq, struct ctl_port *p,
			     struct errinfo *e)
{
	char token[ID_TOKEN_LEN + 1];
	id_sandbox_t id;
	uint16_t port;
	enum err r;

	if (!preview_split(preview_key(rq), &port, id, token))
		return err_set(e, ERR_NOT_FOUND, 0, "preview key");
	r = ctl_port_key(rq->store, id, port, token, p, e);
	if (r == ERR_NONE)
		r = ctl_sandbox_owner(rq->store, id, rq->auth.tenant, e);
	if (r == ERR_NONE)
		r = ctl_sandbox_get(rq->store, rq->auth.tenant, id,
				    &rq->sandbox, e);
	return r;
}

static enum err preview_refused(struct request *rq, struct errinfo *e)
{
	static const char text[] = "This preview is private: open it by a link";

	preview_known(rq);
	if (preview_access_page(rq))
		return preview_page(rq, 401, false, text);
	answer_header(rq, "WWW-Authenticate", "Bearer");
	err_http_suggest(rq, "Send Authorization: Bearer <API key>, or the "
			     "token of a link in X-Warren-Token");
	return err_http_fail(rq, e, HTTP_UNAUTHORIZED, "%s", text);
}

/* nginx sends it on, without what was shown to us. */
static enum err preview_pass(struct request *rq, const struct ctl_port *p,
			     const struct preview_guest *guest)
{
	answer_header(rq, "X-Accel-Redirect", "%s", PREVIEW_CHECKED);
	answer_header(rq, "X-Warren-Host", "%s",
		      p->keep_host ? "public" : "local");
	answer_header(rq, "X-Warren-User", "%s", guest->user);
	answer_header(rq, "X-Warren-Used", "%s", guest->by_key ? "key" : "");
	answer_empty(rq, 200);
	return ERR_NONE;
}

/* One that each request is looked at for. */
static enum err preview_checked(struct request *rq, struct ctl_port *p,
				struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	struct preview_guest guest;
	enum err r = preview_access(rq, p, &guest, e);

	if (r == ERR_DENIED)
		return preview_refused(rq, e);
	if (r != ERR_NONE || guest.told)
		return r;
	if (!preview_socket_alive(rq, p)) {
		r = pool_long(rq, e);
		if (r == ERR_NONE)
			r = link_open(rq, LINK_START, &l, e);
		if (r == ERR_NONE)
			r = preview_socket_open(&l, p, e);
		if (r != ERR_NONE)
			return r;
	}
	/* One that is held is looked at first: it is sent on only once. */
	if (route_header(rq, PREVIEW_RETRIED) == NULL && p->wait_ms == 0)
		return preview_pass(rq, p, &guest);
	r = pool_long(rq, e);
	if (r != ERR_NONE)
		return r;
	if (route_header(rq, PREVIEW_RETRIED) == NULL)
		return preview_answers(rq, p) ? preview_pass(rq, p, &guest)
					      : preview_silent(rq, p, e);
	return preview_socket_answers(rq, p) ? preview_broken(rq, p, e)
					     : preview_silent(rq, p, e);
}

/* Its keeper lives, and what was sent to it came to nothing. */
static enum err preview_failed(struct request *rq, const struct ctl_port *p,
			       struct errinfo *e)
{
	bool first = route_header(rq, PREVIEW_RETRIED) == NULL;

	if (preview_socket_answers(rq, p))
		return first && preview_again(rq) &&
			       route_header(rq, "HTTP_UPGRADE") == NULL
			   ? preview_retry(rq)
			   : preview_broken(rq, p, e);
	/* A program may have got it and ended: as above. */
	if (first && preview_again(rq) && preview_answers(rq, p))
		return preview_retry(rq);
	return preview_silent(rq, p, e);
}

enum err preview_serve(struct request *rq, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	struct ctl_port p;
	enum err r = route_unpark(rq, e);

	if (r == ERR_NONE)
		r = preview_port(rq, &p, e);
	if (r == ERR_NOT_FOUND)
		return preview_none(rq, e);
	if (r == ERR_NONE && preview_socket_checked(&p))
		return preview_checked(rq, &p, e);
	if (r == ERR_NONE)
		r = pool_long(rq, e); /* to see whether anybody answers */
	if (r != ERR_NONE)
		return r;
	if (preview_socket_alive(rq, &p))
		return preview_failed(rq, &p, e);
	r = link_open(rq, LINK_START, &l, e);
	if (r == ERR_NONE)
		r = preview_socket_open(&l, &p, e);
	if (r != ERR_NONE)
		return r;
	return preview_answers(rq, &p) ? preview_retry(rq)
				       : preview_silent(rq, &p, e);
}

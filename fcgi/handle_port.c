/* Exposed ports and their preview URLs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/preview_access.h"
#include "fcgi/preview_socket.h"
#include "fcgi/sandbox_row.h"
#include "fcgi/until.h"
#include "store/ctl_link.h"

#define LIST_JSON_MAX (8U * MIB)
#define TTL_MAX_MS (INT64_C(365) * 86400 * 1000)
#define LINK_TTL_MS (INT64_C(3600) * 1000)
#define LINK_TTL_MAX_MS (INT64_C(30) * 86400 * 1000)

/* Those that the wire's clients expect to be refused. */
static const uint16_t port_reserved[] = {22, 3000};

struct port_body {
	int64_t port;
	const char *name;
	const char *token;
	const char *access;
	const char *ttl;
	const char *expires;
	bool keep_host;
	bool rotate; /* PATCH only */
};

#define AT(member) offsetof(struct port_body, member)

static const struct json_field port_fields[] = {
    {"port", NULL, JSON_INT, AT(port), true, 1, 65535},
    {"name", NULL, JSON_TEXT, AT(name), false, 0, CTL_PORT_NAME_MAX},
    {"token", NULL, JSON_TEXT, AT(token), false, 1, 4096},
    {"access", NULL, JSON_TEXT, AT(access), false, 1, 32},
    {"ttl", NULL, JSON_TEXT, AT(ttl), false, 1, 32},
    {"expiresAt", NULL, JSON_TEXT, AT(expires), false, 1, 40},
    {"keepHost", NULL, JSON_BOOL, AT(keep_host), false, 0, 0},
    {"hostname", NULL, JSON_SKIP, 0, false, 0, 0},
    {"sessionId", NULL, JSON_SKIP, 0, false, 0, 0},
};

static const struct json_field port_change_fields[] = {
    {"token", NULL, JSON_TEXT, AT(token), false, 1, 4096},
    {"rotate", NULL, JSON_BOOL, AT(rotate), false, 0, 0},
    {"access", NULL, JSON_TEXT, AT(access), false, 1, 32},
    {"ttl", NULL, JSON_TEXT, AT(ttl), false, 1, 32},
    {"expiresAt", NULL, JSON_TEXT, AT(expires), false, 1, 40},
    {"keepHost", NULL, JSON_BOOL, AT(keep_host), false, 0, 0},
};

#undef AT

static bool port_is_reserved(int64_t port)
{
	for (size_t i = 0; i < JSON_COUNT(port_reserved); i++)
		if (port_reserved[i] == port)
			return true;
	return false;
}

static bool port_token_fits(const char *token)
{
	size_t n = strlen(token);

	return n <= ID_TOKEN_LEN &&
	       strspn(token, "abcdefghijklmnopqrstuvwxyz0123456789") == n;
}

static void port_url(const struct request *rq, const struct ctl_port *p,
		     struct buf *url)
{
	OWN(buf_free) struct buf host = BUF_INIT(512);
	char key[PREVIEW_KEY_MAX];

	preview_socket_key(p, key);
	buf_addf(&host, "%s.%s", key, rq->worker->domain);
	route_origin_of(rq, "http", buf_str(&host), url);
	buf_adds(url, "/");
	url->failed = url->failed || !buf_ok(&host);
}

static void port_put(const struct request *rq, struct json_out *o,
		     const struct ctl_port *p)
{
	OWN(buf_free) struct buf url = BUF_INIT(1024);

	port_url(rq, p, &url);
	if (!buf_ok(&url))
		o->b.failed = true;
	json_out_object(o, NULL);
	json_out_text(o, "url", buf_str(&url));
	json_out_int(o, "port", p->port);
	if (p->name[0] != '\0')
		json_out_text(o, "name", p->name);
	json_out_text(o, "token", p->token);
	json_out_text(o, "status", "active");
	json_out_text(o, "access", p->is_private ? "private" : "public");
	json_out_bool(o, "keepHost", p->keep_host);
	if (p->expires_ms > 0)
		json_out_time(o, "expiresAt", p->expires_ms);
	json_out_end(o);
}

/* Token, access, expiry and Host, where they are given. */
static enum err port_settings(struct request *rq, const struct port_body *b,
			      struct ctl_port *p, struct errinfo *e)
{
	if (b->token != NULL && !port_token_fits(b->token))
		return err_http_field(rq, e, "token",
				      "must be 1 to 16 of a-z 0-9");
	if (b->token != NULL)
		memcpy(p->token, b->token, strlen(b->token) + 1);
	if (b->access != NULL)
		p->is_private = strcmp(b->access, "private") == 0;
	if (b->access != NULL && !p->is_private &&
	    strcmp(b->access, "public") != 0)
		return err_http_field(rq, e, "access",
				      "must be public or private");
	p->keep_host = b->keep_host;
	if (b->ttl == NULL && b->expires == NULL)
		return ERR_NONE;
	return until_read(rq,
			  &(struct until){b->ttl, b->expires, 0, TTL_MAX_MS},
			  &p->expires_ms, e);
}

static enum err port_read(struct request *rq, struct port_body *b,
			  struct ctl_port *p, struct errinfo *e)
{
	enum err r = body_json(rq, port_fields, JSON_COUNT(port_fields), b, e);

	if (r != ERR_NONE)
		return r;
	json_out_int(err_http_context(rq), "port", b->port);
	if (port_is_reserved(b->port))
		return err_http_fail(rq, e, HTTP_INVALID_PORT,
				     "Port %lld is reserved",
				     (long long)b->port);
	p->port = (uint16_t)b->port;
	id_token(p->token);
	if (b->name != NULL)
		memcpy(p->name, b->name, strlen(b->name) + 1);
	return port_settings(rq, b, p, e);
}

/* One whose time is over makes room. */
static enum err port_over(struct request *rq, const struct ctl_port *p,
			  bool *over, struct errinfo *e)
{
	*over = p->expires_ms > 0 && p->expires_ms <= clock_unix_ms();
	if (!*over)
		return ERR_NONE;
	preview_socket_close(rq, p);
	return ctl_port_remove(rq->store, rq->auth.tenant, p->sandbox, p->port,
			       NULL, e);
}

/* The row, new or as it was; ${made} tells which. */
static enum err port_row(struct request *rq, const struct port_body *b,
			 struct ctl_port *p, bool *made, struct errinfo *e)
{
	const struct ctl_port want = *p;
	bool over = false;
	enum err r;

	memcpy(p->sandbox, rq->sandbox.id, sizeof(p->sandbox));
	r = ctl_port_add(rq->store, rq->auth.tenant, p, e);
	*made = r == ERR_NONE;
	if (r != ERR_EXISTS)
		return r;
	r = ctl_port_get(rq->store, rq->auth.tenant, rq->sandbox.id, p->port, p,
			 e);
	if (r == ERR_NONE)
		r = port_over(rq, p, &over, e);
	if (r != ERR_NONE)
		return r;
	if (over) {
		*p = want;
		return port_row(rq, b, p, made, e);
	}
	if (b->access != NULL && want.is_private != p->is_private)
		return err_http_fail(rq, e, HTTP_PORT_ALREADY_EXPOSED,
				     "Port %u is exposed as %s: PATCH changes "
				     "that",
				     p->port,
				     p->is_private ? "private" : "public");
	if (b->token != NULL && strcmp(b->token, p->token) != 0)
		return err_http_fail(rq, e, HTTP_PORT_ALREADY_EXPOSED,
				     "Port %u is exposed with another token",
				     p->port);
	return ERR_NONE;
}

enum err port_expose(struct request *rq, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	struct port_body body = {0};
	struct ctl_port p = {0};
	struct errinfo ignored;
	bool made;
	enum err r;

	err_http_operation(rq, "port.expose");
	r = port_read(rq, &body, &p, e);
	if (r == ERR_NONE)
		r = link_open(rq, LINK_CREATE, &l, e);
	if (r == ERR_NONE)
		r = port_row(rq, &body, &p, &made, e);
	if (r != ERR_NONE)
		return r;
	r = preview_socket_open(&l, &p, e);
	if (r != ERR_NONE) {
		if (made &&
		    ctl_port_remove(rq->store, rq->auth.tenant, p.sandbox,
				    p.port, NULL, &ignored) != ERR_NONE)
			log_err("forget a port", &ignored);
		return r;
	}
	if (made)
		sandbox_audit(rq, "port.expose", rq->sandbox.id,
			      rq->sandbox.name);
	port_put(rq, &o, &p);
	return answer_json(rq, 200, &o, e);
}

enum err port_list(struct request *rq, struct errinfo *e)
{
	OWN(ctl_port_list_free) struct ctl_port_list rows = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(LIST_JSON_MAX);
	enum err r = link_find(rq, e);

	if (r == ERR_NONE)
		r = ctl_port_list(rq->store, rq->auth.tenant, rq->sandbox.id,
				  &rows, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_array(&o, "ports");
	for (size_t i = 0; i < rows.n; i++)
		port_put(rq, &o, &rows.rows[i]);
	json_out_end(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

/* {port} of the path, of a sandbox that is there. */
static enum err port_named(struct request *rq, uint16_t *out, struct errinfo *e)
{
	const char *text = route_param(rq, "port");
	char *end;
	long port = strtol(text, &end, 10);
	enum err r = link_find(rq, e);

	if (r != ERR_NONE)
		return r;
	if (*end != '\0' || text[0] < '0' || text[0] > '9' || port < 1 ||
	    port > 65535)
		return err_http_field(rq, e, "port",
				      "must be a number from 1 to 65535");
	*out = (uint16_t)port;
	return ERR_NONE;
}

static enum err port_not_exposed(struct request *rq, uint16_t port,
				 struct errinfo *e)
{
	json_out_int(err_http_context(rq), "port", port);
	return err_http_fail(rq, e, HTTP_PORT_NOT_EXPOSED,
			     "Port %u is not exposed", port);
}

/* The row of {port}, which has not expired. */
static enum err port_find(struct request *rq, struct ctl_port *p,
			  struct errinfo *e)
{
	bool over = false;
	uint16_t port = 0;
	enum err r = port_named(rq, &port, e);

	if (r != ERR_NONE)
		return r;
	r = ctl_port_get(rq->store, rq->auth.tenant, rq->sandbox.id, port, p,
			 e);
	if (r == ERR_NONE)
		r = port_over(rq, p, &over, e);
	return r == ERR_NOT_FOUND || over ? port_not_exposed(rq, port, e) : r;
}

/* Who had it open is cut off: perhaps they may not see it any more. */
enum err port_change(struct request *rq, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	struct port_body body = {0};
	struct ctl_port old, p;
	enum err r;

	err_http_operation(rq, "port.change");
	r = port_find(rq, &old, e);
	if (r != ERR_NONE)
		return r;
	p = old;
	body.keep_host = old.keep_host;
	r = body_json(rq, port_change_fields, JSON_COUNT(port_change_fields),
		      &body, e);
	if (r == ERR_NONE && body.rotate)
		id_token(p.token);
	if (r == ERR_NONE)
		r = port_settings(rq, &body, &p, e);
	if (r == ERR_NONE)
		r = link_open(rq, LINK_START, &l, e);
	if (r == ERR_NONE)
		r = ctl_port_set(rq->store, rq->auth.tenant, &p, e);
	if (r != ERR_NONE)
		return r;
	preview_socket_close(rq, &old);
	r = preview_socket_open(&l, &p, e);
	if (r != ERR_NONE)
		return r;
	sandbox_audit(rq, "port.change", rq->sandbox.id, rq->sandbox.name);
	port_put(rq, &o, &p);
	return answer_json(rq, 200, &o, e);
}

enum err port_unexpose(struct request *rq, struct errinfo *e)
{
	struct ctl_port p;
	uint16_t port = 0;
	enum err r = port_named(rq, &port, e);

	err_http_operation(rq, "port.unexpose");
	if (r != ERR_NONE)
		return r;
	r = ctl_port_remove(rq->store, rq->auth.tenant, rq->sandbox.id, port,
			    &p, e);
	if (r == ERR_NOT_FOUND)
		return port_not_exposed(rq, port, e);
	if (r != ERR_NONE)
		return r;
	preview_socket_close(rq, &p);
	sandbox_audit(rq, "port.unexpose", rq->sandbox.id, rq->sandbox.name);
	answer_empty(rq, 204);
	return ERR_NONE;
}

/* ---- links to a private preview ---- */

struct view_body {
	const char *ttl;
	const char *expires;
	const char *user;
	bool once;
};

#define AT(member) offsetof(struct view_body, member)

static const struct json_field view_fields[] = {
    {"ttl", NULL, JSON_TEXT, AT(ttl), false, 1, 32},
    {"expiresAt", NULL, JSON_TEXT, AT(expires), false, 1, 40},
    {"user", NULL, JSON_TEXT, AT(user), false, 1, PREVIEW_USER_MAX},
    {"once", NULL, JSON_BOOL, AT(once), false, 0, 0},
};

#undef AT

static enum err view_read(struct request *rq, const struct ctl_port *p,
			  struct ctl_link *l, struct errinfo *e)
{
	struct view_body in = {.user = ""};
	char path[PREVIEW_USER_MAX + 16];
	enum err r = body_json(rq, view_fields, JSON_COUNT(view_fields), &in,
			       e);

	if (r == ERR_NONE)
		r = until_read(rq,
			       &(struct until){in.ttl, in.expires, LINK_TTL_MS,
					       LINK_TTL_MAX_MS},
			       &l->expires_ms, e);
	if (r != ERR_NONE)
		return r;
	for (const char *c = in.user; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			return err_http_field(rq, e, "user",
					      "must be printable ASCII: it "
					      "becomes a header");
	snprintf(path, sizeof(path), "%u %s", p->port, in.user);
	snprintf(l->method, sizeof(l->method), "%s",
		 in.once ? PREVIEW_ONCE : PREVIEW_VIEW);
	l->path = strdup(path);
	return l->path != NULL ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "link");
}

enum err port_link(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	OWN(ctl_link_free) struct ctl_link l = {.path = NULL};
	OWN(buf_free) struct buf url = BUF_INIT(1024);
	char token[CTL_LINK_LEN + 1];
	struct ctl_port p;
	enum err r;

	err_http_operation(rq, "port.link");
	r = port_find(rq, &p, e);
	if (r == ERR_NONE && !p.is_private)
		return err_http_fail(rq, e, HTTP_VALIDATION_FAILED,
				     "Port %u is public: its URL is enough",
				     p.port);
	if (r == ERR_NONE)
		r = view_read(rq, &p, &l, e);
	if (r != ERR_NONE)
		return r;
	l.auth = rq->auth;
	memcpy(l.sandbox, rq->sandbox.id, sizeof(l.sandbox));
	r = ctl_link_add(rq->store, &l, token, e);
	if (r == ERR_LIMIT)
		return err_http_fail(rq, e, HTTP_LIMIT_EXCEEDED,
				     "This sandbox has %d links already",
				     CTL_LINKS_MAX);
	if (r != ERR_NONE)
		return r;
	port_url(rq, &p, &url);
	buf_addf(&url, "?%s=%s", PREVIEW_QUERY, token);
	json_out_object(&o, NULL);
	json_out_text(&o, "url", buf_str(&url));
	json_out_text(&o, "id", l.id);
	json_out_text(&o, "token", token);
	json_out_time(&o, "expiresAt", l.expires_ms);
	json_out_end(&o);
	return answer_json(rq, 201, &o, e);
}

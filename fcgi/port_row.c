#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/port_row.h"
#include "fcgi/preview_socket.h"
#include "fcgi/until.h"
#include "store/node_port.h"

#define TTL_MAX_MS (INT64_C(365) * 86400 * 1000)

/* ---- told ---- */

void port_row_url(const struct request *rq, const struct ctl_port *p,
		  struct buf *out)
{
	OWN(buf_free) struct buf host = BUF_INIT(512);
	char key[PREVIEW_KEY_MAX];

	preview_socket_key(p, key);
	buf_addf(&host, "%s.%s", key, rq->worker->domain);
	route_origin_of(rq, "http", buf_str(&host), out);
	buf_adds(out, "/");
	out->failed = out->failed || !buf_ok(&host);
}

/* By path, on a port of its own, of the host that was asked for this. */
static void row_path_url(const struct request *rq, const struct ctl_port *p,
			 struct buf *out)
{
	const char *host = route_header(rq, "SERVER_NAME");
	char key[PREVIEW_KEY_MAX];

	preview_socket_key(p, key);
	buf_addf(out, "http%s://%s:%u/p/%s/", route_tls(rq) ? "s" : "",
		 host != NULL ? host : rq->worker->domain,
		 rq->worker->preview.path_port, key);
}

void port_row_put(const struct request *rq, struct json_out *o,
		  const struct ctl_port *p)
{
	const char *name = p->alias[0] != '\0' ? p->alias : p->name;
	OWN(buf_free) struct buf url = BUF_INIT(1024);
	OWN(buf_free) struct buf path_url = BUF_INIT(1024);

	port_row_url(rq, p, &url);
	json_out_text(o, "url", buf_str(&url));
	if (rq->worker->preview.path_port > 0) {
		row_path_url(rq, p, &path_url);
		json_out_text(o, "pathUrl", buf_str(&path_url));
	}
	if (!buf_ok(&url) || !buf_ok(&path_url))
		o->b.failed = true;
	json_out_int(o, "port", p->port);
	if (name[0] != '\0')
		json_out_text(o, "name", name);
	json_out_text(o, "token", p->token);
	json_out_text(o, "status", "active");
	json_out_text(o, "access", p->is_private ? "private" : "public");
	json_out_bool(o, "keepHost", p->keep_host);
	json_out_int(o, "waitMs", p->wait_ms);
	if (p->expires_ms > 0)
		json_out_time(o, "expiresAt", p->expires_ms);
}

/* ---- read ---- */

static bool row_token_fits(const char *token)
{
	size_t n = strlen(token);

	return n <= ID_TOKEN_LEN &&
	       strspn(token, "abcdefghijklmnopqrstuvwxyz0123456789") == n;
}

enum err port_row_read(struct request *rq, const struct port_settings *in,
		       struct ctl_port *p, struct errinfo *e)
{
	if (in->token != NULL && !row_token_fits(in->token))
		return err_http_field(rq, e, "token",
				      "must be 1 to 16 of a-z 0-9");
	if (in->token != NULL)
		memcpy(p->token, in->token, strlen(in->token) + 1);
	if (in->access != NULL)
		p->is_private = strcmp(in->access, "private") == 0;
	if (in->access != NULL && !p->is_private &&
	    strcmp(in->access, "public") != 0)
		return err_http_field(rq, e, "access",
				      "must be public or private");
	p->keep_host = in->keep_host;
	p->wait_ms = in->wait_ms;
	if (in->ttl == NULL && in->expires == NULL)
		return ERR_NONE;
	return until_read(rq,
			  &(struct until){in->ttl, in->expires, 0, TTL_MAX_MS},
			  &p->expires_ms, e);
}

enum err port_row_port(struct request *rq, uint16_t *out, struct errinfo *e)
{
	const char *text = route_param(rq, "port");
	char *end;
	long port = strtol(text, &end, 10);
	enum err r = link_find(rq, e);

	if (r != ERR_NONE)
		return r;
	if (*end != '\0' || text[0] < '0' || text[0] > '9' || port < 1 ||
	    port > UINT16_MAX)
		return err_http_field(rq, e, "port",
				      "must be a number from 1 to 65535");
	*out = (uint16_t)port;
	return ERR_NONE;
}

/* ---- found, added, removed ---- */

static enum err row_missing(struct request *rq, uint16_t port,
			    const char *alias, struct errinfo *e)
{
	json_out_int(err_http_context(rq), "port", port);
	if (alias[0] == '\0')
		return err_http_fail(rq, e, HTTP_PORT_NOT_EXPOSED,
				     "Port %u is not exposed", port);
	json_out_text(err_http_context(rq), "name", alias);
	return err_http_fail(rq, e, HTTP_PORT_NOT_EXPOSED,
			     "Port %u has no such name", port);
}

enum err port_row_remove(struct request *rq, uint16_t port, const char *alias,
			 struct errinfo *e)
{
	OWN(ctl_port_list_free) struct ctl_port_list l = {.n = 0};
	enum err r = ctl_port_remove(
	    rq->store, rq->auth.tenant,
	    &(struct ctl_port_at){rq->sandbox.id, port, alias}, &l, e);

	if (r == ERR_NOT_FOUND)
		return row_missing(rq, port, alias, e);
	for (size_t i = 0; r == ERR_NONE && i < l.n; i++)
		preview_socket_close(rq, &l.rows[i]);
	/* The next one to be exposed there is another. */
	return r == ERR_NONE && alias[0] == '\0'
		   ? node_port_drop(rq->store, rq->sandbox.id, port, e)
		   : r;
}

static bool row_over(const struct ctl_port *p)
{
	return p->expires_ms > 0 && p->expires_ms <= clock_unix_ms();
}

static enum err row_get(struct request *rq, uint16_t port, const char *alias,
			struct ctl_port *p, struct errinfo *e)
{
	return ctl_port_get(rq->store, rq->auth.tenant,
			    &(struct ctl_port_at){rq->sandbox.id, port, alias},
			    p, e);
}

enum err port_row_find(struct request *rq, const char *alias,
		       struct ctl_port *p, struct errinfo *e)
{
	uint16_t port = 0;
	enum err r = port_row_port(rq, &port, e);

	if (r != ERR_NONE)
		return r;
	r = row_get(rq, port, alias, p, e);
	if (r == ERR_NOT_FOUND)
		return row_missing(rq, port, alias, e);
	if (r != ERR_NONE || !row_over(p))
		return r;
	r = port_row_remove(rq, port, alias, e);
	return r == ERR_NONE ? row_missing(rq, port, alias, e) : r;
}

enum err port_row_taken(struct request *rq, const struct ctl_port *p,
			struct errinfo *e)
{
	return err_http_fail(rq, e, HTTP_PORT_ALREADY_EXPOSED,
			     "Port %u has that token by another name", p->port);
}

/* What is there is what ${want} asks for. */
static enum err row_same(struct request *rq, const struct port_settings *want,
			 const struct ctl_port *p, struct errinfo *e)
{
	if (want->access != NULL &&
	    p->is_private != (strcmp(want->access, "private") == 0))
		return err_http_fail(rq, e, HTTP_PORT_ALREADY_EXPOSED,
				     "Port %u is exposed as %s: PATCH changes "
				     "that",
				     p->port,
				     p->is_private ? "private" : "public");
	if (want->token != NULL && strcmp(want->token, p->token) != 0)
		return err_http_fail(rq, e, HTTP_PORT_ALREADY_EXPOSED,
				     "Port %u is exposed with another token",
				     p->port);
	return ERR_NONE;
}

enum err port_row_add(struct request *rq, const struct port_settings *want,
		      struct ctl_port *p, bool *made, struct errinfo *e)
{
	struct ctl_port had;
	enum err r;

	memcpy(p->sandbox, rq->sandbox.id, sizeof(p->sandbox));
	r = ctl_port_add(rq->store, rq->auth.tenant, p, e);
	*made = r == ERR_NONE;
	if (r != ERR_EXISTS)
		return r;
	r = row_get(rq, p->port, p->alias, &had, e);
	if (r == ERR_NOT_FOUND)
		return port_row_taken(rq, p, e);
	if (r != ERR_NONE)
		return r;
	if (row_over(&had)) {
		r = port_row_remove(rq, p->port, p->alias, e);
		return r == ERR_NONE ? port_row_add(rq, want, p, made, e) : r;
	}
	r = row_same(rq, want, &had, e);
	if (r == ERR_NONE)
		*p = had;
	return r;
}

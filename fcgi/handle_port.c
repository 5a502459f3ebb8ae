/* Exposed ports and their preview URLs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/preview_socket.h"
#include "fcgi/sandbox_row.h"

#define LIST_JSON_MAX (8U * MIB)

/* Those that the wire's clients expect to be refused. */
static const uint16_t port_reserved[] = {22, 3000};

struct port_body {
	int64_t port;
	const char *name;
	const char *token;
};

#define AT(member) offsetof(struct port_body, member)

static const struct json_field port_fields[] = {
    {"port", NULL, JSON_INT, AT(port), true, 1, 65535},
    {"name", NULL, JSON_TEXT, AT(name), false, 0, CTL_PORT_NAME_MAX},
    {"token", NULL, JSON_TEXT, AT(token), false, 1, 4096},
    {"hostname", NULL, JSON_SKIP, 0, false, 0, 0},
    {"sessionId", NULL, JSON_SKIP, 0, false, 0, 0},
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

static void port_put(const struct request *rq, struct json_out *o,
		     const struct ctl_port *p)
{
	OWN(buf_free) struct buf url = BUF_INIT(1024);
	char key[PREVIEW_KEY_MAX];

	preview_socket_key(p, key);
	buf_addf(&url, "http://%s.%s", key, rq->worker->domain);
	if (rq->worker->port != 80)
		buf_addf(&url, ":%d", rq->worker->port);
	buf_adds(&url, "/");
	if (!buf_ok(&url))
		o->b.failed = true;
	json_out_object(o, NULL);
	json_out_text(o, "url", buf_str(&url));
	json_out_int(o, "port", p->port);
	if (p->name[0] != '\0')
		json_out_text(o, "name", p->name);
	json_out_text(o, "token", p->token);
	json_out_text(o, "status", "active");
	json_out_end(o);
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
	if (b->token != NULL && !port_token_fits(b->token))
		return err_http_field(rq, e, "token",
				      "must be 1 to 16 of a-z 0-9");
	p->port = (uint16_t)b->port;
	if (b->token != NULL)
		memcpy(p->token, b->token, strlen(b->token) + 1);
	else
		id_token(p->token);
	if (b->name != NULL)
		memcpy(p->name, b->name, strlen(b->name) + 1);
	return ERR_NONE;
}

/* The row, new or as it was; ${made} tells which. */
static enum err port_row(struct request *rq, const struct port_body *b,
			 struct ctl_port *p, bool *made, struct errinfo *e)
{
	enum err r;

	memcpy(p->sandbox, rq->sandbox.id, sizeof(p->sandbox));
	r = ctl_port_add(rq->store, rq->auth.tenant, p, e);
	*made = r == ERR_NONE;
	if (r != ERR_EXISTS)
		return r;
	r = ctl_port_get(rq->store, rq->auth.tenant, rq->sandbox.id, p->port, p,
			 e);
	if (r != ERR_NONE)
		return r;
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

enum err port_unexpose(struct request *rq, struct errinfo *e)
{
	const char *text = route_param(rq, "port");
	struct ctl_port p;
	char *end;
	long port;
	enum err r = link_find(rq, e);

	err_http_operation(rq, "port.unexpose");
	if (r != ERR_NONE)
		return r;
	port = strtol(text, &end, 10);
	if (*end != '\0' || text[0] < '0' || text[0] > '9' || port < 1 ||
	    port > 65535)
		return err_http_field(rq, e, "port",
				      "must be a number from 1 to 65535");
	r = ctl_port_remove(rq->store, rq->auth.tenant, rq->sandbox.id,
			    (uint16_t)port, &p, e);
	if (r == ERR_NOT_FOUND) {
		json_out_int(err_http_context(rq), "port", port);
		return err_http_fail(rq, e, HTTP_PORT_NOT_EXPOSED,
				     "Port %ld is not exposed", port);
	}
	if (r != ERR_NONE)
		return r;
	preview_socket_close(rq, &p);
	sandbox_audit(rq, "port.unexpose", rq->sandbox.id, rq->sandbox.name);
	answer_empty(rq, 204);
	return ERR_NONE;
}

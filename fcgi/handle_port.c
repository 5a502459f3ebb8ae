/* Exposed ports and their preview URLs. */
#include <string.h>

#include "base/id.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/port_row.h"
#include "fcgi/preview_socket.h"
#include "fcgi/sandbox_row.h"
#include "store/node_port.h"

#define LIST_JSON_MAX (8U * MIB)

#define AT(member) offsetof(struct port_settings, member)

static const struct json_field port_fields[] = {
    {"port", NULL, JSON_INT, AT(port), true, 1, UINT16_MAX},
    {"name", NULL, JSON_TEXT, AT(name), false, 0, CTL_PORT_NAME_MAX},
    PORT_FIELDS,
    {"hostname", NULL, JSON_SKIP, 0, false, 0, 0},
    {"sessionId", NULL, JSON_SKIP, 0, false, 0, 0},
};

static const struct json_field port_change_fields[] = {
    {"rotate", NULL, JSON_BOOL, AT(rotate), false, 0, 0},
    PORT_FIELDS,
};

static const struct json_field port_name_fields[] = {
    {"name", NULL, JSON_TEXT, AT(name), true, 1, CTL_PORT_ALIAS_MAX},
    PORT_FIELDS,
};

#undef AT

static enum err port_read(struct request *rq, struct port_settings *in,
			  struct ctl_port *p, struct errinfo *e)
{
	enum err r = body_json(rq, port_fields, JSON_COUNT(port_fields), in, e);

	if (r != ERR_NONE)
		return r;
	json_out_int(err_http_context(rq), "port", in->port);
	if (preview_conf_reserved(&rq->worker->preview, in->port))
		return err_http_fail(rq, e, HTTP_INVALID_PORT,
				     "Port %lld is reserved",
				     (long long)in->port);
	p->port = (uint16_t)in->port;
	id_token(p->token);
	if (in->name != NULL)
		memcpy(p->name, in->name, strlen(in->name) + 1);
	return port_row_read(rq, in, p, e);
}

static enum err port_answer(struct request *rq, const struct ctl_port *p,
			    struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);

	json_out_object(&o, NULL);
	port_row_put(rq, &o, p);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

/* The row and its socket, or neither; then the answer. */
static enum err port_open_row(struct link *l, const struct port_settings *in,
			      struct ctl_port *p, const char *action,
			      struct errinfo *e)
{
	struct request *rq = l->rq;
	struct errinfo ignored;
	bool made;
	enum err r = port_row_add(rq, in, p, &made, e);

	if (r != ERR_NONE)
		return r;
	r = preview_socket_open(l, p, e);
	if (r != ERR_NONE) {
		if (made && ctl_port_remove(rq->store, rq->auth.tenant,
					    &(struct ctl_port_at){
						p->sandbox, p->port, p->alias},
					    NULL, &ignored) != ERR_NONE)
			log_err("forget a port", &ignored);
		return r;
	}
	if (made)
		sandbox_audit(rq, action, rq->sandbox.id, rq->sandbox.name);
	return port_answer(rq, p, e);
}

enum err port_expose(struct request *rq, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	struct port_settings in = {0};
	struct ctl_port p = {0};
	enum err r;

	err_http_operation(rq, "port.expose");
	r = port_read(rq, &in, &p, e);
	if (r == ERR_NONE)
		r = link_open(rq, LINK_CREATE, &l, e);
	return r == ERR_NONE ? port_open_row(&l, &in, &p, "port.expose", e) : r;
}

static void port_put_hits(struct json_out *o, uint16_t port,
			  const struct node_port_list *hits)
{
	struct node_port none = {.port = port};
	const struct node_port *h = &none;

	for (size_t i = 0; i < hits->n; i++)
		if (hits->rows[i].port == port)
			h = &hits->rows[i];
	json_out_int(o, "requests", (int64_t)h->requests);
	json_out_int(o, "bytesIn", (int64_t)h->bytes_in);
	json_out_int(o, "bytesOut", (int64_t)h->bytes_out);
	json_out_int(o, "upstreamErrors", (int64_t)h->errors);
	if (h->last_ms > 0)
		json_out_time(o, "lastHitAt", h->last_ms);
}

/* A port, and in it those that follow with other names of it. */
static size_t port_put(const struct request *rq, struct json_out *o,
		       const struct ctl_port *rows, size_t n,
		       const struct node_port_list *hits)
{
	size_t i = 1;

	json_out_object(o, NULL);
	port_row_put(rq, o, rows);
	port_put_hits(o, rows->port, hits);
	json_out_array(o, "names");
	for (; i < n && rows[i].port == rows->port; i++) {
		json_out_object(o, NULL);
		port_row_put(rq, o, &rows[i]);
		json_out_end(o);
	}
	json_out_end(o);
	json_out_end(o);
	return i;
}

enum err port_list(struct request *rq, struct errinfo *e)
{
	OWN(ctl_port_list_free) struct ctl_port_list l = {0};
	OWN(node_port_list_free) struct node_port_list hits = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(LIST_JSON_MAX);
	enum err r = link_find(rq, e);

	if (r == ERR_NONE)
		r = ctl_port_list(rq->store, rq->auth.tenant, rq->sandbox.id,
				  &l, e);
	if (r == ERR_NONE)
		r = node_port_list(rq->store, rq->sandbox.id, &hits, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_array(&o, "ports");
	for (size_t i = 0; i < l.n;)
		i += port_put(rq, &o, &l.rows[i], l.n - i, &hits);
	json_out_end(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

/* Who had it open is cut off: perhaps they may not see it any more. */
enum err port_change(struct request *rq, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	struct port_settings in = {0};
	struct ctl_port old, p;
	enum err r;

	err_http_operation(rq, "port.change");
	r = port_row_find(rq, "", &old, e);
	if (r != ERR_NONE)
		return r;
	p = old;
	in.keep_host = old.keep_host;
	in.wait_ms = old.wait_ms;
	r = body_json(rq, port_change_fields, JSON_COUNT(port_change_fields),
		      &in, e);
	if (r == ERR_NONE && in.rotate)
		id_token(p.token);
	if (r == ERR_NONE)
		r = port_row_read(rq, &in, &p, e);
	if (r == ERR_NONE)
		r = link_open(rq, LINK_START, &l, e);
	if (r == ERR_NONE)
		r = ctl_port_set(rq->store, rq->auth.tenant, &p, e);
	if (r == ERR_EXISTS)
		return port_row_taken(rq, &p, e);
	if (r != ERR_NONE)
		return r;
	preview_socket_close(rq, &old);
	r = preview_socket_open(&l, &p, e);
	if (r != ERR_NONE)
		return r;
	sandbox_audit(rq, "port.change", rq->sandbox.id, rq->sandbox.name);
	return port_answer(rq, &p, e);
}

enum err port_unexpose(struct request *rq, struct errinfo *e)
{
	uint16_t port = 0;
	enum err r = port_row_port(rq, &port, e);

	err_http_operation(rq, "port.unexpose");
	if (r == ERR_NONE)
		r = port_row_remove(rq, port, "", e);
	if (r != ERR_NONE)
		return r;
	sandbox_audit(rq, "port.unexpose", rq->sandbox.id, rq->sandbox.name);
	answer_empty(rq, 204);
	return ERR_NONE;
}

/* ---- more names of a port ---- */

enum err port_name(struct request *rq, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	struct port_settings in = {0};
	struct ctl_port own, p = {0};
	enum err r;

	err_http_operation(rq, "port.name");
	r = port_row_find(rq, "", &own, e);
	if (r == ERR_NONE)
		r = body_json(rq, port_name_fields,
			      JSON_COUNT(port_name_fields), &in, e);
	if (r != ERR_NONE)
		return r;
	if (!id_text_ok(in.name))
		return err_http_field(rq, e, "name",
				      "must be of A-Z a-z 0-9 . _ - and begin "
				      "with none of . -");
	p.port = own.port;
	memcpy(p.alias, in.name, strlen(in.name) + 1);
	id_token(p.token);
	r = port_row_read(rq, &in, &p, e);
	if (r == ERR_NONE)
		r = link_open(rq, LINK_START, &l, e);
	if (r == ERR_NONE)
		r = port_open_row(&l, &in, &p, "port.name", e);
	if (r == ERR_LIMIT && rq->failure.code == 0)
		return err_http_fail(rq, e, HTTP_LIMIT_EXCEEDED,
				     "Port %u has %d other names already",
				     p.port, CTL_PORT_ALIASES);
	return r;
}

enum err port_unname(struct request *rq, struct errinfo *e)
{
	const char *name = route_param(rq, "name");
	uint16_t port = 0;
	enum err r = port_row_port(rq, &port, e);

	err_http_operation(rq, "port.unname");
	if (r == ERR_NONE && !id_text_ok(name))
		return err_http_field(rq, e, "name", "is no name of a port");
	if (r == ERR_NONE)
		r = port_row_remove(rq, port, name, e);
	if (r != ERR_NONE)
		return r;
	sandbox_audit(rq, "port.unname", rq->sandbox.id, rq->sandbox.name);
	answer_empty(rq, 204);
	return ERR_NONE;
}

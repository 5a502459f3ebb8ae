#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/ctl_port.h"
#include "store/stmt.h"

static bool port_token_ok(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > ID_TOKEN_LEN)
		return false;
	return strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789") == n;
}

static void port_row(struct stmt *q, struct ctl_port *p)
{
	stmt_col_copy(q, 0, p->sandbox, sizeof(p->sandbox));
	p->port = (uint16_t)stmt_col_int(q, 1);
	stmt_col_copy(q, 2, p->token, sizeof(p->token));
	stmt_col_copy(q, 3, p->name, sizeof(p->name));
	p->created_ms = stmt_col_int(q, 4);
	p->is_private = strcmp(stmt_col_text(q, 5), "private") == 0;
	p->keep_host = stmt_col_int(q, 6) != 0;
	p->expires_ms = stmt_col_int(q, 7);
}

static void port_bind(struct stmt *q, const char *tenant,
		      const struct ctl_port *p)
{
	stmt_text(q, ":tenant", tenant);
	stmt_text(q, ":sandbox", p->sandbox);
	stmt_int(q, ":port", p->port);
	stmt_text(q, ":token", p->token);
	stmt_text(q, ":access", p->is_private ? "private" : "public");
	stmt_int(q, ":keep_host", p->keep_host);
	stmt_int(q, ":expires", p->expires_ms);
}

enum err ctl_port_add(struct store_conn *c, const char *tenant,
		      struct ctl_port *p, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	int64_t now = clock_unix_ms();
	uint64_t n;
	enum err r;

	if (p->port == 0)
		return err_set(e, ERR_ARG, 0, "port");
	if (!port_token_ok(p->token))
		return err_set(e, ERR_ARG, 0, "token");
	r = stmt_use(c, STMT_PORT_ADD, &q, e);
	if (r != ERR_NONE)
		return r;
	port_bind(&q, tenant, p);
	stmt_text(&q, ":name", p->name);
	stmt_int(&q, ":now", now);
	r = stmt_run(&q, &n, e);
	if (r == ERR_NONE && n == 0)
		return err_set(e, ERR_NOT_FOUND, 0, "no such sandbox");
	if (r == ERR_NONE)
		p->created_ms = now;
	return r;
}

enum err ctl_port_set(struct store_conn *c, const char *tenant,
		      const struct ctl_port *p, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t n;
	enum err r;

	if (!port_token_ok(p->token))
		return err_set(e, ERR_ARG, 0, "token");
	r = stmt_use(c, STMT_PORT_SET, &q, e);
	if (r != ERR_NONE)
		return r;
	port_bind(&q, tenant, p);
	r = stmt_run(&q, &n, e);
	if (r == ERR_NONE && n == 0)
		return err_set(e, ERR_NOT_FOUND, 0, "no such port");
	return r;
}

/* The one row that ${id}'s statement gives for a tenant's port. */
static enum err port_one(struct store_conn *c, enum stmt_id id,
			 const char *tenant, const struct ctl_port *key,
			 struct ctl_port *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	struct ctl_port p;
	bool row;
	enum err r = stmt_use(c, id, &q, e);

	if (r != ERR_NONE)
		return r;
	if (tenant != NULL)
		stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":sandbox", key->sandbox);
	stmt_int(&q, ":port", key->port);
	r = stmt_row(&q, e);
	if (r != ERR_NONE)
		return r;
	port_row(&q, &p);
	/* A DELETE … RETURNING is done when it was stepped to its end. */
	r = stmt_step(&q, &row, e);
	if (r == ERR_NONE && out != NULL)
		*out = p;
	return r;
}

static enum err port_key(const char *sandbox, uint16_t port,
			 struct ctl_port *key, struct errinfo *e)
{
	*key = (struct ctl_port){.port = port};
	if (!id_sandbox_ok(sandbox))
		return err_set(e, ERR_NOT_FOUND, 0, "no such sandbox");
	memcpy(key->sandbox, sandbox, sizeof(key->sandbox));
	return ERR_NONE;
}

enum err ctl_port_remove(struct store_conn *c, const char *tenant,
			 const char *sandbox, uint16_t port,
			 struct ctl_port *out, struct errinfo *e)
{
	struct ctl_port key;
	enum err r = port_key(sandbox, port, &key, e);

	if (r != ERR_NONE)
		return r;
	return port_one(c, STMT_PORT_REMOVE, tenant, &key, out, e);
}

enum err ctl_port_get(struct store_conn *c, const char *tenant,
		      const char *sandbox, uint16_t port, struct ctl_port *out,
		      struct errinfo *e)
{
	struct ctl_port key;
	enum err r = port_key(sandbox, port, &key, e);

	if (r != ERR_NONE)
		return r;
	return port_one(c, STMT_PORT_GET, tenant, &key, out, e);
}

enum err ctl_port_key(struct store_conn *c, const char *sandbox, uint16_t port,
		      const char *token, struct ctl_port *out,
		      struct errinfo *e)
{
	/* Both padded to one length, so that the length tells nothing. */
	char had[ID_TOKEN_LEN + 1] = {0}, want[ID_TOKEN_LEN + 1] = {0};
	struct ctl_port key, p;
	enum err r = port_key(sandbox, port, &key, e);

	if (r != ERR_NONE)
		return r;
	if (!port_token_ok(token))
		return err_set(e, ERR_NOT_FOUND, 0, "no such port");
	memcpy(want, token, strlen(token));
	r = port_one(c, STMT_PORT_KEY, NULL, &key, &p, e);
	if (r != ERR_NONE)
		return r;
	memcpy(had, p.token, strlen(p.token));
	if (p.expires_ms > 0 && p.expires_ms <= clock_unix_ms())
		return err_set(e, ERR_NOT_FOUND, 0, "no such port");
	if (sodium_memcmp(had, want, sizeof(want)) != 0)
		return err_set(e, ERR_NOT_FOUND, 0, "no such port");
	*out = p;
	return ERR_NONE;
}

enum err ctl_port_list(struct store_conn *c, const char *tenant,
		       const char *sandbox, struct ctl_port_list *out,
		       struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(ctl_port_list_free) struct ctl_port_list l = {.n = 0};
	enum err r = stmt_use(c, STMT_PORT_LIST, &q, e);
	bool row;

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":sandbox", sandbox);
	while ((r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r != ERR_NONE)
			return r;
		port_row(&q, &l.rows[l.n++]);
	}
	if (r != ERR_NONE)
		return r;
	*out = (struct ctl_port_list){STEAL(l.rows), l.n};
	return ERR_NONE;
}

void ctl_port_list_free(struct ctl_port_list *l)
{
	free(l->rows);
	*l = (struct ctl_port_list){.n = 0};
}

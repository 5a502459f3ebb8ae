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
	stmt_col_copy(q, 2, p->alias, sizeof(p->alias));
	stmt_col_copy(q, 3, p->token, sizeof(p->token));
	stmt_col_copy(q, 4, p->name, sizeof(p->name));
	p->created_ms = stmt_col_int(q, 5);
	p->is_private = strcmp(stmt_col_text(q, 6), "private") == 0;
	p->keep_host = stmt_col_int(q, 7) != 0;
	p->expires_ms = stmt_col_int(q, 8);
	p->wait_ms = stmt_col_int(q, 9);
}

/* All rows that are left. Owns: ${out} is the caller's. */
static enum err port_rows(struct stmt *q, struct ctl_port_list *out,
			  struct errinfo *e)
{
	OWN(ctl_port_list_free) struct ctl_port_list l = {.n = 0};
	enum err r;
	bool row;

	while ((r = stmt_step(q, &row, e)) == ERR_NONE && row) {
		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r != ERR_NONE)
			return r;
		port_row(q, &l.rows[l.n++]);
	}
	if (r != ERR_NONE)
		return r;
	*out = (struct ctl_port_list){STEAL(l.rows), l.n};
	return ERR_NONE;
}

static void port_bind(struct stmt *q, const char *tenant,
		      const struct ctl_port *p)
{
	stmt_text(q, ":tenant", tenant);
	stmt_text(q, ":sandbox", p->sandbox);
	stmt_int(q, ":port", p->port);
	stmt_text(q, ":alias", p->alias);
	stmt_text(q, ":token", p->token);
	stmt_text(q, ":access", p->is_private ? "private" : "public");
	stmt_int(q, ":keep_host", p->keep_host);
	stmt_int(q, ":expires", p->expires_ms);
	stmt_int(q, ":wait", p->wait_ms);
}

/* Why no row was added. */
static enum err port_not_added(struct store_conn *c, const char *tenant,
			       const struct ctl_port *p, struct errinfo *e)
{
	struct ctl_port own;
	enum err r = ERR_NOT_FOUND;

	if (p->alias[0] != '\0')
		r = ctl_port_get(c, tenant,
				 &(struct ctl_port_at){p->sandbox, p->port, ""},
				 &own, e);
	if (r == ERR_NONE)
		return err_set(e, ERR_LIMIT, 0, "names of a port");
	return r == ERR_NOT_FOUND
		   ? err_set(e, ERR_NOT_FOUND, 0, "no such sandbox or port")
		   : r;
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
	stmt_int(&q, ":most", CTL_PORT_ALIASES);
	r = stmt_run(&q, &n, e);
	if (r != ERR_NONE)
		return r;
	stmt_end(&q);
	if (n == 0)
		return port_not_added(c, tenant, p, e);
	p->created_ms = now;
	return ERR_NONE;
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

/* What ${id}'s statement gives for a port; one row at least. */
static enum err port_at(struct store_conn *c, enum stmt_id id,
			const char *tenant, const struct ctl_port_at *at,
			struct ctl_port_list *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(ctl_port_list_free) struct ctl_port_list l = {.n = 0};
	enum err r;

	if (!id_sandbox_ok(at->sandbox))
		return err_set(e, ERR_NOT_FOUND, 0, "no such sandbox");
	r = stmt_use(c, id, &q, e);
	if (r != ERR_NONE)
		return r;
	if (tenant != NULL) {
		stmt_text(&q, ":tenant", tenant);
		stmt_text(&q, ":alias", at->alias);
	}
	stmt_text(&q, ":sandbox", at->sandbox);
	stmt_int(&q, ":port", at->port);
	r = port_rows(&q, &l, e);
	if (r != ERR_NONE)
		return r;
	if (l.n == 0)
		return err_set(e, ERR_NOT_FOUND, 0, "no such port");
	*out = (struct ctl_port_list){STEAL(l.rows), l.n};
	return ERR_NONE;
}

enum err ctl_port_remove(struct store_conn *c, const char *tenant,
			 const struct ctl_port_at *at,
			 struct ctl_port_list *out, struct errinfo *e)
{
	OWN(ctl_port_list_free) struct ctl_port_list l = {.n = 0};
	enum err r = port_at(c, STMT_PORT_REMOVE, tenant, at, &l, e);

	if (r == ERR_NONE && out != NULL)
		*out = (struct ctl_port_list){STEAL(l.rows), l.n};
	return r;
}

enum err ctl_port_get(struct store_conn *c, const char *tenant,
		      const struct ctl_port_at *at, struct ctl_port *out,
		      struct errinfo *e)
{
	OWN(ctl_port_list_free) struct ctl_port_list l = {.n = 0};
	enum err r = port_at(c, STMT_PORT_GET, tenant, at, &l, e);

	if (r == ERR_NONE)
		*out = l.rows[0];
	return r;
}

static bool port_over(const struct ctl_port *p, int64_t now_ms)
{
	return p->expires_ms > 0 && p->expires_ms <= now_ms;
}

enum err ctl_port_key(struct store_conn *c, const char *sandbox, uint16_t port,
		      const char *token, struct ctl_port *out,
		      struct errinfo *e)
{
	OWN(ctl_port_list_free) struct ctl_port_list l = {.n = 0};
	/* All padded to one length, so that the length tells nothing. */
	char want[ID_TOKEN_LEN + 1] = {0};
	const struct ctl_port *found = NULL;
	int64_t now = clock_unix_ms();
	enum err r;

	if (!port_token_ok(token))
		return err_set(e, ERR_NOT_FOUND, 0, "no such port");
	memcpy(want, token, strlen(token));
	r = port_at(c, STMT_PORT_KEY, NULL,
		    &(struct ctl_port_at){.sandbox = sandbox, .port = port}, &l,
		    e);
	if (r != ERR_NONE)
		return r;
	for (size_t i = 0; i < l.n; i++) {
		char had[ID_TOKEN_LEN + 1] = {0};

		memcpy(had, l.rows[i].token, strlen(l.rows[i].token));
		if (sodium_memcmp(had, want, sizeof(want)) == 0)
			found = &l.rows[i];
	}
	if (found == NULL || port_over(found, now) ||
	    port_over(&l.rows[0], now))
		return err_set(e, ERR_NOT_FOUND, 0, "no such port");
	*out = *found;
	return ERR_NONE;
}

enum err ctl_port_list(struct store_conn *c, const char *tenant,
		       const char *sandbox, struct ctl_port_list *out,
		       struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_PORT_LIST, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":sandbox", sandbox);
	return port_rows(&q, out, e);
}

void ctl_port_list_free(struct ctl_port_list *l)
{
	free(l->rows);
	*l = (struct ctl_port_list){.n = 0};
}

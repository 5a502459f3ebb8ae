#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "store/ctl_tenant.h"
#include "store/stmt.h"

static bool tenant_name_ok(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > CTL_TENANT_NAME_MAX || s[0] == '-')
		return false;
	return strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static void tenant_row(struct stmt *q, struct ctl_tenant *t)
{
	stmt_col_copy(q, 0, t->id, sizeof(t->id));
	stmt_col_copy(q, 1, t->name, sizeof(t->name));
	t->created_ms = stmt_col_int(q, 2);
}

enum err ctl_tenant_add(struct store_conn *c, const char *name,
			struct ctl_tenant *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	struct ctl_tenant t = {.created_ms = clock_unix_ms()};
	enum err r;

	if (!tenant_name_ok(name))
		return err_set(e, ERR_ARG, 0,
			       "a tenant's name is 1 to %d of a-z, 0-9 and -",
			       CTL_TENANT_NAME_MAX);
	t.id[0] = 't';
	id_token(t.id + 1);
	memcpy(t.name, name, strlen(name) + 1);
	r = stmt_use(c, STMT_TENANT_ADD, &q, e);
	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", t.id);
	stmt_text(&q, ":name", t.name);
	stmt_int(&q, ":now", t.created_ms);
	r = stmt_run(&q, NULL, e);
	if (r == ERR_EXISTS)
		return err_set(e, r, 0, "there is a tenant of that name");
	if (r == ERR_NONE)
		*out = t;
	return r;
}

enum err ctl_tenant_find(struct store_conn *c, const char *name,
			 struct ctl_tenant *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_TENANT_FIND, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":name", name);
	r = stmt_row(&q, e);
	if (r == ERR_NOT_FOUND)
		return err_set(e, r, 0, "there is no tenant of that name");
	if (r == ERR_NONE)
		tenant_row(&q, out);
	return r;
}

enum err ctl_tenant_list(struct store_conn *c, struct ctl_tenant_list *out,
			 struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(ctl_tenant_list_free) struct ctl_tenant_list l = {.n = 0};
	enum err r = stmt_use(c, STMT_TENANT_LIST, &q, e);
	bool row;

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":after", "");
	while ((r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r != ERR_NONE)
			return r;
		tenant_row(&q, &l.rows[l.n++]);
	}
	if (r != ERR_NONE)
		return r;
	*out = (struct ctl_tenant_list){STEAL(l.rows), l.n};
	return ERR_NONE;
}

void ctl_tenant_list_free(struct ctl_tenant_list *l)
{
	free(l->rows);
	*l = (struct ctl_tenant_list){.n = 0};
}

static enum err tenant_delete(struct store_conn *c, enum stmt_id what,
			      const char *id, uint64_t *changes,
			      struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, what, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", id);
	return stmt_run(&q, changes, e);
}

enum err ctl_tenant_remove(struct store_conn *c, const char *id,
			   struct errinfo *e)
{
	OWN(tx_end) struct tx t = TX_INIT;
	uint64_t keys, tenants = 0;
	enum err r = tx_begin(&t, c, STORE_CTL, e);

	if (r == ERR_NONE)
		r = tenant_delete(c, STMT_TENANT_KEYS_REMOVE, id, &keys, e);
	if (r == ERR_NONE)
		r = tenant_delete(c, STMT_TENANT_REMOVE, id, &tenants, e);
	if (r == ERR_NONE && tenants == 0)
		return err_set(e, ERR_STATE, 0,
			       "it has sandboxes still, or is not there");
	return r == ERR_NONE ? tx_commit(&t, e) : r;
}

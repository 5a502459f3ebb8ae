#include <stdlib.h>
#include <string.h>

#include "store/ctl_plan.h"
#include "store/limit_row.h"

static bool plan_name_ok(const char *s)
{
	size_t n = strlen(s);

	return n > 0 && n <= CTL_PLAN_NAME_MAX && s[0] != '-' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static void plan_row(struct stmt *q, struct ctl_plan *p)
{
	limit_row_read(q, 0, &p->limits, &p->net);
	stmt_col_copy(q, LIMIT_ROW_COLS, p->name, sizeof(p->name));
}

enum err ctl_plan_list(struct store_conn *c, struct ctl_plan_list *out,
		       struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(ctl_plan_list_free) struct ctl_plan_list l = {.n = 0};
	enum err r = stmt_use(c, STMT_PLAN_LIST, &q, e);
	bool row;

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":after", "");
	while ((r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r != ERR_NONE)
			return r;
		plan_row(&q, &l.rows[l.n++]);
	}
	if (r != ERR_NONE)
		return r;
	*out = (struct ctl_plan_list){STEAL(l.rows), l.n};
	return ERR_NONE;
}

void ctl_plan_list_free(struct ctl_plan_list *l)
{
	free(l->rows);
	*l = (struct ctl_plan_list){.n = 0};
}

enum err ctl_plan_get(struct store_conn *c, const char *name,
		      struct ctl_plan *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_PLAN_GET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":name", name);
	r = stmt_row(&q, e);
	if (r == ERR_NOT_FOUND)
		return err_set(e, r, 0, "there is no plan of that name");
	if (r == ERR_NONE)
		plan_row(&q, out);
	return r;
}

static enum err plan_ok(const struct ctl_plan *p, struct errinfo *e)
{
	if (!plan_name_ok(p->name))
		return err_set(e, ERR_ARG, 0,
			       "a plan's name is 1 to %d of a-z, 0-9 and -",
			       CTL_PLAN_NAME_MAX);
	for (int i = 0; i < LIMIT_ALL; i++)
		if (p->limits.of[i] < ctl_limit_table[i].min ||
		    p->limits.of[i] > ctl_limit_table[i].max)
			return err_set(e, ERR_ARG, 0, "a plan must say %s",
				       ctl_limit_table[i].name);
	if (p->net.policy[0] == '\0')
		return err_set(e, ERR_ARG, 0, "a plan must say network");
	return ERR_NONE;
}

static enum err plan_write(struct store_conn *c, enum stmt_id id,
			   const struct ctl_plan *p, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = plan_ok(p, e);

	if (r == ERR_NONE)
		r = stmt_use(c, id, &q, e);
	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":name", p->name);
	limit_row_bind(&q, LIMIT_ALL, &p->limits, &p->net);
	r = stmt_run(&q, NULL, e);
	if (r == ERR_EXISTS)
		return err_set(e, r, 0, "there is a plan of that name");
	return r;
}

enum err ctl_plan_add(struct store_conn *c, const struct ctl_plan *plan,
		      struct errinfo *e)
{
	return plan_write(c, STMT_PLAN_ADD, plan, e);
}

enum err ctl_plan_set(struct store_conn *c, const struct ctl_plan *plan,
		      struct errinfo *e)
{
	return plan_write(c, STMT_PLAN_SET, plan, e);
}

enum err ctl_plan_allowance(struct store_conn *c, const char *tenant,
			    struct ctl_allowance *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	struct ctl_allowance a;
	enum err r = stmt_use(c, STMT_TENANT_LIMITS, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	r = stmt_row(&q, e);
	if (r == ERR_NOT_FOUND)
		return err_set(e, r, 0, "no such tenant");
	if (r != ERR_NONE)
		return r;
	limit_row_read(&q, 0, &a.own, &a.own_net);
	limit_row_read(&q, LIMIT_ROW_COLS, &a.most, &a.most_net);
	ctl_limits_over(&a.own, &a.most, &a.most);
	ctl_net_over(&a.own_net, &a.most_net, &a.most_net);
	stmt_col_copy(&q, 2 * LIMIT_ROW_COLS, a.plan, sizeof(a.plan));
	*out = a;
	return ERR_NONE;
}

static enum err allow_plan(struct store_conn *c, const char *tenant,
			   const char *plan, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t n;
	enum err r = stmt_use(c, STMT_TENANT_PLAN, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":plan", plan);
	r = stmt_run(&q, &n, e);
	if (r == ERR_NONE && n == 0)
		return err_set(e, ERR_NOT_FOUND, 0,
			       "there is no plan of that name");
	return r;
}

static enum err allow_own(struct store_conn *c, const char *tenant,
			  const struct ctl_allowance *a, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_TENANT_LIMITS_SET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	limit_row_bind(&q, LIMIT_ALL, &a->own, &a->own_net);
	return stmt_run(&q, NULL, e);
}

enum err ctl_plan_allow(struct store_conn *c, const char *tenant,
			const struct ctl_allowance *a, struct errinfo *e)
{
	OWN(tx_end) struct tx t = TX_INIT;
	enum err r = tx_begin(&t, c, STORE_CTL, e);

	if (r == ERR_NONE)
		r = allow_plan(c, tenant, a->plan, e);
	if (r == ERR_NONE)
		r = allow_own(c, tenant, a, e);
	return r == ERR_NONE ? tx_commit(&t, e) : r;
}

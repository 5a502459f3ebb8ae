#include <stdio.h>
#include <stdlib.h>

#include "store/node_denial.h"
#include "store/stmt.h"

static enum err denial_write(struct store_conn *c, enum stmt_id id,
			     const char *sandbox, const struct node_denial *d,
			     struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, id, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":what", d->what);
	stmt_text(&q, ":policy", d->policy);
	/* A keeper may lie; a sum stays a number. */
	stmt_int(&q, ":n",
		 d->count < UINT32_MAX ? (int64_t)d->count : UINT32_MAX);
	stmt_int(&q, ":now", d->last_ms);
	return stmt_run(&q, NULL, e);
}

enum err node_denial_add(struct store_conn *c, const char *sandbox,
			 const struct node_denial *d, struct errinfo *e)
{
	return denial_write(c, STMT_DENIAL_ADD, sandbox, d, e);
}

enum err node_denial_hit(struct store_conn *c, const char *sandbox,
			 enum hit_kind kind, uint64_t n, int64_t at_ms,
			 struct errinfo *e)
{
	struct node_denial d = {.count = n, .last_ms = at_ms};

	snprintf(d.what, sizeof(d.what), "%s", keeper_hit_what(kind));
	/* A call's own timeout is nobody's policy but the call's. */
	snprintf(d.policy, sizeof(d.policy), "%s%s",
		 kind == HIT_TIME ? "" : "limits.", keeper_hit_name(kind));
	return node_denial_add(c, sandbox, &d, e);
}

enum err node_denial_seen(struct store_conn *c, const char *sandbox,
			  const struct node_denial *d, struct errinfo *e)
{
	return denial_write(c, STMT_DENIAL_SEEN, sandbox, d, e);
}

enum err node_denial_list(struct store_conn *c, const char *sandbox,
			  struct node_denial_list *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(node_denial_list_free) struct node_denial_list l = {.n = 0};
	enum err r = stmt_use(c, STMT_DENIAL_LIST, &q, e);
	bool row;

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	while ((r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		struct node_denial *d;

		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r != ERR_NONE)
			return r;
		d = &l.rows[l.n++];
		stmt_col_copy(&q, 0, d->what, sizeof(d->what));
		stmt_col_copy(&q, 1, d->policy, sizeof(d->policy));
		d->count = (uint64_t)stmt_col_int(&q, 2);
		d->last_ms = stmt_col_int(&q, 3);
	}
	if (r != ERR_NONE)
		return r;
	*out = (struct node_denial_list){STEAL(l.rows), l.n};
	return ERR_NONE;
}

void node_denial_list_free(struct node_denial_list *l)
{
	free(l->rows);
	*l = (struct node_denial_list){.n = 0};
}

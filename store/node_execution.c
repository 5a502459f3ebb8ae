#include <stdlib.h>

#include "base/clock.h"
#include "store/node_execution.h"
#include "store/node_row.h"

void node_execution_free(struct node_execution *x)
{
	free(x->command);
	free(x->cwd);
	x->command = x->cwd = NULL;
}

void node_execution_list_free(struct node_execution_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		node_execution_free(&l->rows[i]);
	free(l->rows);
	*l = (struct node_execution_list){.n = 0};
}

static enum err execution_row(struct stmt *q, struct node_execution *out,
			      struct errinfo *e)
{
	OWN(node_execution_free) struct node_execution x = {.started_ms = 0};
	enum err r;

	stmt_col_copy(q, 0, x.sandbox, sizeof(x.sandbox));
	stmt_col_copy(q, 1, x.id, sizeof(x.id));
	x.kind = node_row_kind(stmt_col_text(q, 2));
	stmt_col_copy(q, 3, x.context, sizeof(x.context));
	x.state = node_row_state(stmt_col_text(q, 4));
	x.command = stmt_col_dup(q, 5);
	x.cwd = stmt_col_dup(q, 6);
	x.started_ms = stmt_col_int(q, 7);
	node_row_end(q, 8, &x.end);
	r = stmt_copied(q, e);
	if (r != ERR_NONE)
		return r;
	*out = x;
	x.command = x.cwd = NULL;
	return ERR_NONE;
}

enum err node_execution_add(struct store_conn *c,
			    const struct node_execution_new *n,
			    struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_EXECUTION_ADD, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", n->sandbox);
	stmt_text(&q, ":id", n->id);
	stmt_text(&q, ":kind", node_row_kind_name(n->kind));
	stmt_text(&q, ":context", n->context);
	stmt_cut(&q, ":command", n->command, NODE_COMMAND_MAX);
	stmt_cut(&q, ":cwd", n->cwd, NODE_CWD_MAX);
	stmt_int(&q, ":now", clock_unix_ms());
	return stmt_run(&q, NULL, e);
}

enum err node_execution_remove(struct store_conn *c, const char *sandbox,
			       const char *id, struct errinfo *e)
{
	return node_row_do(c, STMT_EXECUTION_REMOVE, sandbox, id, NULL, e);
}

enum err node_execution_get(struct store_conn *c, const char *sandbox,
			    const char *id, struct node_execution *out,
			    struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_EXECUTION_GET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":id", id);
	r = stmt_row(&q, e);
	return r == ERR_NONE ? execution_row(&q, out, e) : r;
}

enum err node_execution_list(struct store_conn *c, const char *sandbox,
			     uint32_t limit, struct node_execution_list *out,
			     struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(node_execution_list_free) struct node_execution_list l = {.n = 0};
	enum err r = stmt_use(c, STMT_EXECUTION_LIST, &q, e);
	bool row;

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_int(&q, ":limit", limit < NODE_PAGE_MAX ? limit : NODE_PAGE_MAX);
	while ((r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r == ERR_NONE)
			r = execution_row(&q, &l.rows[l.n], e);
		if (r != ERR_NONE)
			return r;
		l.n++;
	}
	if (r != ERR_NONE)
		return r;
	*out = l;
	l = (struct node_execution_list){.n = 0};
	return ERR_NONE;
}

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/node_context.h"
#include "store/node_row.h"

void node_context_free(struct node_context *x)
{
	free(x->cwd);
	free(x->env);
	x->cwd = x->env = NULL;
}

void node_context_list_free(struct node_context_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		node_context_free(&l->rows[i]);
	free(l->rows);
	*l = (struct node_context_list){.n = 0};
}

static enum err context_row(struct stmt *q, struct node_context *out,
			    struct errinfo *e)
{
	OWN(node_context_free) struct node_context x = {.pid = 0};
	enum err r;

	stmt_col_copy(q, 0, x.sandbox, sizeof(x.sandbox));
	stmt_col_copy(q, 1, x.id, sizeof(x.id));
	stmt_col_copy(q, 2, x.kernel, sizeof(x.kernel));
	stmt_col_copy(q, 3, x.language, sizeof(x.language));
	x.state = node_row_state(stmt_col_text(q, 4));
	x.pid = (uint32_t)stmt_col_int(q, 5);
	x.cwd = stmt_col_dup(q, 6);
	x.env = stmt_col_dup(q, 7);
	x.created_ms = stmt_col_int(q, 8);
	x.started_ms = stmt_col_int(q, 9);
	node_row_end(q, 10, &x.end);
	r = stmt_copied(q, e);
	if (r != ERR_NONE)
		return r;
	*out = x;
	x.cwd = x.env = NULL;
	return ERR_NONE;
}

enum err node_context_add(struct store_conn *c,
			  const struct node_context_new *n, uint32_t max,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t made;
	enum err r = stmt_use(c, STMT_CONTEXT_ADD, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", n->sandbox);
	stmt_text(&q, ":id", n->id);
	stmt_text(&q, ":kernel", n->kernel);
	stmt_text(&q, ":language", n->language);
	stmt_cut(&q, ":cwd", n->cwd, NODE_CWD_MAX);
	stmt_text(&q, ":env", n->env != NULL ? n->env : "{}");
	stmt_int(&q, ":now", clock_unix_ms());
	stmt_int(&q, ":max", max);
	r = stmt_run(&q, &made, e);
	if (r == ERR_NONE && made == 0)
		return err_set(e, ERR_LIMIT, 0, "contexts: at most %u", max);
	return r;
}

enum err node_context_pid(struct store_conn *c, const char *sandbox,
			  const char *id, uint32_t pid, struct errinfo *e)
{
	return node_row_pid(c, STMT_CONTEXT_PID, sandbox, id, pid, e);
}

static enum err context_restart(struct store_conn *c, const char *sandbox,
				const char *id, const char *from,
				const char *kernel, uint64_t *n,
				struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_CONTEXT_RESTART, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":id", id);
	stmt_text(&q, ":from", from);
	stmt_text(&q, ":kernel", kernel);
	stmt_int(&q, ":now", clock_unix_ms());
	return stmt_run(&q, n, e);
}

enum err node_context_restart(struct store_conn *c, const char *sandbox,
			      const char *id, const char *from,
			      const char *kernel, struct errinfo *e)
{
	struct node_context x;
	uint64_t n;
	enum err r = context_restart(c, sandbox, id, from, kernel, &n, e);

	if (r != ERR_NONE || n > 0)
		return r;
	r = node_context_get(c, sandbox, id, &x, e);
	if (r != ERR_NONE)
		return r;
	node_context_free(&x);
	return err_set(e, ERR_STATE, 0, "it has another kernel by now");
}

enum err node_context_remove(struct store_conn *c, const char *sandbox,
			     const char *id, struct errinfo *e)
{
	uint64_t n;
	enum err r = node_row_do(c, STMT_CONTEXT_REMOVE, sandbox, id, &n, e);

	if (r == ERR_NONE && n == 0)
		return err_set(e, ERR_NOT_FOUND, 0, "no such context");
	return r;
}

enum err node_context_get(struct store_conn *c, const char *sandbox,
			  const char *id, struct node_context *out,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_CONTEXT_GET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":id", id);
	r = stmt_row(&q, e);
	return r == ERR_NONE ? context_row(&q, out, e) : r;
}

enum err node_context_list(struct store_conn *c, const char *sandbox,
			   struct node_context_list *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(node_context_list_free) struct node_context_list l = {.n = 0};
	enum err r = stmt_use(c, STMT_CONTEXT_LIST, &q, e);
	bool row;

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_int(&q, ":limit", NODE_PAGE_MAX);
	while ((r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r == ERR_NONE)
			r = context_row(&q, &l.rows[l.n], e);
		if (r != ERR_NONE)
			return r;
		l.n++;
	}
	if (r != ERR_NONE)
		return r;
	*out = l;
	l = (struct node_context_list){.n = 0};
	return ERR_NONE;
}

#include <stdlib.h>

#include "base/clock.h"
#include "store/node_process.h"
#include "store/node_row.h"

void node_process_free(struct node_process *p)
{
	free(p->command);
	free(p->cwd);
	p->command = p->cwd = NULL;
}

void node_process_list_free(struct node_process_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		node_process_free(&l->rows[i]);
	free(l->rows);
	*l = (struct node_process_list){.n = 0};
}

static enum err process_row(struct stmt *q, struct node_process *out,
			    struct errinfo *e)
{
	OWN(node_process_free) struct node_process p = {.pid = 0};
	enum err r;

	stmt_col_copy(q, 0, p.sandbox, sizeof(p.sandbox));
	stmt_col_copy(q, 1, p.id, sizeof(p.id));
	p.state = node_row_state(stmt_col_text(q, 2));
	p.pid = (uint32_t)stmt_col_int(q, 3);
	p.auto_cleanup = stmt_col_int(q, 4) != 0;
	p.command = stmt_col_dup(q, 5);
	p.cwd = stmt_col_dup(q, 6);
	p.started_ms = stmt_col_int(q, 7);
	node_row_end(q, 8, &p.end);
	stmt_col_copy(q, 16, p.exec, sizeof(p.exec));
	stmt_col_copy(q, 17, p.session, sizeof(p.session));
	stmt_col_copy(q, 18, p.failure, sizeof(p.failure));
	p.terminal = stmt_col_int(q, 19) != 0;
	r = stmt_copied(q, e);
	if (r != ERR_NONE)
		return r;
	*out = p;
	p.command = p.cwd = NULL;
	return ERR_NONE;
}

/* There is one of that id, or there are too many. */
static enum err process_not_added(struct store_conn *c,
				  const struct node_process_new *n,
				  struct errinfo *e)
{
	OWN(node_process_free) struct node_process p = {.pid = 0};
	enum err r = node_process_get(c, n->sandbox, n->id, &p, e);

	if (r == ERR_NONE)
		return err_set(e, ERR_EXISTS, 0, "process id");
	if (r == ERR_NOT_FOUND)
		return err_set(e, ERR_LIMIT, 0, "processes: at most %u",
			       n->max);
	return r;
}

enum err node_process_add(struct store_conn *c,
			  const struct node_process_new *n, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t made = 0;
	enum err r = stmt_use(c, STMT_PROCESS_ADD, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", n->sandbox);
	stmt_text(&q, ":id", n->id);
	stmt_int(&q, ":auto_cleanup", n->auto_cleanup);
	stmt_cut(&q, ":command", n->command, NODE_COMMAND_MAX);
	stmt_cut(&q, ":cwd", n->cwd, NODE_CWD_MAX);
	stmt_int(&q, ":now", clock_unix_ms());
	stmt_text(&q, ":exec", n->exec != NULL ? n->exec : n->id);
	stmt_text(&q, ":session", n->session);
	stmt_int(&q, ":max", n->max);
	stmt_int(&q, ":terminal", n->terminal);
	r = stmt_run(&q, &made, e);
	if (r == ERR_NONE && made == 0)
		return process_not_added(c, n, e);
	return r;
}

enum err node_process_fail(struct store_conn *c, const char *sandbox,
			   const char *id, const char *why, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	struct node_process *room;
	enum err r = stmt_use(c, STMT_PROCESS_FAIL, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":id", id);
	stmt_cut(&q, ":failure", why, sizeof(room->failure) - 1);
	stmt_int(&q, ":now", clock_unix_ms());
	return stmt_run(&q, NULL, e);
}

enum err node_process_pid(struct store_conn *c, const char *sandbox,
			  const char *id, uint32_t pid, struct errinfo *e)
{
	return node_row_pid(c, STMT_PROCESS_PID, sandbox, id, pid, e);
}

enum err node_process_remove(struct store_conn *c, const char *sandbox,
			     const char *id, struct errinfo *e)
{
	return node_row_do(c, STMT_PROCESS_REMOVE, sandbox, id, NULL, e);
}

enum err node_process_remove_ended(struct store_conn *c, const char *sandbox,
				   uint64_t *n, struct errinfo *e)
{
	return node_row_do(c, STMT_PROCESS_REMOVE_ENDED, sandbox, NULL, n, e);
}

enum err node_process_get(struct store_conn *c, const char *sandbox,
			  const char *id, struct node_process *out,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_PROCESS_GET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":id", id);
	r = stmt_row(&q, e);
	return r == ERR_NONE ? process_row(&q, out, e) : r;
}

/* The newest come first from the index; they are told oldest first. */
static void process_reverse(struct node_process_list *l)
{
	for (size_t i = 0, j = l->n; i + 1 < j; i++) {
		struct node_process p = l->rows[i];

		l->rows[i] = l->rows[--j];
		l->rows[j] = p;
	}
}

enum err node_process_list(struct store_conn *c, const char *sandbox,
			   struct node_process_list *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(node_process_list_free) struct node_process_list l = {.n = 0};
	enum err r = stmt_use(c, STMT_PROCESS_LIST, &q, e);
	bool row;

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_int(&q, ":limit", NODE_PAGE_MAX);
	while ((r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r == ERR_NONE)
			r = process_row(&q, &l.rows[l.n], e);
		if (r != ERR_NONE)
			return r;
		l.n++;
	}
	if (r != ERR_NONE)
		return r;
	process_reverse(&l);
	*out = l;
	l = (struct node_process_list){.n = 0};
	return ERR_NONE;
}

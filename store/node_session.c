#include <stdlib.h>

#include "base/clock.h"
#include "store/node_row.h"
#include "store/node_session.h"

void node_session_free(struct node_session *s)
{
	free(s->cwd);
	free(s->env);
	s->cwd = s->env = NULL;
}

enum err node_session_set(struct store_conn *c,
			  const struct node_session_new *n, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_SESSION_SET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", n->sandbox);
	stmt_text(&q, ":id", n->id);
	stmt_cut(&q, ":cwd", n->cwd, NODE_CWD_MAX);
	stmt_text(&q, ":env", n->env != NULL ? n->env : "{}");
	stmt_int(&q, ":timeout_ms", n->timeout_ms);
	stmt_int(&q, ":now", clock_unix_ms());
	return stmt_run(&q, NULL, e);
}

enum err node_session_get(struct store_conn *c, const char *sandbox,
			  const char *id, struct node_session *out,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(node_session_free) struct node_session s = {.timeout_ms = 0};
	enum err r = stmt_use(c, STMT_SESSION_GET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":id", id);
	r = stmt_row(&q, e);
	if (r != ERR_NONE)
		return r;
	stmt_col_copy(&q, 0, s.id, sizeof(s.id));
	s.cwd = stmt_col_dup(&q, 1);
	s.env = stmt_col_dup(&q, 2);
	s.timeout_ms = stmt_col_int(&q, 3);
	s.created_ms = stmt_col_int(&q, 4);
	r = stmt_copied(&q, e);
	if (r != ERR_NONE)
		return r;
	*out = s;
	s.cwd = s.env = NULL;
	return ERR_NONE;
}

enum err node_session_remove(struct store_conn *c, const char *sandbox,
			     const char *id, struct errinfo *e)
{
	return node_row_do(c, STMT_SESSION_REMOVE, sandbox, id, NULL, e);
}

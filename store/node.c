#include <string.h>

#include "store/node.h"
#include "store/node_denial.h"
#include "store/node_hits.h"
#include "store/node_row.h"
#include "store/stmt.h"

static const char *const kind_names[] = {
    [EXEC_CALL] = "exec", [EXEC_PROCESS] = "process", [EXEC_FS] = "fs",
    [EXEC_GIT] = "git",   [EXEC_KERNEL] = "kernel",   [EXEC_RUN] = "run",
};

#define KIND_COUNT (sizeof(kind_names) / sizeof(kind_names[0]))

const char *node_state_name(enum node_state s)
{
	return s == NODE_RUNNING ? "running" : "ended";
}

enum node_state node_row_state(const char *text)
{
	return strcmp(text, "running") == 0 ? NODE_RUNNING : NODE_ENDED;
}

const char *node_row_kind_name(enum exec_kind kind)
{
	return kind_names[kind];
}

enum exec_kind node_row_kind(const char *text)
{
	for (size_t i = EXEC_CALL; i < KIND_COUNT; i++)
		if (strcmp(text, kind_names[i]) == 0)
			return (enum exec_kind)i;
	return EXEC_CALL;
}

static enum end_reason node_reason(const char *text)
{
	for (int i = END_NONE + 1; i <= END_SANDBOX_GONE; i++)
		if (strcmp(text, end_reason_name((enum end_reason)i)) == 0)
			return (enum end_reason)i;
	return END_NONE;
}

void node_row_end(struct stmt *q, int i, struct node_end *end)
{
	end->exit_code = (int32_t)stmt_col_int(q, i);
	end->reason = node_reason(stmt_col_text(q, i + 1));
	end->ended_ms = stmt_col_int(q, i + 2);
	end->duration_ms = stmt_col_int(q, i + 3);
	end->stdout_bytes = (uint64_t)stmt_col_int(q, i + 4);
	end->stderr_bytes = (uint64_t)stmt_col_int(q, i + 5);
	end->dropped_bytes = (uint64_t)stmt_col_int(q, i + 6);
	node_hits_read(stmt_col_text(q, i + 7), &end->hits);
}

enum err node_row_do(struct store_conn *c, enum stmt_id stmt,
		     const char *sandbox, const char *id, uint64_t *changes,
		     struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, stmt, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	if (id != NULL)
		stmt_text(&q, ":id", id);
	return stmt_run(&q, changes, e);
}

enum err node_row_pid(struct store_conn *c, enum stmt_id stmt,
		      const char *sandbox, const char *id, uint32_t pid,
		      struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, stmt, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":id", id);
	stmt_int(&q, ":pid", pid);
	return stmt_run(&q, NULL, e);
}

static enum stmt_id node_end_stmt(enum exec_kind kind)
{
	switch (kind) {
	case EXEC_PROCESS:
		return STMT_PROCESS_END;
	case EXEC_KERNEL:
		return STMT_CONTEXT_END;
	case EXEC_CALL:
	case EXEC_FS:
	case EXEC_GIT:
	case EXEC_RUN:
		return STMT_EXECUTION_END;
	}
	return STMT_EXECUTION_END;
}

/* What a keeper counted, as a column holds it. */
static int64_t node_count(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static enum err node_end_row(struct store_conn *c, const char *sandbox,
			     const char *id, enum exec_kind kind,
			     const struct node_end *end, uint64_t *changes,
			     struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	char hits[NODE_HITS_TEXT_MAX];
	enum err r = stmt_use(c, node_end_stmt(kind), &q, e);

	if (r != ERR_NONE)
		return r;
	node_hits_text(&end->hits, hits);
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":id", id);
	stmt_int(&q, ":exit_code", end->exit_code);
	stmt_text(&q, ":reason", end_reason_name(end->reason));
	stmt_int(&q, ":ended_at", end->ended_ms);
	stmt_int(&q, ":duration_ms", end->duration_ms);
	stmt_int(&q, ":stdout_bytes", node_count(end->stdout_bytes));
	stmt_int(&q, ":stderr_bytes", node_count(end->stderr_bytes));
	stmt_int(&q, ":dropped_bytes", node_count(end->dropped_bytes));
	stmt_text(&q, ":hits", hits);
	return stmt_run(&q, changes, e);
}

enum err node_end_set(struct store_conn *c, const char *sandbox, const char *id,
		      enum exec_kind kind, const struct node_end *end,
		      struct errinfo *e)
{
	uint64_t changes = 0;
	enum err r = node_end_row(c, sandbox, id, kind, end, &changes, e);

	for (int i = 0; r == ERR_NONE && changes > 0 && i < HIT_COUNT; i++)
		if (end->hits.of[i].fresh > 0)
			r = node_denial_hit(c, sandbox, (enum hit_kind)i,
					    end->hits.of[i].fresh,
					    end->ended_ms, e);
	if (r == ERR_NONE && kind == EXEC_PROCESS)
		r = node_row_do(c, STMT_PROCESS_CLEANUP, sandbox, NULL, NULL,
				e);
	return r;
}

static enum err node_gone_one(struct store_conn *c, enum stmt_id id,
			      const char *sandbox, int64_t ended_ms,
			      struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, id, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_int(&q, ":now", ended_ms);
	return stmt_run(&q, NULL, e);
}

enum err node_gone(struct store_conn *c, const char *sandbox, int64_t ended_ms,
		   struct errinfo *e)
{
	enum err r = node_gone_one(c, STMT_EXECUTION_GONE, sandbox, ended_ms,
				   e);

	if (r == ERR_NONE)
		r = node_gone_one(c, STMT_PROCESS_GONE, sandbox, ended_ms, e);
	if (r == ERR_NONE)
		r = node_row_do(c, STMT_PROCESS_CLEANUP, sandbox, NULL, NULL,
				e);
	if (r == ERR_NONE)
		r = node_gone_one(c, STMT_CONTEXT_GONE, sandbox, ended_ms, e);
	return r;
}

enum err node_forget(struct store_conn *c, const char *sandbox,
		     struct errinfo *e)
{
	OWN(tx_end) struct tx t = TX_INIT;
	enum err r = tx_begin(&t, c, STORE_NODE, e);

	if (r == ERR_NONE)
		r = node_row_do(c, STMT_EXECUTION_FORGET, sandbox, NULL, NULL,
				e);
	if (r == ERR_NONE)
		r = node_row_do(c, STMT_PROCESS_FORGET, sandbox, NULL, NULL, e);
	if (r == ERR_NONE)
		r = node_row_do(c, STMT_CONTEXT_FORGET, sandbox, NULL, NULL, e);
	if (r == ERR_NONE)
		r = node_row_do(c, STMT_SESSION_FORGET, sandbox, NULL, NULL, e);
	if (r == ERR_NONE)
		r = node_row_do(c, STMT_RETRY_FORGET, sandbox, NULL, NULL, e);
	if (r == ERR_NONE)
		r = node_row_do(c, STMT_DENIAL_FORGET, sandbox, NULL, NULL, e);
	if (r == ERR_NONE)
		r = node_row_do(c, STMT_PORT_HITS_FORGET, sandbox, NULL, NULL,
				e);
	return r == ERR_NONE ? tx_commit(&t, e) : r;
}

enum err node_running(struct store_conn *c, const char *after,
		      id_sandbox_t sandbox, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_NODE_RUNNING, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":after", after);
	r = stmt_row(&q, e);
	if (r != ERR_NONE)
		return r;
	if (stmt_col_text(&q, 0)[0] == '\0')
		return err_set(e, ERR_NOT_FOUND, 0, "nothing runs");
	stmt_col_copy(&q, 0, sandbox, ID_SANDBOX_LEN + 1);
	return ERR_NONE;
}

enum err node_begin(struct store_conn *c, struct errinfo *e)
{
	struct tx t = TX_INIT;

	/* in_tx of the connection remembers it. */
	return tx_begin(&t, c, STORE_NODE, e);
}

enum err node_commit(struct store_conn *c, struct errinfo *e)
{
	struct tx t = {.c = c, .db = STORE_NODE};
	enum err r;

	must(c->in_tx[STORE_NODE]);
	r = tx_commit(&t, e);
	tx_end(&t);
	return r;
}

void node_rollback(struct store_conn *c)
{
	struct tx t = {.c = c, .db = STORE_NODE};

	if (c->in_tx[STORE_NODE])
		tx_end(&t);
}

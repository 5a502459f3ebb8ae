#include <stdlib.h>
#include <string.h>

#include "store/log_chunk.h"
#include "store/node.h"
#include "store/node_tidy.h"
#include "store/stmt.h"

#define TIDY_ROWS 256

/* Rows that went, by the names that their logs have. */
struct tidy_list {
	size_t n;
	struct {
		id_sandbox_t sandbox;
		id_text_t exec;
	} of[TIDY_ROWS];
};

static enum err tidy_run(struct stmt *q, struct tidy_list *l, struct errinfo *e)
{
	bool row;
	enum err r;

	stmt_int(q, ":max", TIDY_ROWS);
	while ((r = stmt_step(q, &row, e)) == ERR_NONE && row) {
		must(l->n < TIDY_ROWS);
		stmt_col_copy(q, 0, l->of[l->n].sandbox, sizeof(id_sandbox_t));
		stmt_col_copy(q, 1, l->of[l->n].exec, sizeof(id_text_t));
		l->n++;
	}
	return r;
}

/*
 * Their logs go after them: in between, a crash leaves a log that nobody
 * names, until it is too old or its sandbox is deleted.
 */
static enum err tidy_logs(struct store_conn *c, const struct tidy_list *l,
			  struct errinfo *e)
{
	enum err r;

	if (l->n == 0)
		return ERR_NONE;
	r = log_chunk_begin(c, e);
	for (size_t i = 0; i < l->n && r == ERR_NONE; i++)
		r = log_chunk_remove(c, l->of[i].sandbox, l->of[i].exec, e);
	if (r == ERR_NONE)
		return log_chunk_commit(c, e);
	log_chunk_rollback(c);
	return r;
}

static enum err tidy_old(struct store_conn *c, enum stmt_id id,
			 int64_t before_ms, bool *more, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	struct tidy_list *l;
	enum err r = stmt_use(c, id, &q, e);

	if (r != ERR_NONE)
		return r;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return err_set(e, ERR_NOMEM, 0, "rows that go");
	stmt_int(&q, ":before", before_ms);
	r = tidy_run(&q, l, e);
	stmt_end(&q);
	if (r == ERR_NONE)
		r = tidy_logs(c, l, e);
	*more = *more || l->n == TIDY_ROWS;
	free(l);
	return r;
}

static enum err tidy_retries(struct store_conn *c, int64_t before_ms,
			     bool *more, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t n = 0;
	enum err r = stmt_use(c, STMT_RETRY_OLD, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":before", before_ms);
	stmt_int(&q, ":max", TIDY_ROWS);
	r = stmt_run(&q, &n, e);
	*more = *more || n == TIDY_ROWS;
	return r;
}

/* When the oldest of those began that may stay; 0: all may. */
static enum err tidy_since(struct store_conn *c, enum stmt_id id,
			   const struct node_tidy *t, int64_t *since,
			   struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	bool row;
	enum err r = stmt_use(c, id, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", t->after);
	stmt_int(&q, ":keep", t->rows_max);
	r = stmt_step(&q, &row, e);
	if (r == ERR_NONE)
		*since = row ? stmt_col_int(&q, 0) : 0;
	return r;
}

/* Some of those that are too many. */
static enum err tidy_many(struct store_conn *c, enum stmt_id which,
			  enum stmt_id id, struct node_tidy *t,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	struct tidy_list *l;
	int64_t since;
	enum err r = tidy_since(c, which, t, &since, e);

	if (r == ERR_NONE && since != 0)
		r = stmt_use(c, id, &q, e);
	if (r != ERR_NONE || since == 0)
		return r;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return err_set(e, ERR_NOMEM, 0, "rows that go");
	stmt_text(&q, ":sandbox", t->after);
	stmt_int(&q, ":since", since);
	r = tidy_run(&q, l, e);
	stmt_end(&q);
	if (r == ERR_NONE)
		r = tidy_logs(c, l, e);
	t->again = t->again || l->n == TIDY_ROWS;
	free(l);
	return r;
}

/* The next sandbox; "" after the last. */
static enum err tidy_next(struct store_conn *c, struct node_tidy *t,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_NODE_SANDBOX, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":after", t->after);
	r = stmt_row(&q, e);
	if (r == ERR_NONE)
		stmt_col_copy(&q, 0, t->after, sizeof(t->after));
	return r;
}

enum err node_tidy(struct store_conn *c, struct node_tidy *t, bool *more,
		   struct errinfo *e)
{
	enum err r = ERR_NONE;

	*more = false;
	if (t->after[0] == '\0') {
		r = tidy_retries(c, t->retry_ms, more, e);
		if (r == ERR_NONE && t->before_ms > 0)
			r = tidy_old(c, STMT_EXECUTION_OLD, t->before_ms, more,
				     e);
		if (r == ERR_NONE && t->before_ms > 0)
			r = tidy_old(c, STMT_PROCESS_OLD, t->before_ms, more,
				     e);
		if (*more)
			return r;
	}
	if (r != ERR_NONE || t->rows_max == 0)
		return r;
	if (!t->again)
		r = tidy_next(c, t, e);
	if (r != ERR_NONE || t->after[0] == '\0')
		return r;
	*more = true;
	t->again = false;
	r = tidy_many(c, STMT_EXECUTION_SINCE, STMT_EXECUTION_MANY, t, e);
	if (r == ERR_NONE)
		r = tidy_many(c, STMT_PROCESS_SINCE, STMT_PROCESS_MANY, t, e);
	return r;
}

#include "store/log_tidy.h"
#include "store/log_row.h"
#include "store/node_row.h"
#include "store/stmt.h"

#define TIDY_ROWS 2048
#define TIDY_BYTES (4U << 20)

static enum err tidy_find(struct store_conn *c, enum stmt_id id,
			  int64_t before_ms, struct log_row *row,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	bool there;
	enum err r = stmt_use(c, id, &q, e);

	if (r != ERR_NONE)
		return r;
	if (id == STMT_LOG_OLDER)
		stmt_int(&q, ":before", before_ms);
	r = stmt_step(&q, &there, e);
	if (r != ERR_NONE)
		return r;
	*row = (struct log_row){.id = 0};
	if (there)
		log_row_read(&q, row);
	return ERR_NONE;
}

/* A removed one first. */
static enum err tidy_next(struct store_conn *c, int64_t before_ms,
			  struct log_row *row, struct errinfo *e)
{
	enum err r = tidy_find(c, STMT_LOG_GONE, 0, row, e);

	if (r == ERR_NONE && row->id == 0 && before_ms > 0)
		r = tidy_find(c, STMT_LOG_OLDER, before_ms, row, e);
	return r;
}

static enum err tidy_remove(struct store_conn *c, const struct log_row *row,
			    struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_LOG_REMOVE, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":log", row->id);
	r = stmt_run(&q, NULL, e);
	if (r == ERR_NONE)
		r = node_row_do(c, STMT_SANDBOX_LOG_REMOVE, row->sandbox, NULL,
				NULL, e);
	return r;
}

static enum err tidy_step(struct store_conn *c, int64_t before_ms,
			  struct log_row *row, struct errinfo *e)
{
	struct log_drop d = LOG_DROP_INIT;
	struct log_sums sums;
	enum err r;

	d.before = row->gone ? INT64_MAX : before_ms;
	d.rows_max = TIDY_ROWS;
	d.bytes_max = TIDY_BYTES;
	r = log_drop(c, row, &d, e);
	if (r == ERR_NONE)
		r = log_sums_get(c, row, &sums, e);
	if (r != ERR_NONE)
		return r;
	sums.sandbox = log_less(sums.sandbox, d.freed);
	sums.tenant = log_less(sums.tenant, d.freed);
	r = log_sums_set(c, row, &sums, e);
	if (r != ERR_NONE)
		return r;
	if (row->gone && row->s.bytes == 0)
		return tidy_remove(c, row, e);
	return log_row_set(c, row, e);
}

enum err log_tidy(struct store_conn *c, int64_t before_ms, bool *more,
		  struct errinfo *e)
{
	OWN(tx_end) struct tx t = TX_INIT;
	struct log_row row;
	/* Mostly there is nothing, and that takes no lock. */
	enum err r = tidy_next(c, before_ms, &row, e);

	*more = false;
	if (r != ERR_NONE || row.id == 0)
		return r;
	r = tx_begin(&t, c, STORE_LOGS, e);
	if (r == ERR_NONE)
		r = tidy_next(c, before_ms, &row, e);
	if (r == ERR_NONE && row.id != 0)
		r = tidy_step(c, before_ms, &row, e);
	if (r != ERR_NONE)
		return r;
	*more = true;
	return tx_commit(&t, e);
}

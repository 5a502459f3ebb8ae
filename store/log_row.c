#include "store/log_row.h"
#include "store/stmt.h"

void log_row_read(struct stmt *q, struct log_row *row)
{
	row->id = stmt_col_int(q, 0);
	row->s = (struct log_state){
	    .first = (uint64_t)stmt_col_int(q, 1),
	    .last = (uint64_t)stmt_col_int(q, 2),
	    .ended = stmt_col_int(q, 3) != 0,
	    .bytes = (uint64_t)stmt_col_int(q, 4),
	    .dropped_events = (uint64_t)stmt_col_int(q, 5),
	    .dropped_bytes = (uint64_t)stmt_col_int(q, 6),
	    .data_bytes = (uint64_t)stmt_col_int(q, 7),
	};
	row->first_at = stmt_col_int(q, 8);
	row->gone = stmt_col_int(q, 9) != 0;
	stmt_col_copy(q, 10, row->tenant, sizeof(row->tenant));
	stmt_col_copy(q, 11, row->sandbox, sizeof(row->sandbox));
}

enum err log_row_get(struct store_conn *c, const char *sandbox,
		     const char *exec, struct log_row *row, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	bool there;
	enum err r = stmt_use(c, STMT_LOG_GET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":id", exec);
	r = stmt_step(&q, &there, e);
	if (r != ERR_NONE)
		return r;
	*row = (struct log_row){.s = {.first = 1}};
	if (there)
		log_row_read(&q, row);
	return ERR_NONE;
}

enum err log_row_set(struct store_conn *c, const struct log_row *row,
		     struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_LOG_SET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":log", row->id);
	stmt_int(&q, ":first", (int64_t)row->s.first);
	stmt_int(&q, ":last", (int64_t)row->s.last);
	stmt_int(&q, ":ended", row->s.ended);
	stmt_int(&q, ":bytes", (int64_t)row->s.bytes);
	stmt_int(&q, ":dropped_events", (int64_t)row->s.dropped_events);
	stmt_int(&q, ":dropped_bytes", (int64_t)row->s.dropped_bytes);
	stmt_int(&q, ":data_bytes", (int64_t)row->s.data_bytes);
	stmt_int(&q, ":first_at", row->first_at);
	return stmt_run(&q, NULL, e);
}

/* ---- sums ---- */

static enum err sum_get(struct store_conn *c, enum stmt_id id,
			const char *param, const char *key, uint64_t *out,
			struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	bool there;
	enum err r = stmt_use(c, id, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, param, key);
	r = stmt_step(&q, &there, e);
	if (r == ERR_NONE)
		*out = there ? (uint64_t)stmt_col_int(&q, 0) : 0;
	return r;
}

static enum err sum_set(struct store_conn *c, enum stmt_id id,
			const char *param, const char *key, uint64_t bytes,
			struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, id, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, param, key);
	stmt_int(&q, ":bytes", (int64_t)bytes);
	return stmt_run(&q, NULL, e);
}

enum err log_sums_get(struct store_conn *c, const struct log_row *row,
		      struct log_sums *sums, struct errinfo *e)
{
	enum err r = sum_get(c, STMT_SANDBOX_LOG_GET, ":sandbox", row->sandbox,
			     &sums->sandbox, e);

	sums->tenant = 0;
	if (r == ERR_NONE && row->tenant[0] != '\0')
		r = sum_get(c, STMT_TENANT_LOG_GET, ":tenant", row->tenant,
			    &sums->tenant, e);
	return r;
}

enum err log_sums_set(struct store_conn *c, const struct log_row *row,
		      const struct log_sums *sums, struct errinfo *e)
{
	enum err r = sum_set(c, STMT_SANDBOX_LOG_SET, ":sandbox", row->sandbox,
			     sums->sandbox, e);

	if (r == ERR_NONE && row->tenant[0] != '\0')
		r = sum_set(c, STMT_TENANT_LOG_SET, ":tenant", row->tenant,
			    sums->tenant, e);
	return r;
}

/* ---- dropping ---- */

static enum err drop_upto(struct store_conn *c, int64_t log, int64_t seq,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_CHUNK_DROP, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":log", log);
	stmt_int(&q, ":seq", seq);
	return stmt_run(&q, NULL, e);
}

enum err log_drop(struct store_conn *c, struct log_row *row, struct log_drop *d,
		  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t had = row->s.bytes;
	int64_t seq = 0;
	unsigned n = 0;
	bool more;
	enum err r = stmt_use(c, STMT_CHUNK_SIZES, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":log", row->id);
	d->freed = 0;
	while ((r = stmt_step(&q, &more, e)) == ERR_NONE && more) {
		uint64_t len = (uint64_t)stmt_col_int(&q, 1);

		row->first_at = stmt_col_int(&q, 2);
		if (n == d->rows_max || d->freed >= d->bytes_max ||
		    (d->freed >= d->bytes && row->first_at >= d->before))
			break;
		seq = stmt_col_int(&q, 0);
		d->freed += len + LOG_CHUNK_OVERHEAD;
		row->s.dropped_events++;
		row->s.dropped_bytes += len;
		n++;
	}
	if (r != ERR_NONE)
		return r;
	stmt_end(&q);
	if (!more) { /* nothing is left, whatever was counted */
		d->freed = had;
		row->first_at = 0;
	}
	row->s.bytes = log_less(had, d->freed);
	if (seq > 0)
		row->s.first = (uint64_t)seq + 1;
	return n > 0 ? drop_upto(c, row->id, seq, e) : ERR_NONE;
}

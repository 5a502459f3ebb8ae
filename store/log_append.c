/*
 * Appending to logs within bounds. A log is a ring: its own oldest chunks
 * make room for new ones; when the sandbox as a whole is full, its oldest
 * log that still holds something gives way.
 */
#include "store/log_chunk.h"
#include "store/log_row.h"
#include "store/node_row.h"
#include "store/stmt.h"

/* While an event is appended. */
struct append {
	struct store_conn *c;
	const char *sandbox;
	uint64_t sandbox_bytes;
	int64_t log;
	struct log_state s;
};

static enum err append_read(struct append *a, const char *exec,
			    struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(stmt_end) struct stmt add = STMT_INIT;
	bool row;
	enum err r = log_row_get(a->c, a->sandbox, exec, &a->log, &a->s, e);

	if (r == ERR_NONE)
		r = stmt_use(a->c, STMT_SANDBOX_LOG_GET, &q, e);
	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", a->sandbox);
	r = stmt_step(&q, &row, e);
	if (r != ERR_NONE)
		return r;
	a->sandbox_bytes = row ? (uint64_t)stmt_col_int(&q, 0) : 0;
	if (a->log != 0)
		return ERR_NONE;
	r = stmt_use(a->c, STMT_LOG_ADD, &add, e);
	if (r != ERR_NONE)
		return r;
	stmt_text(&add, ":sandbox", a->sandbox);
	stmt_text(&add, ":id", exec);
	r = stmt_row(&add, e);
	if (r != ERR_NONE)
		return r;
	log_row_read(&add, &a->log, &a->s);
	return stmt_step(&add, &row, e);
}

static enum err append_set(struct store_conn *c, int64_t log,
			   const struct log_state *s, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_LOG_SET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":log", log);
	stmt_int(&q, ":first", (int64_t)s->first);
	stmt_int(&q, ":last", (int64_t)s->last);
	stmt_int(&q, ":ended", s->ended);
	stmt_int(&q, ":bytes", (int64_t)s->bytes);
	stmt_int(&q, ":dropped_events", (int64_t)s->dropped_events);
	stmt_int(&q, ":dropped_bytes", (int64_t)s->dropped_bytes);
	return stmt_run(&q, NULL, e);
}

static enum err append_set_sandbox(struct append *a, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(a->c, STMT_SANDBOX_LOG_SET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", a->sandbox);
	stmt_int(&q, ":bytes", (int64_t)a->sandbox_bytes);
	return stmt_run(&q, NULL, e);
}

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

/* A counter in a damaged file must not wrap. */
static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * Drop the oldest chunks of one log until ${need} bytes are free. What was
 * freed is taken off ${s} and the sandbox.
 */
static enum err drop_oldest(struct append *a, int64_t log, struct log_state *s,
			    uint64_t need, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t freed = 0;
	int64_t seq = 0;
	bool row = false;
	enum err r = stmt_use(a->c, STMT_CHUNK_SIZES, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":log", log);
	while (freed < need && (r = stmt_step(&q, &row, e)) == ERR_NONE &&
	       row) {
		uint64_t len = (uint64_t)stmt_col_int(&q, 1);

		seq = stmt_col_int(&q, 0);
		freed += len + LOG_CHUNK_OVERHEAD;
		s->dropped_events++;
		s->dropped_bytes += len;
	}
	if (r != ERR_NONE)
		return r;
	stmt_end(&q);
	/* Nothing was there: never turn round for the same again. */
	s->bytes = freed == 0 ? 0 : less(s->bytes, freed);
	a->sandbox_bytes = less(a->sandbox_bytes, freed);
	if (seq > 0)
		s->first = (uint64_t)seq + 1;
	return drop_upto(a->c, log, seq, e);
}

/* The sandbox's oldest log with something in it; maybe a's own. */
static enum err oldest_log(struct append *a, int64_t *log, struct log_state *s,
			   struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	bool row;
	enum err r = stmt_use(a->c, STMT_LOG_OLDEST, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", a->sandbox);
	r = stmt_step(&q, &row, e);
	if (r != ERR_NONE)
		return r;
	*log = 0;
	if (row)
		log_row_read(&q, log, s);
	return ERR_NONE;
}

static enum err make_room(struct append *a, uint64_t need,
			  const struct log_bounds *b, struct errinfo *e)
{
	enum err r = ERR_NONE;

	if (a->s.bytes + need > b->exec_bytes_max)
		r = drop_oldest(a, a->log, &a->s,
				a->s.bytes + need - b->exec_bytes_max, e);
	while (r == ERR_NONE &&
	       a->sandbox_bytes + need > b->sandbox_bytes_max) {
		uint64_t over = a->sandbox_bytes + need - b->sandbox_bytes_max;
		struct log_state s;
		int64_t log;

		/* a's own row may be older in the file than in memory. */
		r = append_set(a->c, a->log, &a->s, e);
		if (r == ERR_NONE)
			r = oldest_log(a, &log, &s, e);
		if (r != ERR_NONE)
			return r;
		if (log == 0) {
			a->sandbox_bytes = 0;
			break;
		}
		r = drop_oldest(a, log, log == a->log ? &a->s : &s, over, e);
		if (r == ERR_NONE && log != a->log)
			r = append_set(a->c, log, &s, e);
	}
	return r;
}

static enum err chunk_add(struct append *a, const struct keeper_event *ev,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(a->c, STMT_CHUNK_ADD, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":log", a->log);
	stmt_int(&q, ":seq", (int64_t)ev->seq);
	stmt_int(&q, ":kind", ev->kind);
	stmt_int(&q, ":at", ev->unix_ms);
	stmt_blob(&q, ":data", ev->data, ev->len);
	return stmt_run(&q, NULL, e);
}

enum err log_chunk_append(struct store_conn *c, const char *sandbox,
			  const char *exec, const struct keeper_event *ev,
			  const struct log_bounds *bounds, struct errinfo *e)
{
	struct append a = {.c = c, .sandbox = sandbox};
	uint64_t need = ev->len + LOG_CHUNK_OVERHEAD;
	bool fits = need <= bounds->exec_bytes_max &&
		    need <= bounds->sandbox_bytes_max;
	enum err r;

	must(c->in_tx[STORE_LOGS]);
	if (ev->seq > INT64_MAX - 1)
		return err_set(e, ERR_ARG, 0, "seq");
	r = append_read(&a, exec, e);
	if (r != ERR_NONE || ev->seq <= a.s.last)
		return r;
	if (fits)
		r = make_room(&a, need, bounds, e);
	if (r == ERR_NONE && fits)
		r = chunk_add(&a, ev, e);
	if (r != ERR_NONE)
		return r;
	a.s.dropped_events += ev->seq - a.s.last - 1;
	if (a.s.bytes == 0)
		a.s.first = fits ? ev->seq : ev->seq + 1;
	a.s.last = ev->seq;
	a.s.ended = ev->kind == EVENT_END;
	if (fits) {
		a.s.bytes += need;
		a.sandbox_bytes += need;
	} else {
		a.s.dropped_events++;
		a.s.dropped_bytes += ev->len;
	}
	r = append_set(c, a.log, &a.s, e);
	return r == ERR_NONE ? append_set_sandbox(&a, e) : r;
}

enum err log_chunk_begin(struct store_conn *c, struct errinfo *e)
{
	struct tx t = TX_INIT;

	/* in_tx of the connection remembers it. */
	return tx_begin(&t, c, STORE_LOGS, e);
}

enum err log_chunk_commit(struct store_conn *c, struct errinfo *e)
{
	struct tx t = {.c = c, .db = STORE_LOGS};
	enum err r;

	must(c->in_tx[STORE_LOGS]);
	r = tx_commit(&t, e);
	tx_end(&t);
	return r;
}

void log_chunk_rollback(struct store_conn *c)
{
	struct tx t = {.c = c, .db = STORE_LOGS};

	if (c->in_tx[STORE_LOGS])
		tx_end(&t);
}

/* One log row and all its chunks. */
static enum err remove_log(struct append *a, struct errinfo *e)
{
	OWN(stmt_end) struct stmt chunks = STMT_INIT;
	OWN(stmt_end) struct stmt row = STMT_INIT;
	enum err r = stmt_use(a->c, STMT_CHUNK_DROP_ALL, &chunks, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&chunks, ":log", a->log);
	r = stmt_run(&chunks, NULL, e);
	if (r == ERR_NONE)
		r = stmt_use(a->c, STMT_LOG_REMOVE, &row, e);
	if (r != ERR_NONE)
		return r;
	stmt_int(&row, ":log", a->log);
	return stmt_run(&row, NULL, e);
}

static enum err remove_exec(struct append *a, const char *exec,
			    struct errinfo *e)
{
	enum err r = log_row_get(a->c, a->sandbox, exec, &a->log, &a->s, e);

	if (r != ERR_NONE || a->log == 0)
		return r;
	r = append_read(a, exec, e);
	if (r == ERR_NONE)
		r = remove_log(a, e);
	if (r != ERR_NONE)
		return r;
	a->sandbox_bytes = less(a->sandbox_bytes, a->s.bytes);
	return append_set_sandbox(a, e);
}

/* Each log in a transaction of its own: nobody waits for long. */
static enum err remove_next(struct append *a, bool *more, struct errinfo *e)
{
	OWN(tx_end) struct tx t = TX_INIT;
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = tx_begin(&t, a->c, STORE_LOGS, e);

	if (r == ERR_NONE)
		r = stmt_use(a->c, STMT_LOG_NEXT, &q, e);
	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", a->sandbox);
	r = stmt_step(&q, more, e);
	if (r != ERR_NONE)
		return r;
	if (*more)
		log_row_read(&q, &a->log, &a->s);
	stmt_end(&q);
	r = *more ? remove_log(a, e)
		  : node_row_do(a->c, STMT_SANDBOX_LOG_REMOVE, a->sandbox, NULL,
				NULL, e);
	return r == ERR_NONE ? tx_commit(&t, e) : r;
}

enum err log_chunk_remove(struct store_conn *c, const char *sandbox,
			  const char *exec, struct errinfo *e)
{
	struct append a = {.c = c, .sandbox = sandbox};
	OWN(tx_end) struct tx t = TX_INIT;
	bool more = true;
	enum err r = ERR_NONE;

	if (exec == NULL) {
		while (r == ERR_NONE && more)
			r = remove_next(&a, &more, e);
		return r;
	}
	r = tx_begin(&t, c, STORE_LOGS, e);
	if (r == ERR_NONE)
		r = remove_exec(&a, exec, e);
	return r == ERR_NONE ? tx_commit(&t, e) : r;
}

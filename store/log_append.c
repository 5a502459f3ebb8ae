/*
 * Appending to logs within bounds. A log is a ring: its own oldest chunks
 * make room for new ones; when the sandbox or the tenant as a whole is full,
 * its log with the oldest chunk gives way.
 */
#include <string.h>

#include "base/clock.h"
#include "store/log_row.h"
#include "store/node_row.h"

#define SEQ_MAX ((uint64_t)INT64_MAX - 1)

/* While a batch is appended. */
struct append {
	struct store_conn *c;
	const struct log_batch *b;
	struct log_row row;
	struct log_sums sums;
	int64_t now_ms;
};

static enum err append_new(struct append *a, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	bool more;
	enum err r = stmt_use(a->c, STMT_LOG_ADD, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", a->b->sandbox);
	stmt_text(&q, ":id", a->b->exec);
	stmt_text(&q, ":tenant", a->b->tenant);
	r = stmt_row(&q, e);
	if (r != ERR_NONE)
		return r;
	log_row_read(&q, &a->row);
	return stmt_step(&q, &more, e);
}

static enum err append_read(struct append *a, struct errinfo *e)
{
	enum err r = log_row_get(a->c, a->b->sandbox, a->b->exec, &a->row, e);

	if (r == ERR_NONE && a->row.id == 0)
		r = append_new(a, e);
	return r == ERR_NONE ? log_sums_get(a->c, &a->row, &a->sums, e) : r;
}

/* ---- which of the batch stay ---- */

static uint64_t event_bytes(const struct keeper_event *ev)
{
	return ev->len + LOG_CHUNK_OVERHEAD;
}

static uint64_t append_most(const struct append *a)
{
	const struct log_bounds *b = a->b->bounds;
	uint64_t most = b->exec_bytes_max;

	if (most > b->sandbox_bytes_max)
		most = b->sandbox_bytes_max;
	return most > b->tenant_bytes_max ? b->tenant_bytes_max : most;
}

/*
 * The first event of those that fit together, the newest before the others;
 * their bytes in ${need}. One that is too large by itself is passed over.
 */
static size_t append_from(const struct append *a, uint64_t *need)
{
	uint64_t most = append_most(a), sum = 0;
	size_t i = a->b->n;

	while (i > 0 && a->b->events[i - 1].seq > a->row.s.last) {
		uint64_t n = event_bytes(&a->b->events[i - 1]);

		if (n <= most && n > most - sum)
			break;
		sum += n <= most ? n : 0;
		i--;
	}
	*need = sum;
	return i;
}

/* ---- room ---- */

/* The log with the oldest chunk; maybe a's own. */
static enum err oldest(struct append *a, enum stmt_id id, const char *param,
		       const char *key, struct log_row *row, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	bool there;
	enum err r = stmt_use(a->c, id, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, param, key);
	r = stmt_step(&q, &there, e);
	if (r != ERR_NONE)
		return r;
	row->id = 0;
	if (there)
		log_row_read(&q, row);
	return ERR_NONE;
}

/* Drop of a's own log. */
static enum err drop_own(struct append *a, uint64_t bytes, struct errinfo *e)
{
	struct log_drop d = LOG_DROP_INIT;
	enum err r;

	d.bytes = bytes;
	r = log_drop(a->c, &a->row, &d, e);
	a->sums.sandbox = log_less(a->sums.sandbox, d.freed);
	a->sums.tenant = log_less(a->sums.tenant, d.freed);
	return r;
}

/* Drop of another log, of the same tenant but maybe of another sandbox. */
static enum err drop_other(struct append *a, struct log_row *row,
			   uint64_t bytes, struct errinfo *e)
{
	struct log_drop d = LOG_DROP_INIT;
	struct log_sums sums;
	enum err r;

	d.bytes = bytes;
	r = log_drop(a->c, row, &d, e);
	if (r == ERR_NONE)
		r = log_row_set(a->c, row, e);
	a->sums.tenant = log_less(a->sums.tenant, d.freed);
	if (strcmp(row->sandbox, a->row.sandbox) == 0) {
		a->sums.sandbox = log_less(a->sums.sandbox, d.freed);
		return r;
	}
	if (r == ERR_NONE)
		r = log_sums_get(a->c, row, &sums, e);
	if (r != ERR_NONE)
		return r;
	sums.sandbox = log_less(sums.sandbox, d.freed);
	sums.tenant = a->sums.tenant;
	return log_sums_set(a->c, row, &sums, e);
}

/* One log gives way; ${*sum} is what has too much by ${over}. */
static enum err give_way(struct append *a, bool tenant, uint64_t over,
			 uint64_t *sum, struct errinfo *e)
{
	struct log_row row;
	/* a's own row may be older in the file than in memory. */
	enum err r = log_row_set(a->c, &a->row, e);

	if (r == ERR_NONE)
		r = tenant ? oldest(a, STMT_LOG_OLDEST_OF_TENANT, ":tenant",
				    a->row.tenant, &row, e)
			   : oldest(a, STMT_LOG_OLDEST_OF_SANDBOX, ":sandbox",
				    a->row.sandbox, &row, e);
	if (r != ERR_NONE)
		return r;
	if (row.id == 0)
		*sum = 0; /* nothing is there, whatever was counted */
	else if (row.id == a->row.id)
		r = drop_own(a, over, e);
	else
		r = drop_other(a, &row, over, e);
	return r;
}

static enum err make_room(struct append *a, uint64_t need, struct errinfo *e)
{
	const struct log_bounds *b = a->b->bounds;
	enum err r = ERR_NONE;

	if (a->row.s.bytes + need > b->exec_bytes_max)
		r = drop_own(a, a->row.s.bytes + need - b->exec_bytes_max, e);
	while (r == ERR_NONE && a->sums.sandbox + need > b->sandbox_bytes_max)
		r = give_way(a, false,
			     a->sums.sandbox + need - b->sandbox_bytes_max,
			     &a->sums.sandbox, e);
	while (r == ERR_NONE && a->sums.tenant + need > b->tenant_bytes_max)
		r = give_way(a, true,
			     a->sums.tenant + need - b->tenant_bytes_max,
			     &a->sums.tenant, e);
	return r;
}

/* ---- the events ---- */

static enum err chunk_add(struct append *a, const struct keeper_event *ev,
			  int64_t at, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(a->c, STMT_CHUNK_ADD, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":log", a->row.id);
	stmt_int(&q, ":seq", (int64_t)ev->seq);
	stmt_int(&q, ":kind", ev->kind);
	stmt_int(&q, ":at", at);
	stmt_blob(&q, ":data", ev->data, ev->len);
	return stmt_run(&q, NULL, e);
}

/* What was printed and never came here was dropped by the keeper. */
static void append_end(struct log_state *s, const struct keeper_end *end)
{
	uint64_t printed = end->stdout_bytes + end->stderr_bytes;

	s->ended = true;
	if (printed <= INT64_MAX)
		s->dropped_bytes += log_less(printed, s->data_bytes);
}

static enum err append_one(struct append *a, const struct keeper_event *ev,
			   bool keep, struct errinfo *e)
{
	struct log_state *s = &a->row.s;
	/* A keeper's clock is its own affair, but nothing comes from later. */
	int64_t at = ev->unix_ms < a->now_ms ? ev->unix_ms : a->now_ms;
	enum err r = keep ? chunk_add(a, ev, at, e) : ERR_NONE;

	if (r != ERR_NONE)
		return r;
	s->dropped_events += ev->seq - s->last - 1;
	if (ev->kind == EVENT_OUT || ev->kind == EVENT_ERR)
		s->data_bytes += ev->len;
	if (ev->kind == EVENT_END)
		append_end(s, &ev->end);
	if (s->bytes == 0)
		s->first = keep ? ev->seq : ev->seq + 1;
	s->last = ev->seq;
	if (!keep) {
		s->dropped_events++;
		s->dropped_bytes += ev->len;
		return ERR_NONE;
	}
	if (s->bytes == 0)
		a->row.first_at = at;
	s->bytes += event_bytes(ev);
	a->sums.sandbox += event_bytes(ev);
	a->sums.tenant += event_bytes(ev);
	return ERR_NONE;
}

static enum err append_all(struct append *a, struct errinfo *e)
{
	uint64_t need, most = append_most(a);
	size_t from = append_from(a, &need);
	bool all = from > 0 && a->b->events[from - 1].seq > a->row.s.last;
	/* What is older than a dropped one goes, too. */
	enum err r = all ? drop_own(a, UINT64_MAX, e) : ERR_NONE;

	if (r == ERR_NONE)
		r = make_room(a, need, e);
	for (size_t i = 0; i < a->b->n && r == ERR_NONE; i++) {
		const struct keeper_event *ev = &a->b->events[i];

		if (ev->seq > SEQ_MAX)
			return err_set(e, ERR_ARG, 0, "seq");
		if (ev->seq > a->row.s.last)
			r = append_one(a, ev,
				       i >= from && event_bytes(ev) <= most, e);
	}
	return r;
}

enum err log_chunk_append(struct store_conn *c, const struct log_batch *b,
			  struct errinfo *e)
{
	struct append a = {.c = c, .b = b, .now_ms = clock_unix_ms()};
	enum err r;

	must(c->in_tx[STORE_LOGS]);
	r = append_read(&a, e);
	if (r == ERR_NONE && a.row.gone)
		return ERR_NONE;
	if (r == ERR_NONE)
		r = append_all(&a, e);
	if (r == ERR_NONE)
		r = log_row_set(c, &a.row, e);
	return r == ERR_NONE ? log_sums_set(c, &a.row, &a.sums, e) : r;
}

/* ---- transactions ---- */

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

enum err log_chunk_remove(struct store_conn *c, const char *sandbox,
			  const char *exec, struct errinfo *e)
{
	return node_row_do(c,
			   exec != NULL ? STMT_LOG_FORGET : STMT_LOG_FORGET_ALL,
			   sandbox, exec, NULL, e);
}

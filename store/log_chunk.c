/* Reading logs; log_append.c writes them. */
#include <stdlib.h>
#include <string.h>

#include "store/log_chunk.h"
#include "store/log_row.h"
#include "store/stmt.h"

/* One that was removed is as one that never was. */
static enum err chunk_find(struct store_conn *c, const char *sandbox,
			   const char *exec, int64_t *log, struct log_state *s,
			   struct errinfo *e)
{
	struct log_row row;
	enum err r = log_row_get(c, sandbox, exec, &row, e);

	if (r != ERR_NONE)
		return r;
	*log = row.gone ? 0 : row.id;
	*s = row.gone ? (struct log_state){.first = 1} : row.s;
	return ERR_NONE;
}

enum err log_chunk_state(struct store_conn *c, const char *sandbox,
			 const char *exec, struct log_state *out,
			 struct errinfo *e)
{
	int64_t log;

	return chunk_find(c, sandbox, exec, &log, out, e);
}

void log_page_free(struct log_page *p)
{
	free(p->events);
	buf_free(&p->data);
	p->events = NULL;
	p->n = 0;
}

/* END's data is as the keeper sent it; keeper_get_event takes it apart. */
static enum err page_end(struct keeper_event *ev, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(4096);
	struct wire_msg m = {.type = KM_EVENT};
	struct keeper_event whole;
	enum err r;

	wire_u64(&b, ev->seq);
	wire_u8(&b, (uint8_t)ev->kind);
	wire_i64(&b, ev->unix_ms);
	wire_bytes(&b, ev->data, ev->len);
	if (!buf_ok(&b))
		return err_set(e, ERR_STORE, 0, "malformed end in a log");
	m.data = (const uint8_t *)buf_str(&b);
	m.len = b.len;
	r = keeper_get_event(&m, &whole, e);
	if (r != ERR_NONE)
		return err_set(e, ERR_STORE, 0, "malformed end in a log");
	ev->end = whole.end;
	return ERR_NONE;
}

/* Add the present row; data still as an offset, since the buffer moves. */
static enum err page_add(struct log_page *p, struct stmt *q, struct errinfo *e)
{
	struct keeper_event ev = {.seq = (uint64_t)stmt_col_int(q, 0)};
	int64_t kind = stmt_col_int(q, 1);
	enum err r = ERR_NONE;

	if (kind < EVENT_OUT || kind > EVENT_END)
		return err_set(e, ERR_STORE, 0, "unknown kind in a log");
	ev.kind = (enum event_kind)kind;
	ev.unix_ms = stmt_col_int(q, 2);
	ev.data = stmt_col_blob(q, 3, &ev.len);
	if (ev.kind == EVENT_END)
		r = page_end(&ev, e);
	if (r == ERR_NONE)
		r = stmt_grow(&p->events, p->n, sizeof(*p->events), e);
	if (r != ERR_NONE)
		return r;
	buf_add(&p->data, ev.data, ev.len);
	buf_addc(&p->data, '\0');
	if (!buf_ok(&p->data))
		return err_set(e, ERR_NOMEM, 0, "log page");
	p->events[p->n++] = ev;
	return ERR_NONE;
}

static void page_settle(struct log_page *p)
{
	const char *at = buf_str(&p->data);

	for (size_t i = 0; i < p->n; i++) {
		p->events[i].data = at;
		at += p->events[i].len + 1;
	}
}

static enum err page_fill(struct store_conn *c, int64_t log, uint64_t after,
			  size_t bytes_max, struct log_page *p,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_CHUNK_READ, &q, e);
	bool row;

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":log", log);
	stmt_int(&q, ":after", after > INT64_MAX ? INT64_MAX : (int64_t)after);
	while (p->n < LOG_PAGE_CHUNKS &&
	       (r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		size_t len;

		stmt_col_blob(&q, 3, &len);
		if (p->n > 0 && p->data.len + len > bytes_max)
			break;
		r = page_add(p, &q, e);
		if (r != ERR_NONE)
			return r;
	}
	return r;
}

enum err log_chunk_read(struct store_conn *c, const char *sandbox,
			const char *exec, uint64_t after, size_t bytes_max,
			struct log_page *out, struct errinfo *e)
{
	OWN(log_page_free)
	struct log_page p = {
	    .data = BUF_INIT(bytes_max + KEEPER_PAYLOAD_MAX + LOG_PAGE_CHUNKS)};
	int64_t log;
	enum err r = chunk_find(c, sandbox, exec, &log, &p.state, e);

	if (r == ERR_NONE && log != 0)
		r = page_fill(c, log, after, bytes_max, &p, e);
	if (r != ERR_NONE)
		return r;
	page_settle(&p);
	*out = p;
	p = (struct log_page){.n = 0};
	return ERR_NONE;
}

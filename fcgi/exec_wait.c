#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/exec_wait.h"
#include "fcgi/pool.h"
#include "fcgi/sandbox_link.h"

/* After KILL, the end is a matter of the kernel's. */
#define AFTER_KILL_MS 5000
#define STRAYS_STEP_MS 20

/* Events after seq ${after} until END. */
static enum err exec_wait_end(struct link *l, const char *id, uint64_t after,
			      int64_t deadline, struct errinfo *e)
{
	enum err r = link_attach(l, id, after, true, e);

	/* Ended, stored and forgotten meanwhile. */
	if (r == ERR_NOT_FOUND)
		return ERR_NONE;
	while (r == ERR_NONE) {
		struct link_event le;

		r = link_next(l, deadline, &le, e);
		if (r == ERR_PEER)
			return ERR_NONE;
		if (r == ERR_NONE && le.got == LINK_TICK)
			return err_set(e, ERR_TIMEOUT, 0, "it does not end");
		if (r == ERR_NONE && le.got == LINK_EVENT &&
		    le.ev.kind == EVENT_END)
			break;
	}
	return r;
}

enum err exec_wait_kill(struct request *rq, const char *id, uint32_t grace_ms,
			bool *killed, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	struct keeper_item item;
	uint64_t after;
	enum err r = pool_long(rq, e);

	*killed = false;
	if (r == ERR_NONE)
		r = link_open(rq, LINK_LIVE, &l, e);
	if (r == ERR_NONE)
		r = link_status(&l, id, &item, e);
	if (r == ERR_GONE || r == ERR_NOT_FOUND)
		return ERR_NONE;
	if (r != ERR_NONE || item.state == EXEC_ENDED)
		return r;
	after = item.next > 0 ? item.next - 1 : 0;
	r = link_kill(&l, id, grace_ms, END_KILLED, e);
	if (r == ERR_STATE || r == ERR_NOT_FOUND || r == ERR_GONE)
		return ERR_NONE;
	if (r != ERR_NONE)
		return r;
	*killed = true;
	route_park(rq);
	return exec_wait_end(&l, id, after,
			     clock_mono_ms() + grace_ms + AFTER_KILL_MS, e);
}

/* What comes until END, which is in ${end} then. */
static enum err wait_exit_hear(struct link *l, int64_t until_ms,
			       struct keeper_end *end, struct errinfo *e)
{
	for (;;) {
		struct link_event le;
		enum err r = link_next(l, until_ms, &le, e);

		if (r == ERR_PEER)
			return ERR_NONE;
		if (r != ERR_NONE)
			return r;
		if (le.got == LINK_EVENT && le.ev.kind == EVENT_END) {
			*end = le.ev.end;
			return ERR_NONE;
		}
		if (clock_mono_ms() >= until_ms)
			return err_set(e, ERR_TIMEOUT, 0, "it does not end");
	}
}

enum err exec_wait_exit(struct request *rq, const char *id, int64_t until_ms,
			struct keeper_end *end, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	struct keeper_item item;
	enum err r = link_open(rq, LINK_LIVE, &l, e);

	if (r == ERR_NONE)
		r = link_status(&l, id, &item, e);
	if (r == ERR_NONE && item.state == EXEC_ENDED) {
		end->exit_code = item.exit_code;
		end->reason = item.reason;
		return ERR_NONE;
	}
	if (r == ERR_NONE)
		r = link_attach(&l, id, item.next > 0 ? item.next - 1 : 0, true,
				e);
	if (!rq->broken && (r == ERR_GONE || r == ERR_NOT_FOUND))
		return ERR_NONE;
	if (r != ERR_NONE)
		return r;
	route_park(rq);
	return wait_exit_hear(&l, until_ms, end, e);
}

enum err exec_wait_signal(struct request *rq, const char *id, uint32_t signal,
			  bool *sent, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	OWN(buf_free) struct buf b = BUF_INIT(1024);
	enum err r = link_open(rq, LINK_LIVE, &l, e);

	*sent = false;
	wire_str(&b, id);
	wire_u32(&b, signal);
	wire_u8(&b, 1);
	if (r == ERR_NONE)
		r = link_call(&l, KM_SIGNAL, &b, NULL, e);
	if (r == ERR_GONE || r == ERR_NOT_FOUND || r == ERR_STATE)
		return ERR_NONE;
	*sent = r == ERR_NONE;
	return r;
}

/* ---- all of them ---- */

struct wait_all {
	struct wait_one {
		id_text_t id;
		uint64_t after;
	} * rows;
	size_t n;
};

static void wait_all_free(struct wait_all *w)
{
	free(w->rows);
}

static enum err wait_all_add(void *ctx, const struct keeper_item *item,
			     struct errinfo *e)
{
	struct wait_all *w = ctx;
	struct wait_one *grown;

	if (item->kind != EXEC_PROCESS || item->state == EXEC_ENDED)
		return ERR_NONE;
	grown = realloc(w->rows, (w->n + 1) * sizeof(*grown));
	if (grown == NULL)
		return err_set(e, ERR_NOMEM, 0, "processes");
	w->rows = grown;
	snprintf(grown[w->n].id, sizeof(grown[w->n].id), "%s", item->id);
	grown[w->n++].after = item->next > 0 ? item->next - 1 : 0;
	return ERR_NONE;
}

/* TERM to each first, so that their graces run side by side. */
static enum err wait_all_kill(struct request *rq, struct wait_all *w,
			      uint32_t grace_ms, uint64_t *n, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	enum err r = link_open(rq, LINK_LIVE, &l, e);

	if (r == ERR_NONE)
		r = link_list(&l, wait_all_add, w, e);
	for (size_t i = 0; r == ERR_NONE && i < w->n; i++) {
		r = link_kill(&l, w->rows[i].id, grace_ms, END_KILLED, e);
		*n += r == ERR_NONE;
		if (r == ERR_STATE || r == ERR_NOT_FOUND)
			r = ERR_NONE;
	}
	return r;
}

static enum err wait_strays_ask(struct link *l, uint32_t *left,
				struct errinfo *e)
{
	struct wire_msg *m = NULL;
	struct wire_in in;
	enum err r = link_call(l, KM_KILL_STRAYS, NULL, &m, e);

	if (r != ERR_NONE)
		return r;
	in = wire_in(m);
	*left = wire_in_u32(&in);
	if (m->type != KM_STRAYS || !wire_in_done(&in))
		return err_set(e, ERR_GONE, 0, "keeper's STRAYS");
	return ERR_NONE;
}

/* What ended executions left running: nothing asks for it by a name. */
static enum err wait_strays(struct request *rq, uint64_t *n, struct errinfo *e)
{
	const struct timespec step = {.tv_nsec = STRAYS_STEP_MS * 1000000L};
	OWN(link_close) struct link l = LINK_INIT;
	int64_t deadline = clock_mono_ms() + AFTER_KILL_MS;
	uint32_t left = 0;
	enum err r = link_open(rq, LINK_LIVE, &l, e);

	if (r == ERR_NONE)
		r = wait_strays_ask(&l, &left, e);
	if (r == ERR_NONE)
		*n += left;
	while (r == ERR_NONE && left > 0) {
		if (clock_mono_ms() > deadline)
			return err_set(e, ERR_TIMEOUT, 0, "strays");
		nanosleep(&step, NULL);
		r = wait_strays_ask(&l, &left, e);
	}
	return r;
}

enum err exec_wait_kill_all(struct request *rq, uint32_t grace_ms, uint64_t *n,
			    struct errinfo *e)
{
	OWN(wait_all_free) struct wait_all w = {0};
	int64_t deadline;
	enum err r = pool_long(rq, e);

	*n = 0;
	if (r == ERR_NONE)
		r = wait_strays(rq, n, e);
	if (r == ERR_NONE)
		r = wait_all_kill(rq, &w, grace_ms, n, e);
	if (r == ERR_GONE)
		return ERR_NONE;
	deadline = clock_mono_ms() + grace_ms + AFTER_KILL_MS;
	for (size_t i = 0; r == ERR_NONE && i < w.n; i++) {
		OWN(link_close) struct link l = LINK_INIT;

		r = link_open(rq, LINK_LIVE, &l, e);
		if (r == ERR_NONE)
			r = exec_wait_end(&l, w.rows[i].id, w.rows[i].after,
					  deadline, e);
	}
	return r == ERR_GONE && !rq->broken ? ERR_NONE : r;
}

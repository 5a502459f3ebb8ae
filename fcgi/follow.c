#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/follow.h"
#include "fcgi/pool.h"
#include "fcgi/sandbox_link.h"
#include "store/log_chunk.h"

#define PAGE_BYTES (1U * MIB)
#define IDLE_MS 1000
#define QUIET_MS 5000 /* after the first */

/* How long the recorder may take to store the last events of a keeper, and
 * those that it has taken while the keeper could not wait for it. */
#define LAST_MS 500
#define GAP_MS 2000
#define STEP_MS 20

static enum err follow_one(struct follow *f, const struct keeper_event *ev,
			   struct errinfo *e)
{
	uint64_t from = f->after + 1;
	enum err r = ERR_NONE;

	if (ev->seq < from)
		return ERR_NONE;
	f->after = ev->seq;
	if (ev->seq > from && f->gap != NULL)
		r = f->gap(f->ctx, from, ev->seq - 1, e);
	if (r != ERR_NONE)
		return r;
	if (ev->kind == EVENT_END)
		f->how = FOLLOW_ENDED;
	return f->event(f->ctx, ev, e);
}

static void follow_step(void)
{
	struct timespec step = {.tv_nsec = STEP_MS * 1000000L};

	nanosleep(&step, NULL);
}

/* All that is stored after f->after; ${last}: the log's last number. */
static enum err follow_stored(struct follow *f, uint64_t *last,
			      struct errinfo *e)
{
	enum err r = route_unpark(f->rq, e);

	while (r == ERR_NONE && f->how == FOLLOW_ON) {
		OWN(log_page_free) struct log_page page = {0};

		r = log_chunk_read(f->rq->store, f->rq->sandbox.id, f->id,
				   f->after, PAGE_BYTES, &page, e);
		if (r != ERR_NONE)
			break;
		*last = page.state.last;
		if (page.n == 0) {
			if (page.state.ended && f->after >= page.state.last)
				f->how = FOLLOW_GONE;
			break;
		}
		for (size_t i = 0; r == ERR_NONE && i < page.n; i++)
			r = follow_one(f, &page.events[i], e);
	}
	return r;
}

static int64_t follow_tick(const struct follow *f)
{
	int64_t idle = f->quiet ? QUIET_MS : IDLE_MS;
	int64_t at = clock_mono_ms() + (f->idle_ms > 0 ? f->idle_ms : idle);

	return f->until_ms > 0 && f->until_ms < at ? f->until_ms : at;
}

/*
 * The keeper has nothing before ${first}. What the recorder has not stored
 * yet may be on its way there: it is missing once a later one is stored.
 */
static enum err follow_gap(struct follow *f, uint64_t first, struct errinfo *e)
{
	int64_t until = clock_mono_ms() + GAP_MS;
	uint64_t last = 0;

	for (;;) {
		enum err r = follow_stored(f, &last, e);

		if (r != ERR_NONE || f->how != FOLLOW_ON || last + 1 >= first ||
		    clock_mono_ms() >= until || answer_gone(f->rq))
			return r;
		follow_step();
	}
}

enum err follow_link(struct follow *f, struct link *l, struct errinfo *e)
{
	f->how = FOLLOW_ON;
	while (f->how == FOLLOW_ON) {
		struct link_event le;
		enum err r = link_next(l, follow_tick(f), &le, e);

		if (r == ERR_PEER)
			return ERR_NONE;
		if (r != ERR_NONE)
			return r;
		f->quiet = f->quiet && le.got == LINK_TICK;
		switch (le.got) {
		case LINK_EVENT:
			r = follow_one(f, &le.ev, e);
			break;
		case LINK_GAP:
			r = follow_gap(f, le.gap_first, e);
			if (f->live)
				route_park(f->rq);
			break;
		case LINK_REPLAYED:
			if (!f->live)
				f->how = FOLLOW_SO_FAR;
			break;
		case LINK_TICK:
			if (f->idle != NULL)
				r = f->idle(f->ctx, e);
			f->quiet = true;
			wire_rx_rest(&l->rx);
			pool_rest(f->rq);
			break;
		}
		if (r != ERR_NONE)
			return r;
	}
	return ERR_NONE;
}

static enum err follow_live(struct follow *f, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	enum err r = route_unpark(f->rq, e);

	if (r == ERR_NONE)
		r = link_open(f->rq, LINK_LIVE, &l, e);
	if (r == ERR_NONE)
		r = link_attach(&l, f->id, f->after, f->live, e);
	if (answer_gone(f->rq))
		return err_set(e, ERR_GONE, 0, "client");
	if (r == ERR_GONE || r == ERR_NOT_FOUND)
		return ERR_NONE;
	if (r != ERR_NONE)
		return r;
	/* Asked for what comes after the end: that is known already. */
	if (l.ended && f->after + 1 >= l.next) {
		f->how = FOLLOW_GONE;
		return ERR_NONE;
	}
	if (f->live)
		route_park(f->rq);
	return follow_link(f, &l, e);
}

/* The keeper is gone or knows it no more: its last words may be stored yet. */
static enum err follow_last(struct follow *f, struct errinfo *e)
{
	int64_t until = clock_mono_ms() + LAST_MS;
	uint64_t last;

	for (;;) {
		enum err r = follow_stored(f, &last, e);

		if (r != ERR_NONE || f->how != FOLLOW_ON)
			return r;
		if (clock_mono_ms() >= until || answer_gone(f->rq))
			break;
		follow_step();
	}
	f->how = FOLLOW_GONE;
	return ERR_NONE;
}

enum err follow_row(struct request *rq, const char *id,
		    struct node_execution *row, struct errinfo *e)
{
	int64_t until = clock_mono_ms() + LAST_MS;

	for (;;) {
		enum err r = route_unpark(rq, e);

		node_execution_free(row);
		if (r == ERR_NONE)
			r = node_execution_get(rq->store, rq->sandbox.id, id,
					       row, e);
		if (r != ERR_NONE || row->state == NODE_ENDED ||
		    clock_mono_ms() >= until || answer_gone(rq))
			return r;
		follow_step();
	}
}

enum err follow_run(struct follow *f, struct errinfo *e)
{
	uint64_t last;
	enum err r;

	f->how = FOLLOW_ON;
	r = follow_stored(f, &last, e);
	if (r == ERR_NONE && f->how == FOLLOW_ON)
		r = follow_live(f, e);
	if (r == ERR_NONE && f->how == FOLLOW_ON)
		r = follow_last(f, e);
	return r;
}

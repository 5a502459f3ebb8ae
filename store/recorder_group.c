/*
 * The group: what came since the last commit. It is kept in memory, so that
 * the file's lock is held only while it is written, and written as one
 * transaction: a batch for each execution.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/recorder_link.h"

#define GROUP_BATCH 256U
#define GROUP_KEEP (1U << 20) /* a larger buffer is given back */
#define GROUP_NONE UINT32_MAX

struct group_event {
	uint64_t seq;
	int64_t unix_ms;
	size_t at; /* of its data, in the group's */
	size_t len;
	enum event_kind kind;
	uint32_t next; /* of the same execution */
};

struct rec_group {
	struct group_event *events;
	size_t n, cap;
	struct buf data;
	struct keeper_event batch[GROUP_BATCH];
};

enum err recorder_group_open(struct recorder *r, struct errinfo *e)
{
	r->group = calloc(1, sizeof(*r->group));
	if (r->group == NULL)
		return err_set(e, ERR_NOMEM, 0, "group");
	r->group->data = (struct buf)BUF_INIT(2 * (size_t)KEEPER_PAYLOAD_MAX);
	return ERR_NONE;
}

void recorder_group_close(struct recorder *r)
{
	if (r->group == NULL)
		return;
	free(r->group->events);
	buf_free(&r->group->data);
	free(r->group);
	r->group = NULL;
}

static void on_group(void *arg)
{
	recorder_commit(arg);
}

void recorder_dirty(struct rec_link *l, struct rec_exec *x)
{
	struct recorder *r = l->rec;

	if (!x->dirty) {
		x->dirty = true;
		x->first = x->newest = GROUP_NONE;
		x->next_dirty = r->dirty;
		r->dirty = x;
	}
	if (!r->group_timer.armed)
		loop_timer_set(&r->loop, &r->group_timer,
			       clock_mono_ms() + r->conf.group_ms, on_group, r);
}

void recorder_clean(struct recorder *r, struct rec_exec *x)
{
	struct rec_exec **p = &r->dirty;

	if (!x->dirty)
		return;
	while (*p != x)
		p = &(*p)->next_dirty;
	*p = x->next_dirty;
	x->dirty = false;
}

static bool group_grow(struct rec_group *g)
{
	size_t cap = g->cap == 0 ? 256 : g->cap * 2;
	struct group_event *more;

	if (g->n < g->cap)
		return true;
	more = reallocarray(g->events, cap, sizeof(*more));
	if (more == NULL)
		return false;
	g->events = more;
	g->cap = cap;
	return true;
}

enum err recorder_append(struct rec_link *l, struct rec_exec *x,
			 const struct keeper_event *ev, struct errinfo *e)
{
	struct rec_group *g = l->rec->group;
	uint32_t i = (uint32_t)g->n;

	buf_add(&g->data, ev->data, ev->len);
	if (!buf_ok(&g->data) || !group_grow(g))
		return err_set(e, ERR_NOMEM, 0, "group");
	g->events[g->n++] = (struct group_event){.seq = ev->seq,
						 .unix_ms = ev->unix_ms,
						 .at = g->data.len - ev->len,
						 .len = ev->len,
						 .kind = ev->kind,
						 .next = GROUP_NONE};
	recorder_dirty(l, x);
	if (x->first == GROUP_NONE)
		x->first = i;
	else
		g->events[x->newest].next = i;
	x->newest = i;
	return ERR_NONE;
}

bool recorder_full(const struct recorder *r)
{
	return r->group->n >= RECORDER_GROUP_EVENTS ||
	       r->group->data.len >= RECORDER_GROUP_BYTES;
}

void recorder_group_reset(struct recorder *r)
{
	struct rec_group *g = r->group;

	loop_timer_del(&r->loop, &r->group_timer);
	while (r->dirty != NULL) {
		r->dirty->dirty = false;
		r->dirty = r->dirty->next_dirty;
	}
	g->n = 0;
	if (g->data.cap > GROUP_KEEP)
		buf_free(&g->data);
	buf_reset(&g->data);
}

/* ---- commit: logs, then ends, then what keepers are told ---- */

/* Take the next events of ${x} off its list, into the batch. */
static size_t group_take(struct rec_group *g, struct rec_exec *x)
{
	size_t n = 0;

	while (n < GROUP_BATCH && x->first != GROUP_NONE) {
		const struct group_event *ge = &g->events[x->first];

		g->batch[n++] = (struct keeper_event){
		    .seq = ge->seq,
		    .kind = ge->kind,
		    .unix_ms = ge->unix_ms,
		    .data = g->data.data + ge->at,
		    .len = ge->len,
		    .end = {.stdout_bytes = x->end.stdout_bytes,
			    .stderr_bytes = x->end.stderr_bytes}};
		x->first = ge->next;
	}
	return n;
}

static enum err commit_logs(struct recorder *r, struct errinfo *e)
{
	enum err err = ERR_NONE;

	if (r->group->n == 0)
		return ERR_NONE;
	err = log_chunk_begin(r->store, e);
	for (struct rec_exec *x = r->dirty; x != NULL && err == ERR_NONE;
	     x = x->next_dirty) {
		struct log_batch b = {.tenant = x->link->tenant,
				      .sandbox = x->link->id,
				      .exec = x->id,
				      .bounds = &x->link->bounds,
				      .events = r->group->batch};

		while (err == ERR_NONE && (b.n = group_take(r->group, x)) > 0)
			err = log_chunk_append(r->store, &b, e);
	}
	return err == ERR_NONE ? log_chunk_commit(r->store, e) : err;
}

static enum err commit_ends(struct recorder *r, struct errinfo *e)
{
	enum err err = ERR_NONE;
	bool open = false;

	for (struct rec_exec *x = r->dirty; x != NULL && err == ERR_NONE;
	     x = x->next_dirty) {
		if (!x->ended)
			continue;
		if (!open)
			err = node_begin(r->store, e);
		open = err == ERR_NONE;
		if (open)
			err = node_end_set(r->store, x->link->id, x->id,
					   x->kind, &x->end, e);
	}
	if (open && err == ERR_NONE)
		return node_commit(r->store, e);
	node_rollback(r->store);
	return err;
}

static void commit_ack(struct rec_exec *x)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);
	struct rec_link *l = x->link;
	struct errinfo e;

	l->acks = true;
	wire_str(&b, x->id);
	wire_u64(&b, x->last);
	if (l->fd >= 0 && !l->deaf &&
	    wire_tx_put(&l->tx, KM_ACK, x->tag, &b, &e) != ERR_NONE) {
		log_err("acknowledge to a keeper", &e);
		l->deaf = true;
	}
	if (x->ended)
		recorder_link_forget(l, x);
}

static void commit_acks(struct recorder *r)
{
	struct rec_link *l, *lt;

	while (r->dirty != NULL) {
		struct rec_exec *x = r->dirty;

		recorder_clean(r, x);
		commit_ack(x);
	}
	recorder_group_reset(r);
	HASH_ITER(hh, r->links, l, lt)
	{
		if (!l->acks)
			continue;
		l->acks = false;
		if (l->deaf) {
			recorder_link_drop(l);
			recorder_find_retry(l, false);
		} else {
			recorder_link_flush(l);
		}
	}
}

void recorder_commit(struct recorder *r)
{
	struct errinfo e;
	enum err err;

	loop_timer_del(&r->loop, &r->group_timer);
	if (r->broken || r->dirty == NULL)
		return;
	err = commit_logs(r, &e);
	if (err == ERR_NONE)
		err = commit_ends(r, &e);
	if (err != ERR_NONE) {
		recorder_broken(r, &e);
		return;
	}
	r->wrote_ms = clock_mono_ms();
	commit_acks(r);
}

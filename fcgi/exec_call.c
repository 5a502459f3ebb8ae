#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/exec_call.h"
#include "store/node_execution.h"

#define EXEC_RING_BYTES (4U * MIB)

void exec_call_close(struct exec_call *x)
{
	link_close(&x->link);
	retry_free(&x->retry);
}

/* ---- rows ---- */

static enum err exec_call_row(const struct exec_call *x, struct errinfo *e)
{
	struct node_execution_new row = {.sandbox = x->rq->sandbox.id,
					 .id = x->id,
					 .kind = EXEC_CALL,
					 .command = x->body->command,
					 .cwd = exec_body_cwd(x->body)};

	return node_execution_add(x->rq->store, &row, e);
}

static enum err exec_call_add(struct exec_call *x, struct errinfo *e)
{
	struct request *rq = x->rq;
	enum err r;

	memcpy(x->retry.row.made, x->id, sizeof(x->id));
	r = retry_begin(rq, rq->sandbox.id, &x->retry, e);
	if (r == ERR_NONE && x->retry.first)
		return exec_call_row(x, e);
	memcpy(x->id, x->retry.row.made, sizeof(x->id));
	return r;
}

/* Both rows or none: a worker may end at any moment. */
static enum err exec_call_rows(struct exec_call *x, struct errinfo *e)
{
	enum err r;

	if (!retry_asked(x->rq))
		return exec_call_add(x, e);
	r = node_begin(x->rq->store, e);
	if (r != ERR_NONE)
		return r;
	r = exec_call_add(x, e);
	if (r == ERR_NONE)
		return node_commit(x->rq->store, e);
	node_rollback(x->rq->store);
	return r;
}

static void exec_call_forget(struct exec_call *x)
{
	struct request *rq = x->rq;
	struct errinfo e;

	if (route_unpark(rq, &e) != ERR_NONE ||
	    node_execution_remove(rq->store, rq->sandbox.id, x->id, &e) !=
		ERR_NONE)
		log_err("forget an execution that did not start", &e);
	retry_drop(rq, &x->retry);
}

/* ---- start ---- */

static enum err exec_call_renew(struct exec_call *x, struct errinfo *e)
{
	struct store_conn *c = x->rq->store;
	enum err r = node_begin(c, e);

	if (r != ERR_NONE)
		return r;
	r = node_execution_remove(c, x->rq->sandbox.id, x->id, e);
	if (r == ERR_NONE)
		r = exec_call_row(x, e);
	if (r == ERR_NONE)
		return node_commit(c, e);
	node_rollback(c);
	return r;
}

/*
 * The keeper that was asked while the row was stored may have ended, and all
 * rows of its sandbox with it: in the new one this one begins.
 */
static enum err exec_call_sure(struct exec_call *x, struct errinfo *e)
{
	bool fresh = x->link.fresh;
	enum err r = link_sure(&x->link, e);

	if (r != ERR_NONE || x->link.fresh == fresh)
		return r;
	return exec_call_renew(x, e);
}

static enum err exec_call_start(struct exec_call *x, struct keeper_start *s,
				struct errinfo *e)
{
	bool open = true;
	enum err r = exec_call_rows(x, e);

	if (r == ERR_NONE && !x->retry.first)
		r = retry_open(x->rq, x->id, &open, e);
	if (r != ERR_NONE)
		return r;
	x->taken_up = !open;
	if (!open)
		return ERR_NONE;
	r = exec_call_sure(x, e);
	if (r == ERR_NONE)
		r = exec_body_start(&x->link, x->body, s, NULL, e);
	if (r == ERR_EXISTS) {
		x->taken_up = true;
		return ERR_NONE;
	}
	/* Gone while it started: it may run, and then it is recorded. */
	if (r != ERR_NONE && !x->rq->broken)
		exec_call_forget(x);
	return r;
}

enum err exec_call_begin(struct exec_call *x, struct errinfo *e)
{
	struct keeper_start s = {.id = x->id,
				 .kind = EXEC_CALL,
				 .flags = KF_ATTACH,
				 .ring_bytes = EXEC_RING_BYTES};
	enum err r = link_open_early(x->rq, LINK_CREATE, &x->link, e);

	/* In a session the keeper may be asked what its directory is. */
	if (r == ERR_NONE && x->body->session_id[0] != '\0')
		r = link_sure(&x->link, e);
	if (r == ERR_NONE)
		r = exec_body_launch(&x->link, x->body, &s, e);
	if (r != ERR_NONE)
		return r;
	if (!x->body->keep)
		s.flags |= KF_KILL_ON_CLOSE;
	id_stamped("exec", x->id);
	r = exec_call_start(x, &s, e);
	if (r == ERR_NONE)
		route_park(x->rq);
	return r;
}

/* ---- events ---- */

static enum err exec_call_gap(struct exec_call *x, const struct exec_ear *ear,
			      uint64_t from, uint64_t to, struct errinfo *e)
{
	x->cut = true;
	return ear->gap != NULL ? ear->gap(ear->ctx, from, to, e) : ERR_NONE;
}

static void exec_call_ended(struct exec_call *x, const struct keeper_event *ev)
{
	x->end = ev->end;
	x->end_seq = ev->seq;
	x->ended_ms = ev->unix_ms;
}

struct exec_heard {
	struct exec_call *x;
	const struct exec_ear *ear;
};

static enum err exec_heard_event(void *ctx, const struct keeper_event *ev,
				 struct errinfo *e)
{
	struct exec_heard *a = ctx;

	if (ev->kind == EVENT_OUT || ev->kind == EVENT_ERR)
		return a->ear->chunk(a->ear->ctx, ev, e);
	if (ev->kind == EVENT_END)
		exec_call_ended(a->x, ev);
	return ERR_NONE;
}

static enum err exec_heard_gap(void *ctx, uint64_t from, uint64_t to,
			       struct errinfo *e)
{
	struct exec_heard *a = ctx;

	return exec_call_gap(a->x, a->ear, from, to, e);
}

static enum err exec_heard_idle(void *ctx, struct errinfo *e)
{
	struct exec_heard *a = ctx;

	return a->ear->idle != NULL ? a->ear->idle(a->ear->ctx, e) : ERR_NONE;
}

/* It has ended, and what is stored of it does not say how: its row may. */
static enum err exec_again_row(struct exec_call *x, struct errinfo *e)
{
	OWN(node_execution_free) struct node_execution row = {0};
	enum err r = follow_row(x->rq, x->id, &row, e);

	if (r != ERR_NONE && r != ERR_NOT_FOUND)
		return r;
	x->lost = row.state != NODE_ENDED || row.end.reason == END_SANDBOX_GONE;
	x->end = (struct keeper_end){.exit_code = row.end.exit_code,
				     .reason = row.end.reason,
				     .duration_ms = row.end.duration_ms,
				     .stdout_bytes = row.end.stdout_bytes,
				     .stderr_bytes = row.end.stderr_bytes,
				     .dropped_bytes = row.end.dropped_bytes,
				     .hits = row.end.hits};
	x->ended_ms = row.end.ended_ms;
	return ERR_NONE;
}

enum err exec_call_hear(struct exec_call *x, const struct exec_ear *ear,
			struct errinfo *e)
{
	struct exec_heard again = {.x = x, .ear = ear};
	struct follow f = {.rq = x->rq,
			   .id = x->id,
			   .live = true,
			   .event = exec_heard_event,
			   .gap = exec_heard_gap,
			   .idle = exec_heard_idle,
			   .ctx = &again};
	enum err r;

	if (!x->taken_up) {
		r = follow_link(&f, &x->link, e);
		x->lost = r == ERR_NONE && f.how != FOLLOW_ENDED;
		return r;
	}
	f.after = x->after;
	r = follow_run(&f, e);
	if (r == ERR_NONE && f.how != FOLLOW_ENDED)
		r = exec_again_row(x, e);
	return r;
}

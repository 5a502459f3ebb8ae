/* What a process printed: so far, or as it comes. */
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/exec_hits.h"
#include "fcgi/exec_tell.h"
#include "fcgi/exec_wait.h"
#include "fcgi/follow.h"
#include "fcgi/handle_process.h"
#include "fcgi/pool.h"
#include "store/log_chunk.h"

/* Of each stream in one answer; more is to be read as a stream. */
#define LOGS_MAX (16U * MIB)
#define LOGS_JSON_MAX (256U * MIB)
#define LOGS_YOUNG_MS 250

struct process_logs {
	struct buf text[2];
	struct utf8 part[2];
	bool base64;
	bool cut;          /* something is missing */
	uint64_t given;    /* bytes in the answer … */
	uint64_t left_out; /* … and those that it had no room for */
	uint64_t printed;  /* in all, once that is known */
};

static void process_logs_free(struct process_logs *x)
{
	buf_free(&x->text[0]);
	buf_free(&x->text[1]);
}

static enum err process_logs_gap(void *ctx, uint64_t from, uint64_t to,
				 struct errinfo *e)
{
	struct process_logs *x = ctx;

	(void)from;
	(void)to;
	(void)e;
	x->cut = true;
	return ERR_NONE;
}

static enum err process_logs_event(void *ctx, const struct keeper_event *ev,
				   struct errinfo *e)
{
	struct process_logs *x = ctx;
	struct buf *b = &x->text[ev->kind == EVENT_ERR];

	(void)e;
	if (ev->kind == EVENT_END)
		x->printed = ev->end.stdout_bytes + ev->end.stderr_bytes;
	if (ev->kind != EVENT_OUT && ev->kind != EVENT_ERR)
		return ERR_NONE;
	if (b->max_bytes - b->len < ev->len * 3 + 8) {
		x->cut = true;
		x->left_out += ev->len;
		return ERR_NONE;
	}
	x->given += ev->len;
	if (x->base64)
		buf_add(b, ev->data, ev->len);
	else
		utf8_decode(&x->part[ev->kind == EVENT_ERR], ev->data, ev->len,
			    b);
	return ERR_NONE;
}

static void process_logs_put(struct process_logs *x, struct json_out *o,
			     const char *key, int i)
{
	if (x->base64) {
		json_out_base64(o, key, buf_str(&x->text[i]), x->text[i].len);
		return;
	}
	utf8_end(&x->part[i], &x->text[i]);
	json_out_textn(o, key, buf_str(&x->text[i]), x->text[i].len);
}

/* How many bytes are missing: exact when it has ended, else those that the
 * log has dropped so far. */
static enum err process_logs_dropped(const struct process_logs *x,
				     const struct follow *f, int64_t *out,
				     struct errinfo *e)
{
	struct log_state log = {.last = 0};
	enum err r = ERR_NONE;

	if (x->printed > x->given) {
		*out = (int64_t)(x->printed - x->given);
		return ERR_NONE;
	}
	r = route_unpark(f->rq, e);
	if (r == ERR_NONE)
		r = log_chunk_state(f->rq->store, f->rq->sandbox.id, f->id,
				    &log, e);
	*out = (int64_t)(log.dropped_bytes + x->left_out);
	return r;
}

static enum err process_logs_answer(struct process_logs *x,
				    const struct follow *f, const char *id,
				    struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(LOGS_JSON_MAX);
	int64_t dropped = 0;
	enum err r = ERR_NONE;

	if (!buf_ok(&x->text[0]) || !buf_ok(&x->text[1]))
		return err_set(e, ERR_NOMEM, 0, "logs");
	if (x->cut)
		r = process_logs_dropped(x, f, &dropped, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "processId", id);
	process_logs_put(x, &o, "stdout", 0);
	process_logs_put(x, &o, "stderr", 1);
	if (x->base64)
		json_out_text(&o, "encoding", "base64");
	if (x->cut) {
		json_out_bool(&o, "truncated", true);
		json_out_int(&o, "droppedBytes", dropped);
	}
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(f->rq, 200, &o, e);
}

/*
 * Clients read the log of a fast command right after its start, and count on
 * all of it: of a process that young, the end is waited for a moment.
 */
static enum err process_logs_young(struct request *rq,
				   const struct node_process *p,
				   struct errinfo *e)
{
	int64_t age = clock_unix_ms() - p->started_ms;
	struct keeper_end end = {0};
	enum err r;

	if (p->state == NODE_ENDED || age < 0 || age >= LOGS_YOUNG_MS)
		return ERR_NONE;
	r = exec_wait_exit(rq, p->exec, clock_mono_ms() + LOGS_YOUNG_MS - age,
			   &end, e);
	return r == ERR_TIMEOUT ? ERR_NONE : r;
}

enum err process_logs(struct request *rq, struct errinfo *e)
{
	OWN(node_process_free) struct node_process p = {0};
	OWN(process_logs_free)
	struct process_logs x = {
	    .text = {BUF_INIT(LOGS_MAX), BUF_INIT(LOGS_MAX)}};
	struct follow f = {.rq = rq,
			   .event = process_logs_event,
			   .gap = process_logs_gap,
			   .ctx = &x};
	struct exec_tell enc = {0};
	enum err r = process_find(rq, &p, e);

	err_http_operation(rq, "process.logs");
	if (r == ERR_NONE)
		r = exec_tell_encoding(rq, &enc, e);
	if (r == ERR_NONE)
		r = process_logs_young(rq, &p, e);
	if (r != ERR_NONE)
		return r;
	x.base64 = enc.base64;
	f.id = p.exec;
	r = follow_run(&f, e);
	return r == ERR_NONE ? process_logs_answer(&x, &f, p.id, e) : r;
}

/* ---- as events ---- */

static enum err process_tell_exit(struct exec_tell *t,
				  const struct exec_status *s, uint64_t seq,
				  struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	bool gone = s->reason == END_SANDBOX_GONE || s->reason == END_NONE;
	enum err r = exec_tell_rest(t, e);

	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_text(&o, "type", "exit");
	json_out_text(&o, "processId", t->process_id);
	if (gone)
		json_out_null(&o, "exitCode");
	else
		json_out_int(&o, "exitCode",
			     exec_exit_code(s->reason, s->exit_code));
	json_out_text(&o, "reason",
		      end_reason_name(gone ? END_SANDBOX_GONE : s->reason));
	json_out_text(&o, "data", "");
	exec_hits_put(&o, &s->hits);
	json_out_time(&o, "timestamp",
		      s->ended_ms > 0 ? s->ended_ms : clock_unix_ms());
	json_out_end(&o);
	return sse_send(&t->sse, seq, &o, e);
}

static enum err process_tell_event(void *ctx, const struct keeper_event *ev,
				   struct errinfo *e)
{
	struct exec_tell *t = ctx;
	struct exec_status s;

	if (ev->kind == EVENT_OUT || ev->kind == EVENT_ERR)
		return exec_tell_chunk(t, ev, e);
	if (ev->kind != EVENT_END)
		return ERR_NONE;
	s = (struct exec_status){.ended = true,
				 .exit_code = ev->end.exit_code,
				 .reason = ev->end.reason,
				 .ended_ms = ev->unix_ms,
				 .hits = ev->end.hits};
	return process_tell_exit(t, &s, ev->seq, e);
}

static enum err process_tell_gap(void *ctx, uint64_t from, uint64_t to,
				 struct errinfo *e)
{
	return exec_tell_gap(ctx, from, to, e);
}

static enum err process_tell_idle(void *ctx, struct errinfo *e)
{
	struct exec_tell *t = ctx;

	return sse_beat(&t->sse, e);
}

static enum err process_tell_begin(struct exec_tell *t,
				   const struct node_process *p,
				   const struct exec_status *s,
				   struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(1U * MIB);

	json_out_object(&o, NULL);
	json_out_text(&o, "type", "process_info");
	json_out_text(&o, "processId", p->id);
	json_out_text(&o, "command", p->command != NULL ? p->command : "");
	json_out_text(&o, "status", s->status);
	json_out_int(&o, "pid", p->pid);
	json_out_now(&o);
	json_out_end(&o);
	return sse_send(&t->sse, 0, &o, e);
}

enum err process_stream(struct request *rq, struct errinfo *e)
{
	OWN(node_process_free) struct node_process p = {0};
	struct exec_status s;
	struct exec_tell t = {0};
	struct follow f = {.rq = rq,
			   .live = true,
			   .event = process_tell_event,
			   .gap = process_tell_gap,
			   .idle = process_tell_idle,
			   .ctx = &t};
	enum err r = sse_after(rq, &f.after, e);

	err_http_operation(rq, "process.stream");
	if (r == ERR_NONE)
		r = process_now(rq, &p, &s, e);
	if (r == ERR_NONE)
		r = exec_tell_encoding(rq, &t, e);
	if (r == ERR_NONE)
		r = sse_begin(&t.sse, rq, e);
	if (r != ERR_NONE)
		return r;
	t.process_id = p.id;
	f.id = p.exec;
	r = process_tell_begin(&t, &p, &s, e);
	if (r == ERR_NONE)
		r = follow_run(&f, e);
	if (r == ERR_NONE && f.how == FOLLOW_GONE) {
		if (!s.ended)
			s = (struct exec_status){.reason = END_SANDBOX_GONE};
		r = process_tell_exit(&t, &s, 0, e);
	}
	return link_client_gone(e) ? ERR_NONE : r;
}

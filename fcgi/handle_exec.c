/* Commands: run and wait, or run and tell. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/exec_body.h"
#include "fcgi/exec_hits.h"
#include "fcgi/exec_tell.h"
#include "fcgi/handle_process.h"
#include "fcgi/pool.h"
#include "fcgi/sandbox_link.h"
#include "store/node_execution.h"

#define ANSWER_MAX (256U * MIB)
#define EXEC_RING_BYTES (4U * MIB)
#define WAIT_MS 1000

struct exec {
	struct request *rq;
	struct exec_body *body;
	struct link link;
	id_text_t id;
	struct buf out[2]; /* stdout, stderr */
	size_t room;       /* in the answer, for both */
	bool over;         /* what there was no room for is counted */
	bool cut;
	struct keeper_end end;
};

static void exec_close(struct exec *x)
{
	link_close(&x->link);
	buf_free(&x->out[0]);
	buf_free(&x->out[1]);
}

/* Make the row, then the program; without it, no row. */
static enum err exec_start(struct exec *x, struct errinfo *e)
{
	struct request *rq = x->rq;
	struct keeper_start s = {.id = x->id,
				 .kind = EXEC_CALL,
				 .flags = KF_ATTACH,
				 .ring_bytes = EXEC_RING_BYTES};
	struct node_execution_new row = {.id = x->id,
					 .kind = EXEC_CALL,
					 .command = x->body->command,
					 .cwd = x->body->launch.cwd};
	struct errinfo ignored;
	enum err r = link_open(rq, LINK_CREATE, &x->link, e);

	if (r == ERR_NONE)
		r = exec_body_launch(rq, x->body, &s, e);
	if (r != ERR_NONE)
		return r;
	if (!x->body->keep)
		s.flags |= KF_KILL_ON_CLOSE;
	id_stamped("exec", x->id);
	x->room = (size_t)rq->sandbox.limits.of[LIMIT_OUTPUT];
	row.sandbox = rq->sandbox.id;
	r = node_execution_add(rq->store, &row, e);
	if (r != ERR_NONE)
		return r;
	r = link_start(&x->link, &s, NULL, 0, NULL, e);
	if (r == ERR_NONE)
		return ERR_NONE;
	if (node_execution_remove(rq->store, rq->sandbox.id, x->id, &ignored) !=
	    ERR_NONE)
		log_err("forget an execution that did not start", &ignored);
	return launch_refused(rq, &x->body->launch, r, e);
}

static void exec_keep(struct exec *x, const struct keeper_event *ev)
{
	struct buf *b = &x->out[ev->kind == EVENT_ERR];
	size_t n = ev->len < x->room ? ev->len : x->room;

	if (n < ev->len)
		x->over = true;
	x->room -= n;
	b->max_bytes += n;
	buf_add(b, ev->data, n);
}

/* Until its end; all output is read, what fits is kept. */
static enum err exec_gather(struct exec *x, struct errinfo *e)
{
	for (;;) {
		struct link_event le;
		enum err r = link_next(&x->link, clock_mono_ms() + WAIT_MS, &le,
				       e);

		if (r != ERR_NONE)
			return r;
		if (le.got == LINK_GAP)
			x->cut = true;
		if (le.got != LINK_EVENT)
			continue;
		if (le.ev.kind == EVENT_END) {
			x->end = le.ev.end;
			return ERR_NONE;
		}
		exec_keep(x, &le.ev);
	}
}

static void exec_text(struct exec *x, struct json_out *o, const char *key,
		      const struct buf *b)
{
	if (x->body->base64)
		json_out_base64(o, key, buf_str(b), b->len);
	else
		json_out_textn(o, key, buf_str(b), b->len);
}

static enum err exec_answer(struct exec *x, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(ANSWER_MAX);
	struct keeper_end *end = &x->end;
	bool timed_out = end->reason == END_TIMED_OUT;
	int code = exec_exit_code(end->reason, end->exit_code);

	if (timed_out) {
		char text[64];

		exec_tell_timed_out(x->body->timeout_ms, text, sizeof(text));
		x->out[1].max_bytes += sizeof(text);
		buf_adds(&x->out[1], text);
	}
	if (!buf_ok(&x->out[0]) || !buf_ok(&x->out[1]))
		return err_set(e, ERR_NOMEM, 0, "output");
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", code == 0);
	json_out_int(&o, "exitCode", code);
	exec_text(x, &o, "stdout", &x->out[0]);
	exec_text(x, &o, "stderr", &x->out[1]);
	json_out_text(&o, "command", x->body->command);
	json_out_int(&o, "duration", end->duration_ms);
	json_out_int(&o, "durationMs", end->duration_ms);
	json_out_now(&o);
	if (x->body->session != NULL)
		json_out_text(&o, "sessionId", x->body->session);
	json_out_text(&o, "reason", end_reason_name(end->reason));
	if (x->body->base64)
		json_out_text(&o, "encoding", "base64");
	if (x->cut || x->over || end->dropped_bytes > 0)
		json_out_bool(&o, "truncated", true);
	json_out_int(&o, "stdoutBytes", (int64_t)end->stdout_bytes);
	json_out_int(&o, "stderrBytes", (int64_t)end->stderr_bytes);
	if (x->over)
		exec_hits_output(x->rq, end->stdout_bytes + end->stderr_bytes,
				 &end->hits);
	exec_hits_put(&o, &end->hits);
	json_out_text(&o, "executionId", x->id);
	json_out_end(&o);
	return answer_json(x->rq, 200, &o, e);
}

/* The keeper ended while the program ran. */
static enum err exec_lost(struct exec *x, struct errinfo *e)
{
	err_http_text(x->rq, "command", x->body->command);
	err_http_text(x->rq, "reason", end_reason_name(END_SANDBOX_GONE));
	return err_http_fail(x->rq, e, HTTP_SANDBOX_GONE,
			     "The sandbox ended while the command ran");
}

enum err exec_run(struct request *rq, struct errinfo *e)
{
	OWN(exec_body_free) struct exec_body body = EXEC_BODY_INIT;
	OWN(exec_close)
	struct exec x = {.rq = rq,
			 .body = &body,
			 .link = LINK_INIT,
			 .out = {BUF_INIT(0), BUF_INIT(0)}};
	enum err r;

	err_http_operation(rq, "command.execute");
	r = exec_body_read(rq, false, &body, e);
	if (r == ERR_NONE && body.background)
		return process_start_with(rq, &body, e);
	if (r == ERR_NONE)
		r = pool_long(rq, e);
	if (r == ERR_NONE)
		r = exec_start(&x, e);
	if (r != ERR_NONE)
		return r;
	route_park(rq);
	r = exec_gather(&x, e);
	if (r == ERR_PEER)
		return exec_lost(&x, e);
	if (r != ERR_NONE)
		return r;
	return exec_answer(&x, e);
}

/* ---- as events ---- */

static enum err exec_tell_begin(struct exec *x, struct exec_tell *t,
				struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(ANSWER_MAX);
	enum err r = sse_begin(&t->sse, x->rq, e);

	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_text(&o, "type", "start");
	json_out_text(&o, "command", x->body->command);
	json_out_now(&o);
	json_out_text(&o, "executionId", x->id);
	if (x->body->session != NULL)
		json_out_text(&o, "sessionId", x->body->session);
	json_out_end(&o);
	return sse_send(&t->sse, 0, &o, e);
}

static enum err exec_tell_end(struct exec *x, struct exec_tell *t,
			      const struct keeper_event *ev, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	const struct keeper_end *end = &ev->end;
	enum err r = exec_tell_rest(t, e);

	if (r == ERR_NONE && end->reason == END_TIMED_OUT) {
		char text[64];

		exec_tell_timed_out(x->body->timeout_ms, text, sizeof(text));
		r = exec_tell_text(t, EVENT_ERR, text, e);
	}
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_text(&o, "type", "complete");
	json_out_int(&o, "exitCode",
		     exec_exit_code(end->reason, end->exit_code));
	json_out_text(&o, "reason", end_reason_name(end->reason));
	json_out_int(&o, "durationMs", end->duration_ms);
	json_out_int(&o, "stdoutBytes", (int64_t)end->stdout_bytes);
	json_out_int(&o, "stderrBytes", (int64_t)end->stderr_bytes);
	if (x->cut || end->dropped_bytes > 0)
		json_out_bool(&o, "truncated", true);
	exec_hits_put(&o, &end->hits);
	json_out_time(&o, "timestamp", ev->unix_ms);
	json_out_end(&o);
	return sse_send(&t->sse, ev->seq, &o, e);
}

/* Also the terminal event of a stream whose sandbox ended. */
static enum err exec_tell_lost(struct exec_tell *t, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	enum err r = exec_tell_rest(t, e);

	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_text(&o, "type", "error");
	json_out_text(&o, "error", "The sandbox ended while the command ran");
	json_out_text(&o, "reason", end_reason_name(END_SANDBOX_GONE));
	json_out_now(&o);
	json_out_end(&o);
	return sse_send(&t->sse, 0, &o, e);
}

static enum err exec_tell_all(struct exec *x, struct exec_tell *t,
			      struct errinfo *e)
{
	for (;;) {
		struct link_event le;
		enum err r = link_next(&x->link, t->sse.beat_at_ms, &le, e);

		if (r == ERR_PEER)
			return exec_tell_lost(t, e);
		if (r != ERR_NONE)
			return r;
		if (le.got == LINK_EVENT && le.ev.kind == EVENT_END)
			return exec_tell_end(x, t, &le.ev, e);
		if (le.got == LINK_EVENT)
			r = exec_tell_chunk(t, &le.ev, e);
		else if (le.got == LINK_TICK)
			r = sse_beat(&t->sse, e);
		else if (le.got == LINK_GAP)
			x->cut = true;
		if (r != ERR_NONE)
			return r;
	}
}

enum err exec_stream(struct request *rq, struct errinfo *e)
{
	OWN(exec_body_free) struct exec_body body = EXEC_BODY_INIT;
	OWN(exec_close)
	struct exec x = {.rq = rq, .body = &body, .link = LINK_INIT};
	struct exec_tell t = {0};
	enum err r;

	err_http_operation(rq, "command.stream");
	r = exec_body_read(rq, true, &body, e);
	if (r == ERR_NONE)
		r = pool_long(rq, e);
	if (r == ERR_NONE)
		r = exec_start(&x, e);
	if (r != ERR_NONE)
		return r;
	route_park(rq);
	t.base64 = body.base64;
	r = exec_tell_begin(&x, &t, e);
	if (r == ERR_NONE)
		r = exec_tell_all(&x, &t, e);
	return link_client_gone(e) ? ERR_NONE : r;
}

/* Commands: run and wait, or run and tell. */
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/exec_call.h"
#include "fcgi/exec_hits.h"
#include "fcgi/exec_tell.h"
#include "fcgi/handle_process.h"
#include "fcgi/json_part.h"
#include "fcgi/pool.h"
#include "fcgi/session.h"
#include "fcgi/share.h"

#define ANSWER_MAX (256U * MIB)

struct exec_output {
	struct request *rq;
	struct json_part text[2]; /* stdout, stderr */
	size_t room;              /* in the answer, for both */
	bool over;                /* what there was no room for is counted */
};

static void exec_output_free(struct exec_output *o)
{
	json_part_free(&o->text[0]);
	json_part_free(&o->text[1]);
}

/* All output is read, what fits is kept. */
static enum err exec_keep(void *ctx, const struct keeper_event *ev,
			  struct errinfo *e)
{
	struct exec_output *o = ctx;
	size_t n = ev->len < o->room ? ev->len : o->room;

	(void)e;
	if (n > 0 &&
	    !share_room(o->rq, 2 * o->rq->body_bytes + o->text[0].b.len +
				   o->text[1].b.len + 2 * n))
		n = o->room = 0;
	if (n < ev->len)
		o->over = true;
	o->room -= n;
	json_part_add(&o->text[ev->kind == EVENT_ERR], ev->data, n);
	return ERR_NONE;
}

/* What answers and terminal events have in common. */
static void exec_end_put(const struct exec_call *x, bool over,
			 struct json_out *o)
{
	const struct keeper_end *end = &x->end;

	json_out_text(o, "reason", end_reason_name(end->reason));
	json_out_int(o, "durationMs", end->duration_ms);
	json_out_int(o, "stdoutBytes", (int64_t)end->stdout_bytes);
	json_out_int(o, "stderrBytes", (int64_t)end->stderr_bytes);
	if (x->cut || over || end->reason == END_OUTPUT_LIMIT)
		json_out_bool(o, "truncated", true);
	exec_hits_put(o, &end->hits);
}

/* The terminal words of a program that ran out of time. */
static void exec_timed_out(struct exec_call *x, struct exec_output *out)
{
	char text[64];

	if (x->end.reason != END_TIMED_OUT)
		return;
	exec_tell_timed_out(x->body->timeout_ms, text, sizeof(text));
	json_part_add(&out->text[1], text, strlen(text));
}

static enum err exec_answer(struct exec_call *x, struct exec_output *out,
			    struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(ANSWER_MAX);
	struct answer_part parts[2] = {{.b = &out->text[0].b},
				       {.b = &out->text[1].b}};
	struct keeper_end *end = &x->end;
	int code = exec_exit_code(end->reason, end->exit_code);

	exec_timed_out(x, out);
	json_part_end(&out->text[0]);
	json_part_end(&out->text[1]);
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", code == 0);
	json_out_int(&o, "exitCode", code);
	parts[0].at = json_out_empty(&o, "stdout");
	parts[1].at = json_out_empty(&o, "stderr");
	json_out_text(&o, "command", x->body->command);
	json_out_int(&o, "duration", end->duration_ms);
	json_out_now(&o);
	if (x->body->session_id[0] != '\0')
		json_out_text(&o, "sessionId", x->body->session_id);
	if (x->body->base64)
		json_out_text(&o, "encoding", "base64");
	/* The keeper has told of one that it ended for that. */
	if (out->over && end->reason != END_OUTPUT_LIMIT)
		exec_hits_output(x->rq, end->stdout_bytes + end->stderr_bytes,
				 &end->hits);
	exec_end_put(x, out->over, &o);
	json_out_text(&o, "executionId", x->id);
	json_out_end(&o);
	return answer_json_parts(x->rq, 200, &o, parts, 2, e);
}

/* The keeper ended while the program ran. */
static enum err exec_lost(struct exec_call *x, struct errinfo *e)
{
	err_http_text(x->rq, "command", x->body->command);
	err_http_text(x->rq, "reason", end_reason_name(END_SANDBOX_GONE));
	return err_http_fail(x->rq, e, HTTP_SANDBOX_GONE,
			     "The sandbox ended while the command ran");
}

/* As clients of 0.12 are told two endings in a session. */
static enum err exec_compat(struct exec_call *x, struct errinfo *e)
{
	const struct keeper_end *end = &x->end;
	struct request *rq = x->rq;

	if (!session_compat(rq) || x->body->session_id[0] == '\0')
		return ERR_NONE;
	if (end->reason == END_TIMED_OUT) {
		err_http_text(rq, "command", x->body->command);
		return err_http_fail(rq, e, HTTP_COMMAND_EXECUTION_ERROR,
				     "Command timeout after %lldms",
				     (long long)x->body->timeout_ms);
	}
	if (!end->shell_ended)
		return ERR_NONE;
	err_http_text(rq, "sessionId", x->body->session_id);
	json_out_int(err_http_context(rq), "exitCode", end->exit_code);
	return err_http_fail(rq, e, HTTP_SESSION_TERMINATED,
			     "Session %s: shell exited before the command "
			     "ended (exit code: %d)",
			     x->body->session_id, end->exit_code);
}

static enum err exec_await(struct exec_call *x, struct errinfo *e)
{
	OWN(exec_output_free)
	struct exec_output out = {
	    .rq = x->rq,
	    .room = (size_t)x->rq->sandbox.limits.of[LIMIT_OUTPUT],
	    .text = {JSON_PART_INIT(ANSWER_MAX, x->body->base64),
		     JSON_PART_INIT(ANSWER_MAX, x->body->base64)}};
	const struct exec_ear ear = {.chunk = exec_keep, .ctx = &out};
	enum err r = exec_call_hear(x, &ear, e);

	if (r == ERR_NONE && x->lost)
		return exec_lost(x, e);
	if (r == ERR_NONE)
		r = exec_compat(x, e);
	return r == ERR_NONE ? exec_answer(x, &out, e) : r;
}

enum err exec_run(struct request *rq, struct errinfo *e)
{
	OWN(exec_body_free) struct exec_body body = EXEC_BODY_INIT;
	OWN(exec_call_close) struct exec_call x = EXEC_CALL_INIT;
	enum err r;

	err_http_operation(rq, "command.execute");
	r = exec_body_read(rq, false, &body, e);
	if (r == ERR_NONE && body.background)
		return process_start_with(rq, &body, e);
	x.rq = rq;
	x.body = &body;
	if (r == ERR_NONE)
		r = pool_long(rq, e);
	if (r == ERR_NONE)
		r = exec_call_begin(&x, e);
	return r == ERR_NONE ? exec_await(&x, e) : r;
}

/* ---- as events ---- */

static enum err exec_tell_begin(struct exec_call *x, struct exec_tell *t,
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
	if (x->body->session_id[0] != '\0')
		json_out_text(&o, "sessionId", x->body->session_id);
	json_out_end(&o);
	return sse_send(&t->sse, 0, &o, e);
}

static enum err exec_tell_end(struct exec_call *x, struct exec_tell *t,
			      struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	const struct keeper_end *end = &x->end;
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
	exec_end_put(x, false, &o);
	json_out_time(&o, "timestamp", x->ended_ms);
	json_out_end(&o);
	return sse_send(&t->sse, x->end_seq, &o, e);
}

/* The terminal event of a stream whose sandbox ended. */
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

static enum err exec_tell_out(void *ctx, const struct keeper_event *ev,
			      struct errinfo *e)
{
	return exec_tell_chunk(ctx, ev, e);
}

static enum err exec_tell_dropped(void *ctx, uint64_t from, uint64_t to,
				  struct errinfo *e)
{
	return exec_tell_gap(ctx, from, to, e);
}

static enum err exec_tell_idle(void *ctx, struct errinfo *e)
{
	struct exec_tell *t = ctx;

	return sse_beat(&t->sse, e);
}

enum err exec_stream(struct request *rq, struct errinfo *e)
{
	OWN(exec_body_free) struct exec_body body = EXEC_BODY_INIT;
	OWN(exec_call_close) struct exec_call x = EXEC_CALL_INIT;
	struct exec_tell t = {0};
	const struct exec_ear ear = {.chunk = exec_tell_out,
				     .gap = exec_tell_dropped,
				     .idle = exec_tell_idle,
				     .ctx = &t};
	enum err r;

	err_http_operation(rq, "command.stream");
	x.rq = rq;
	x.body = &body;
	r = exec_body_read(rq, true, &body, e);
	if (r == ERR_NONE)
		r = sse_after(rq, &x.after, e);
	if (r == ERR_NONE)
		r = pool_long(rq, e);
	if (r == ERR_NONE)
		r = exec_call_begin(&x, e);
	if (r != ERR_NONE)
		return r;
	t.base64 = body.base64;
	r = exec_tell_begin(&x, &t, e);
	if (r == ERR_NONE)
		r = exec_call_hear(&x, &ear, e);
	if (r == ERR_NONE)
		r = x.lost ? exec_tell_lost(&t, e) : exec_tell_end(&x, &t, e);
	return link_client_gone(e) ? ERR_NONE : r;
}

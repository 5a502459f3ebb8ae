#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/code_run.h"
#include "fcgi/exec_hits.h"
#include "fcgi/follow.h"
#include "fcgi/pool.h"
#include "fcgi/share.h"

#define RUN_EVENT_MAX (256U * MIB)

enum run_stream { RUN_STDOUT, RUN_STDERR };

static const char *const run_stream_names[] = {"stdout", "stderr"};

void code_run_init(struct code_run *run, struct request *rq, const char *id,
		   bool live)
{
	*run = (struct code_run){
	    .rq = rq,
	    .id = id,
	    .live = live,
	    .execution_count = -1,
	    .text = {BUF_INIT(0), BUF_INIT(0)},
	    .room = (size_t)rq->sandbox.limits.of[LIMIT_OUTPUT],
	};
	json_out_init(&run->results, CODE_RUN_RESULTS_MAX);
	json_out_init(&run->error, RUN_EVENT_MAX);
	json_out_array(&run->results, NULL);
}

void code_run_free(struct code_run *run)
{
	buf_free(&run->text[RUN_STDOUT]);
	buf_free(&run->text[RUN_STDERR]);
	json_out_free(&run->results);
	json_out_free(&run->error);
}

/* ---- output ---- */

static enum err run_send_text(struct code_run *run, enum run_stream stream,
			      const struct buf *text,
			      const struct keeper_event *ev, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;

	json_out_init(&o, RUN_EVENT_MAX);
	json_out_object(&o, NULL);
	json_out_text(&o, "type", run_stream_names[stream]);
	json_out_textn(&o, "text", buf_str(text), text->len);
	json_out_time(&o, "timestamp", ev->unix_ms);
	json_out_end(&o);
	return sse_send(&run->sse, run->over ? 0 : ev->seq, &o, e);
}

/* What stays in memory until the run's end. */
static size_t run_held(const struct code_run *run)
{
	return 2 * run->rq->body_bytes + run->text[0].len + run->text[1].len +
	       run->results.b.len;
}

/* Keep what fits, and nothing after what did not. */
static void run_keep_text(struct code_run *run, enum run_stream stream,
			  const struct buf *text)
{
	struct buf *to = &run->text[stream];

	if (text->len > run->room ||
	    !share_room(run->rq, run_held(run) + text->len)) {
		run->room = 0;
		run->full = true;
		return;
	}
	run->room -= text->len;
	to->max_bytes += text->len;
	buf_add(to, buf_str(text), text->len);
}

/* ${data} NULL: the stream ended. */
static enum err run_text(struct code_run *run, enum run_stream stream,
			 const char *data, size_t n,
			 const struct keeper_event *ev, struct errinfo *e)
{
	OWN(buf_free) struct buf text = BUF_INIT(3 * n + 16);

	if (data != NULL)
		utf8_decode(&run->part[stream], data, n, &text);
	else
		utf8_end(&run->part[stream], &text);
	if (!buf_ok(&text))
		return err_set(e, ERR_NOMEM, 0, "output");
	if (text.len == 0)
		return ERR_NONE;
	if (run->live)
		return run_send_text(run, stream, &text, ev, e);
	run_keep_text(run, stream, &text);
	return ERR_NONE;
}

/* ---- results and errors ---- */

static enum err run_send_error(struct code_run *run, uint64_t seq,
			       const struct code_result *got, const char *name,
			       const char *message, struct errinfo *e)
{
	struct json_out *o = &run->error;

	json_out_free(o);
	json_out_init(o, RUN_EVENT_MAX);
	json_out_object(o, NULL);
	if (run->live)
		json_out_text(o, "type", "error");
	if (got != NULL) {
		code_result_put_error(got, run->live ? "ename" : "name",
				      run->live ? "evalue" : "message", o);
	} else {
		json_out_text(o, run->live ? "ename" : "name", name);
		json_out_text(o, run->live ? "evalue" : "message", message);
		json_out_array(o, "traceback");
		json_out_end(o);
	}
	json_out_end(o);
	run->failed = true;
	return run->live ? sse_send(&run->sse, seq, o, e) : ERR_NONE;
}

static enum err run_error(struct code_run *run, uint64_t seq, const char *name,
			  const char *message, struct errinfo *e)
{
	return run_send_error(run, seq, NULL, name, message, e);
}

static enum err run_send_result(struct code_run *run, uint64_t seq,
				const struct code_result *got,
				struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;

	json_out_init(&o, RUN_EVENT_MAX);
	json_out_object(&o, NULL);
	json_out_text(&o, "type", "result");
	code_result_put(got, &o);
	json_out_end(&o);
	if (!json_out_ok(&o))
		return run_error(run, seq, "ResultTooLarge",
				 "A result is too large to be sent", e);
	return sse_send(&run->sse, seq, &o, e);
}

/* A result that does not fit any more leaves the ones before it whole. */
static void run_keep_result(struct code_run *run, const struct code_result *got)
{
	struct json_out before = run->results;
	size_t len = before.b.len;

	json_out_object(&run->results, NULL);
	code_result_put(got, &run->results);
	json_out_end(&run->results);
	if (buf_ok(&run->results.b))
		return;
	before.b = run->results.b;
	before.b.failed = false;
	before.b.len = len;
	run->results = before;
	run->truncated = true;
}

/* RESULT, ERROR and DONE are the kernel's words: tenant code. */
static enum err run_words(struct code_run *run, const struct keeper_event *ev,
			  struct errinfo *e)
{
	OWN(code_result_free) struct code_result got = {0};
	enum err r = code_result_read(&got, ev->kind, ev->data, ev->len, e);

	if (r == ERR_PEER)
		return run_error(run, ev->seq, "MalformedResult", e->text, e);
	if (r != ERR_NONE)
		return run_error(run, ev->seq, "ResultTooLarge",
				 "No memory for a result", e);
	if (ev->kind == EVENT_DONE)
		run->execution_count = got.execution_count;
	else if (ev->kind == EVENT_ERROR)
		return run_send_error(run, ev->seq, &got, NULL, NULL, e);
	else if (run->live)
		return run_send_result(run, ev->seq, &got, e);
	else
		run_keep_result(run, &got);
	return ERR_NONE;
}

static enum err run_kernel(struct code_run *run, const struct keeper_event *ev,
			   struct errinfo *e)
{
	/* As it came, as what it means, and as it goes. */
	enum err r = share_wait(run->rq, run_held(run) + 3 * ev->len, e);

	if (r == ERR_GONE)
		return r;
	if (r != ERR_NONE)
		return run_error(run, ev->seq, "ResultTooLarge",
				 "No memory for a result just now", e);
	r = run_words(run, ev, e);
	share_back(run->rq, run_held(run));
	return r;
}

/* ---- the end ---- */

static void run_put_end(struct code_run *run, const struct keeper_end *end,
			struct json_out *o)
{
	struct keeper_hits hits = end->hits;

	if (run->full)
		exec_hits_output(run->rq, end->stdout_bytes + end->stderr_bytes,
				 &hits);
	json_out_text(o, "reason", end_reason_name(end->reason));
	json_out_text(o, "state", end->kernel_lost ? "lost" : "kept");
	json_out_text(o, "executionId", run->id);
	json_out_int(o, "durationMs", end->duration_ms);
	json_out_int(o, "stdoutBytes",
		     (int64_t)(end->stdout_bytes & INT64_MAX));
	json_out_int(o, "stderrBytes",
		     (int64_t)(end->stderr_bytes & INT64_MAX));
	if (run->truncated || run->full)
		json_out_bool(o, "truncated", true);
	exec_hits_put(o, &hits);
}

static enum err run_complete(struct code_run *run, uint64_t seq,
			     const struct keeper_end *end, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;

	json_out_init(&o, RUN_EVENT_MAX);
	json_out_object(&o, NULL);
	json_out_text(&o, "type", "execution_complete");
	if (run->execution_count >= 0)
		json_out_int(&o, "execution_count", run->execution_count);
	run_put_end(run, end, &o);
	json_out_now(&o);
	json_out_end(&o);
	return sse_send(&run->sse, seq, &o, e);
}

static void run_put_log(const struct code_run *run, enum run_stream stream,
			struct json_out *o)
{
	const struct buf *text = &run->text[stream];

	json_out_array(o, run_stream_names[stream]);
	if (text->len > 0)
		json_out_textn(o, NULL, buf_str(text), text->len);
	json_out_end(o);
}

static enum err run_answer(struct code_run *run, const struct keeper_end *end,
			   struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;

	json_out_init(&o, RUN_EVENT_MAX);
	json_out_end(&run->results);
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", !run->failed);
	json_out_object(&o, "logs");
	run_put_log(run, RUN_STDOUT, &o);
	run_put_log(run, RUN_STDERR, &o);
	json_out_end(&o);
	json_out_raw(&o, "results", buf_str(&run->results.b));
	if (run->failed)
		json_out_raw(&o, "error", buf_str(&run->error.b));
	if (run->execution_count >= 0)
		json_out_int(&o, "executionCount", run->execution_count);
	run_put_end(run, end, &o);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(run->rq, 200, &o, e);
}

/* Why a kernel died, or a run did not come to its end, for people. */
static const char *run_why(const struct keeper_end *end)
{
	switch (end->reason) {
	case END_OUT_OF_MEMORY:
		return "the sandbox was out of memory";
	case END_TIMED_OUT:
		return "the run's time was over";
	case END_KILLED:
		return "it was killed";
	case END_INTERRUPTED:
		return "it was interrupted";
	case END_OUTPUT_LIMIT:
		return "its output reached the limit";
	case END_DISK_LIMIT:
		return "the disk reached its limit";
	case END_SANDBOX_GONE:
		return "the sandbox ended";
	case END_SIGNALLED:
		return "a signal ended it";
	case END_EXITED:
	case END_NONE:
		return "it exited by itself";
	}
	return "it ended";
}

/*
 * As all that is said only because the end came, it has no number: whoever
 * breaks off here is told it again, and then the end, which has one.
 */
static enum err run_end_error(struct code_run *run,
			      const struct keeper_end *end, struct errinfo *e)
{
	char text[192];

	if (end->kernel_lost) {
		char code[32] = "";

		if (end->reason != END_SANDBOX_GONE)
			snprintf(code, sizeof(code), " (exit code %d)",
				 (int)end->exit_code);
		snprintf(text, sizeof(text),
			 "The kernel died: %s%s. Its variables are lost; "
			 "the next run starts a fresh one.",
			 run_why(end), code);
		return run_error(run, 0, "KernelDied", text, e);
	}
	if (run->failed || end->reason == END_EXITED)
		return ERR_NONE;
	snprintf(text, sizeof(text), "The run did not come to its end: %s",
		 run_why(end));
	return run_error(run, 0, "Interrupted", text, e);
}

/* ${ev} is the END, or one made up for a sandbox that is gone. */
static enum err run_end(struct code_run *run, const struct keeper_event *ev,
			struct errinfo *e)
{
	enum err r;

	run->over = true;
	r = run_text(run, RUN_STDOUT, NULL, 0, ev, e);
	if (r == ERR_NONE)
		r = run_text(run, RUN_STDERR, NULL, 0, ev, e);
	if (r == ERR_NONE)
		r = run_end_error(run, &ev->end, e);
	if (r != ERR_NONE)
		return r;
	return run->live ? run_complete(run, ev->seq, &ev->end, e)
			 : run_answer(run, &ev->end, e);
}

static enum err run_gone(struct code_run *run, struct errinfo *e)
{
	struct keeper_event ev = {
	    .kind = EVENT_END,
	    .unix_ms = clock_unix_ms(),
	    .end = {.exit_code = -1,
		    .reason = END_SANDBOX_GONE,
		    .kernel_lost = true},
	};

	log_line(LOG_WARN, "%s: run %s: its sandbox ended", run->rq->id,
		 run->id);
	return run_end(run, &ev, e);
}

static enum err run_event(void *ctx, const struct keeper_event *ev,
			  struct errinfo *e)
{
	struct code_run *run = ctx;

	switch (ev->kind) {
	case EVENT_OUT:
		return run_text(run, RUN_STDOUT, ev->data, ev->len, ev, e);
	case EVENT_ERR:
		return run_text(run, RUN_STDERR, ev->data, ev->len, ev, e);
	case EVENT_RESULT:
	case EVENT_ERROR:
	case EVENT_DONE:
		return run_kernel(run, ev, e);
	case EVENT_END:
		return run_end(run, ev, e);
	}
	return ERR_NONE;
}

static enum err run_gap(void *ctx, uint64_t from, uint64_t to,
			struct errinfo *e)
{
	struct code_run *run = ctx;

	(void)from;
	(void)to;
	(void)e;
	run->truncated = true;
	return ERR_NONE;
}

static enum err run_idle(void *ctx, struct errinfo *e)
{
	struct code_run *run = ctx;

	return run->live ? sse_beat(&run->sse, e) : ERR_NONE;
}

/*
 * No END is to be had: the sandbox ended under it, it was told before, or it is
 * over for so long that it is not stored any more.
 */
static enum err run_late(struct code_run *run, struct errinfo *e)
{
	OWN(node_execution_free) struct node_execution row = {0};
	struct keeper_event ev = {.kind = EVENT_END};
	enum err r = follow_row(run->rq, run->id, &row, e);

	if (r != ERR_NONE && r != ERR_NOT_FOUND)
		return r;
	if (row.state != NODE_ENDED || row.end.reason == END_SANDBOX_GONE)
		return run_gone(run, e);
	run->truncated = run->after == 0;
	ev.unix_ms = row.end.ended_ms;
	ev.end = (struct keeper_end){
	    .exit_code = row.end.exit_code,
	    .reason = row.end.reason,
	    .kernel_lost = run->kernel_ms > row.started_ms,
	    .duration_ms = row.end.duration_ms,
	    .stdout_bytes = row.end.stdout_bytes,
	    .stderr_bytes = row.end.stderr_bytes,
	    .hits = row.end.hits,
	};
	return run_end(run, &ev, e);
}

enum err code_run_follow(struct code_run *run, struct link *l,
			 struct errinfo *e)
{
	struct follow f = {.rq = run->rq,
			   .id = run->id,
			   .after = run->after,
			   .live = true,
			   .event = run_event,
			   .gap = run_gap,
			   .idle = run_idle,
			   .ctx = run};
	enum err r;

	answer_header(run->rq, "X-Execution-Id", "%s", run->id);
	r = run->live ? sse_begin(&run->sse, run->rq, e)
		      : pool_long(run->rq, e);
	if (r != ERR_NONE && !run->rq->answering)
		return r;
	route_park(run->rq);
	if (r == ERR_NONE)
		r = l != NULL ? follow_link(&f, l, e) : follow_run(&f, e);
	if (r == ERR_NONE && !run->over)
		r = l != NULL ? run_gone(run, e) : run_late(run, e);
	return run->rq->broken ? ERR_NONE : r;
}

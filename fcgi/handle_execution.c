/* Executions as a noun: list, one, its events, kill. */
#include "base/clock.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/code_context.h"
#include "fcgi/exec_hits.h"
#include "fcgi/exec_status.h"
#include "fcgi/exec_tell.h"
#include "fcgi/exec_wait.h"
#include "fcgi/follow.h"
#include "fcgi/sandbox_link.h"
#include "store/log_chunk.h"
#include "store/node_execution.h"

#define LIST_MAX 1000
#define LIST_JSON_MAX (96U * MIB)

static const char *execution_kind(enum exec_kind kind)
{
	switch (kind) {
	case EXEC_CALL:
		return "exec";
	case EXEC_PROCESS:
		return "process";
	case EXEC_FS:
		return "file";
	case EXEC_GIT:
		return "git";
	case EXEC_KERNEL:
		return "kernel";
	case EXEC_RUN:
		return "code";
	}
	return "exec";
}

static enum err execution_put(struct request *rq, struct json_out *o,
			      const char *key, const struct node_execution *x,
			      const struct exec_live *live, struct errinfo *e)
{
	struct log_state log;
	struct exec_row row = {.id = x->id,
			       .state = x->state,
			       .started_ms = x->started_ms,
			       .end = &x->end};
	struct exec_status s;
	enum err r = log_chunk_state(rq->store, rq->sandbox.id, x->id, &log, e);

	if (r != ERR_NONE)
		return r;
	exec_status_of(live, &row, &s);
	json_out_object(o, key);
	json_out_text(o, "id", x->id);
	json_out_text(o, "kind", execution_kind(x->kind));
	json_out_text(o, "command", x->command != NULL ? x->command : "");
	if (x->cwd != NULL && x->cwd[0] != '\0')
		json_out_text(o, "cwd", x->cwd);
	if (x->context[0] != '\0')
		json_out_text(o, "contextId", x->context);
	json_out_time(o, "startTime", x->started_ms);
	exec_status_put(o, &s);
	if (x->state == NODE_ENDED) {
		json_out_int(o, "durationMs", x->end.duration_ms);
		json_out_int(o, "stdoutBytes", (int64_t)x->end.stdout_bytes);
		json_out_int(o, "stderrBytes", (int64_t)x->end.stderr_bytes);
	}
	/* Of what it printed, what its log has not any more. */
	json_out_int(o, "droppedBytes", (int64_t)log.dropped_bytes);
	json_out_end(o);
	return ERR_NONE;
}

enum err execution_list(struct request *rq, struct errinfo *e)
{
	OWN(node_execution_list_free) struct node_execution_list rows = {0};
	OWN(exec_live_free) struct exec_live live = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(LIST_JSON_MAX);
	int64_t limit = 100;
	enum err r = route_query_int(rq, "limit", 1, LIST_MAX, &limit, e);

	if (r == ERR_NONE)
		r = link_find(rq, e);
	if (r == ERR_NONE)
		r = exec_live_read(rq, &live, e);
	if (r == ERR_NONE)
		r = node_execution_list(rq->store, rq->sandbox.id,
					(uint32_t)limit, &rows, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_array(&o, "executions");
	for (size_t i = 0; i < rows.n && r == ERR_NONE; i++)
		r = execution_put(rq, &o, NULL, &rows.rows[i], &live, e);
	if (r != ERR_NONE)
		return r;
	json_out_end(&o);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

/* The row of {id}; 404 when this sandbox has none. */
static enum err execution_find(struct request *rq, struct node_execution *out,
			       struct errinfo *e)
{
	const char *id = route_param(rq, "id");
	enum err r = link_find(rq, e);

	if (r != ERR_NONE)
		return r;
	r = id_text_ok(id)
		? node_execution_get(rq->store, rq->sandbox.id, id, out, e)
		: err_set(e, ERR_NOT_FOUND, 0, "execution id");
	if (r != ERR_NOT_FOUND)
		return r;
	err_http_text(rq, "executionId", id);
	return err_http_fail(rq, e, HTTP_EXECUTION_NOT_FOUND,
			     "Execution %s not found", id);
}

enum err execution_get(struct request *rq, struct errinfo *e)
{
	OWN(node_execution_free) struct node_execution x = {0};
	OWN(exec_live_free) struct exec_live live = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(1U * MIB);
	enum err r = link_find(rq, e);

	if (r == ERR_NONE)
		r = exec_live_read(rq, &live, e);
	if (r == ERR_NONE)
		r = execution_find(rq, &x, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	r = execution_put(rq, &o, "execution", &x, &live, e);
	if (r != ERR_NONE)
		return r;
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

enum err execution_kill(struct request *rq, struct errinfo *e)
{
	OWN(node_execution_free) struct node_execution x = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	int64_t grace = EXEC_KILL_GRACE_MS;
	bool killed = false;
	enum err r = route_query_int(rq, "graceMs", 0, 600000, &grace, e);

	if (r == ERR_NONE)
		r = execution_find(rq, &x, e);
	if (r == ERR_NONE && x.state == NODE_RUNNING)
		r = exec_wait_kill(rq, x.id, (uint32_t)grace, &killed, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "executionId", x.id);
	json_out_bool(&o, "killed", killed);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

/* ---- events ---- */

/* Nothing of it has an exit code: what happened instead, or NULL. */
static const char *execution_error(const struct node_end *end)
{
	if (end->reason == END_SANDBOX_GONE)
		return "The sandbox ended while it ran";
	return end->exit_code < 0 ? "It was killed before it began" : NULL;
}

static enum err execution_end(struct exec_tell *t, const struct node_end *end,
			      uint64_t seq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	const char *error = execution_error(end);
	enum err r = exec_tell_rest(t, e);

	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_text(&o, "type", error != NULL ? "error" : "complete");
	if (error != NULL)
		json_out_text(&o, "error", error);
	else
		json_out_int(&o, "exitCode",
			     exec_exit_code(end->reason, end->exit_code));
	json_out_text(&o, "reason", end_reason_name(end->reason));
	if (error == NULL) {
		json_out_int(&o, "durationMs", end->duration_ms);
		json_out_int(&o, "stdoutBytes", (int64_t)end->stdout_bytes);
		json_out_int(&o, "stderrBytes", (int64_t)end->stderr_bytes);
	}
	exec_hits_put(&o, &end->hits);
	json_out_time(&o, "timestamp",
		      end->ended_ms > 0 ? end->ended_ms : clock_unix_ms());
	json_out_end(&o);
	return sse_send(&t->sse, seq, &o, e);
}

static enum err execution_event(void *ctx, const struct keeper_event *ev,
				struct errinfo *e)
{
	struct exec_tell *t = ctx;
	struct node_end end;

	switch (ev->kind) {
	case EVENT_OUT:
	case EVENT_ERR:
		return exec_tell_chunk(t, ev, e);
	case EVENT_RESULT:
	case EVENT_ERROR:
	case EVENT_DONE:
		return exec_tell_json(t, ev, e);
	case EVENT_END:
		end = (struct node_end){.exit_code = ev->end.exit_code,
					.reason = ev->end.reason,
					.ended_ms = ev->unix_ms,
					.duration_ms = ev->end.duration_ms,
					.stdout_bytes = ev->end.stdout_bytes,
					.stderr_bytes = ev->end.stderr_bytes,
					.hits = ev->end.hits};
		return execution_end(t, &end, ev->seq, e);
	}
	return ERR_NONE;
}

static enum err execution_gap(void *ctx, uint64_t from, uint64_t to,
			      struct errinfo *e)
{
	return exec_tell_gap(ctx, from, to, e);
}

static enum err execution_idle(void *ctx, struct errinfo *e)
{
	struct exec_tell *t = ctx;

	return sse_beat(&t->sse, e);
}

/*
 * What the row of ${id} says in the end. A call that was killed while it waited
 * for its turn has no end, and its sandbox is there.
 */
static enum err execution_late_end(struct request *rq, const char *id,
				   struct node_end *end, struct errinfo *e)
{
	OWN(node_execution_free) struct node_execution x = {0};
	enum err r = follow_row(rq, id, &x, e);

	if (r != ERR_NONE && r != ERR_NOT_FOUND)
		return r;
	if (r == ERR_NONE && x.state == NODE_ENDED)
		*end = x.end;
	else if (link_runs(rq, rq->sandbox.id))
		*end = (struct node_end){.reason = END_KILLED, .exit_code = -1};
	return ERR_NONE;
}

/*
 * ${end} NULL: what it was is not known if neither the keeper knows it nor,
 * after a while, the row.
 */
static enum err execution_follow(struct request *rq, const char *id,
				 const struct node_end *end, struct errinfo *e)
{
	struct node_end late = {.reason = END_SANDBOX_GONE};
	struct exec_tell t = {0};
	struct follow f = {.rq = rq,
			   .live = true,
			   .id = id,
			   .event = execution_event,
			   .gap = execution_gap,
			   .idle = execution_idle,
			   .ctx = &t};
	enum err r = sse_after(rq, &f.after, e);

	if (r == ERR_NONE)
		r = exec_tell_encoding(rq, &t, e);
	if (r == ERR_NONE)
		r = sse_begin(&t.sse, rq, e);
	if (r != ERR_NONE)
		return r;
	r = follow_run(&f, e);
	if (r == ERR_NONE && f.how == FOLLOW_GONE && end == NULL)
		r = execution_late_end(rq, id, &late, e);
	if (r == ERR_NONE && f.how == FOLLOW_GONE)
		r = execution_end(&t, end != NULL ? end : &late, 0, e);
	return link_client_gone(e) ? ERR_NONE : r;
}

enum err execution_events(struct request *rq, struct errinfo *e)
{
	OWN(node_execution_free) struct node_execution x = {0};
	enum err r = execution_find(rq, &x, e);

	if (r != ERR_NONE)
		return r;
	return execution_follow(rq, x.id, x.state == NODE_ENDED ? &x.end : NULL,
				e);
}

enum err context_log(struct request *rq, struct errinfo *e)
{
	OWN(node_context_free) struct node_context ctx = {0};
	enum err r = link_find(rq, e);

	if (r == ERR_NONE)
		r = code_context_get(rq, route_param(rq, "id"), &ctx, e);
	if (r != ERR_NONE)
		return r;
	return execution_follow(rq, ctx.kernel,
				ctx.state == NODE_ENDED ? &ctx.end : NULL, e);
}

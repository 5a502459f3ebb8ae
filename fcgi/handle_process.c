/* Background processes: start, list, one. */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/exec_hits.h"
#include "fcgi/exec_status.h"
#include "fcgi/handle_process.h"
#include "fcgi/retry.h"
#include "store/log_chunk.h"
#include "store/node_process.h"

#define PROCESS_RING_BYTES (1U * MIB)
#define LIST_JSON_MAX (96U * MIB)
/* How long the recorder may need for the end of a process. */
#define OLD_MAX_MS 2000
#define OLD_STEP_MS 10

static void process_status(const struct exec_live *live,
			   const struct node_process *p, struct exec_status *s)
{
	struct exec_row row = {.id = p->exec,
			       .state = p->state,
			       .started_ms = p->started_ms,
			       .end = &p->end};

	exec_status_of(live, &row, s);
}

/* ---- start ---- */

/* A start on its way: its rows, then the program. */
struct process_new {
	struct request *rq;
	struct exec_body *body;
	struct retry retry;
	struct link link;
	id_text_t id;
	id_text_t exec;
	id_text_t old; /* what ran under this id before; "" for nothing */
	uint32_t pid;
};

static void process_new_close(struct process_new *x)
{
	link_close(&x->link);
	retry_free(&x->retry);
}

static enum err process_taken(struct request *rq, const char *id,
			      struct errinfo *e)
{
	err_http_text(rq, "processId", id);
	return err_http_fail(rq, e, HTTP_PROCESS_ALREADY_EXISTS,
			     "There is a process %s already", id);
}

static enum err process_name(struct process_new *x, struct errinfo *e)
{
	/* They would be other routes. */
	static const char *const reserved[] = {"list", "start", "kill-all",
					       "completed"};
	const char *given = x->body->process_id;

	id_stamped("proc", x->exec);
	memcpy(x->id, x->exec, sizeof(x->id));
	if (given == NULL)
		return ERR_NONE;
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (strcmp(given, reserved[i]) == 0)
			return err_http_field(x->rq, e, "processId",
					      "is a reserved word");
	memcpy(x->id, given, strlen(given) + 1);
	return ERR_NONE;
}

static enum err process_add(struct process_new *x, struct errinfo *e)
{
	struct request *rq = x->rq;
	OWN(node_process_free) struct node_process p = {0};
	struct node_process_new row = {.sandbox = rq->sandbox.id,
				       .id = x->id,
				       .exec = x->exec,
				       .session = x->body->session_id,
				       .command = x->body->command,
				       .cwd = exec_body_cwd(x->body),
				       .auto_cleanup = x->body->auto_cleanup,
				       .terminal = x->body->terminal};
	enum err r = ERR_NONE;

	row.max = (uint32_t)rq->sandbox.limits.of[LIMIT_PROCESSES];
	memcpy(x->retry.row.made, x->id, sizeof(x->id));
	/* A terminal's id does as much. */
	if (x->body->terminal)
		x->retry.first = true;
	else
		r = retry_begin(rq, rq->sandbox.id, &x->retry, e);
	if (r == ERR_NONE && x->retry.first) {
		r = node_process_add(rq->store, &row, e);
		if (r == ERR_LIMIT)
			return exec_hits_refuse(rq, e, LIMIT_PROCESSES,
						"process_limit",
						"background processes");
		return r == ERR_EXISTS ? process_taken(rq, x->id, e) : r;
	}
	if (r != ERR_NONE || retry_answered(&x->retry))
		return r;
	memcpy(x->id, x->retry.row.made, sizeof(x->id));
	r = node_process_get(rq->store, rq->sandbox.id, x->id, &p, e);
	if (r == ERR_NONE)
		memcpy(x->exec, p.exec, sizeof(x->exec));
	return r;
}

/* Both rows or none: a worker may end at any moment. */
static enum err process_rows(struct process_new *x, struct errinfo *e)
{
	enum err r;

	if (x->body->terminal || !retry_asked(x->rq))
		return process_add(x, e);
	r = node_begin(x->rq->store, e);
	if (r != ERR_NONE)
		return r;
	r = process_add(x, e);
	if (r == ERR_NONE)
		return node_commit(x->rq->store, e);
	node_rollback(x->rq->store);
	return r;
}

/* Its record stays and says why. */
static void process_failed(struct process_new *x)
{
	struct request *rq = x->rq;
	struct errinfo e;

	err_http_text(rq, "processId", x->id);
	if (route_unpark(rq, &e) != ERR_NONE ||
	    node_process_fail(rq->store, rq->sandbox.id, x->id,
			      rq->failure.code != HTTP_CODE_NONE
				  ? rq->failure.message
				  : "It could not be started",
			      &e) != ERR_NONE)
		log_err("record a process that did not start", &e);
	retry_drop(rq, &x->retry);
}

/* Another call with the same key was quicker to start it. */
static enum err process_taken_up(struct process_new *x, struct errinfo *e)
{
	struct keeper_item item;
	enum err r = link_status(&x->link, x->exec, &item, e);

	if (r == ERR_NONE)
		x->pid = item.pid;
	return r;
}

/* Whether it has ended, but its row is not told so yet. */
static enum err process_ending(struct request *rq, const struct node_process *p,
			       bool *ending, struct errinfo *e)
{
	OWN(exec_live_free) struct exec_live live = {0};
	struct exec_status s;
	enum err r = exec_live_read(rq, &live, e);

	if (r != ERR_NONE)
		return r;
	process_status(&live, p, &s);
	*ending = s.ended;
	return ERR_NONE;
}

/* An id whose process ended is free again. */
static enum err process_old(struct process_new *x, struct errinfo *e)
{
	const struct timespec step = {.tv_nsec = OLD_STEP_MS * 1000000L};
	int64_t until = clock_mono_ms() + OLD_MAX_MS;
	struct request *rq = x->rq;
	bool ending = x->body->process_id != NULL;
	enum err r = ERR_NONE;

	while (r == ERR_NONE && ending && clock_mono_ms() < until) {
		OWN(node_process_free) struct node_process p = {0};

		r = node_process_get(rq->store, rq->sandbox.id, x->id, &p, e);
		if (r == ERR_NOT_FOUND)
			return ERR_NONE;
		if (r == ERR_NONE && p.state == NODE_ENDED) {
			memcpy(x->old, p.exec, sizeof(x->old));
			return ERR_NONE;
		}
		if (r == ERR_NONE)
			r = process_ending(rq, &p, &ending, e);
		if (r == ERR_NONE && ending)
			nanosleep(&step, NULL);
	}
	return r;
}

/* Nobody can ask any more for what that printed. */
static void process_old_forget(struct process_new *x)
{
	struct request *rq = x->rq;
	struct errinfo e;

	if (x->old[0] != '\0' && x->retry.first &&
	    log_chunk_remove(rq->store, rq->sandbox.id, x->old, &e) != ERR_NONE)
		log_err("forget the log of an ended process", &e);
}

static enum err process_launch(struct process_new *x, struct errinfo *e)
{
	struct request *rq = x->rq;
	struct keeper_start s = {.id = x->exec,
				 .kind = EXEC_PROCESS,
				 .ring_bytes = PROCESS_RING_BYTES};
	enum err r = link_open(rq, LINK_CREATE, &x->link, e);

	if (r == ERR_NONE)
		r = exec_body_launch(&x->link, x->body, &s, e);
	if (r == ERR_NONE)
		r = process_old(x, e);
	if (r == ERR_NONE)
		r = process_rows(x, e);
	if (r != ERR_NONE || retry_answered(&x->retry))
		return r;
	process_old_forget(x);
	r = exec_body_start(&x->link, x->body, &s, &x->pid, e);
	if (r == ERR_EXISTS && x->retry.key != NULL)
		r = process_taken_up(x, e);
	else if (r != ERR_NONE && !rq->broken)
		process_failed(x);
	if (r == ERR_NONE)
		r = route_unpark(rq, e);
	if (r == ERR_NONE)
		r = node_process_pid(rq->store, rq->sandbox.id, x->id, x->pid,
				     e);
	return r;
}

enum err process_begin(struct request *rq, struct exec_body *body,
		       struct process_begun *out, struct errinfo *e)
{
	OWN(process_new_close)
	struct process_new x = {
	    .rq = rq, .body = body, .link = LINK_INIT, .retry = RETRY_INIT};
	enum err r = process_name(&x, e);

	if (r == ERR_NONE)
		r = process_launch(&x, e);
	if (r != ERR_NONE)
		return r;
	memcpy(out->exec, x.exec, sizeof(out->exec));
	out->pid = x.pid;
	return ERR_NONE;
}

enum err process_start_with(struct request *rq, struct exec_body *body,
			    struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(16U * MIB);
	OWN(process_new_close)
	struct process_new x = {
	    .rq = rq, .body = body, .link = LINK_INIT, .retry = RETRY_INIT};
	enum err r;

	err_http_operation(rq, "process.start");
	r = process_name(&x, e);
	if (r == ERR_NONE)
		r = process_launch(&x, e);
	if (r != ERR_NONE)
		return r;
	if (retry_answered(&x.retry))
		return retry_replay(rq, &x.retry, e);
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "processId", x.id);
	json_out_int(&o, "pid", x.pid);
	json_out_text(&o, "command", body->command);
	json_out_now(&o);
	if (body->session_id[0] != '\0')
		json_out_text(&o, "sessionId", body->session_id);
	json_out_end(&o);
	retry_done(rq, &x.retry, &o);
	return answer_json(rq, 200, &o, e);
}

enum err process_start(struct request *rq, struct errinfo *e)
{
	OWN(exec_body_free) struct exec_body body = EXEC_BODY_INIT;
	enum err r = exec_body_read(rq, true, &body, e);

	return r == ERR_NONE ? process_start_with(rq, &body, e) : r;
}

/* ---- list and get ---- */

static enum err process_put(struct request *rq, struct json_out *o,
			    const char *key, const struct node_process *p,
			    const struct exec_status *s, struct errinfo *e)
{
	struct log_state log;
	enum err r = log_chunk_state(rq->store, rq->sandbox.id, p->exec, &log,
				     e);

	if (r != ERR_NONE)
		return r;
	json_out_object(o, key);
	json_out_text(o, "id", p->id);
	json_out_int(o, "pid", p->pid);
	json_out_text(o, "command", p->command != NULL ? p->command : "");
	json_out_time(o, "startTime", p->started_ms);
	if (p->session[0] != '\0')
		json_out_text(o, "sessionId", p->session);
	exec_status_put(o, s);
	if (p->failure[0] != '\0')
		json_out_text(o, "error", p->failure);
	/* Of what it printed, what its log has not any more. */
	json_out_int(o, "droppedBytes", (int64_t)log.dropped_bytes);
	json_out_end(o);
	return ERR_NONE;
}

/* It ended, and nobody is to see it any more. */
static bool process_cleaned(const struct node_process *p,
			    const struct exec_status *s)
{
	return s->ended && p->auto_cleanup && p->failure[0] == '\0';
}

static enum err process_filter(struct request *rq, char *out, size_t size,
			       struct errinfo *e)
{
	static const char *const words[] = {"starting", "running", "completed",
					    "failed",   "killed",  "error"};

	out[0] = '\0';
	if (!route_query(rq, "status", out, size))
		return ERR_NONE;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], out) == 0)
			return ERR_NONE;
	return err_http_field(rq, e, "status", "is not a process' status");
}

enum err process_list(struct request *rq, struct errinfo *e)
{
	OWN(node_process_list_free) struct node_process_list rows = {0};
	OWN(exec_live_free) struct exec_live live = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(LIST_JSON_MAX);
	char want[16];
	enum err r = process_filter(rq, want, sizeof(want), e);

	err_http_operation(rq, "process.list");
	if (r == ERR_NONE)
		r = link_find(rq, e);
	if (r == ERR_NONE)
		r = exec_live_read(rq, &live, e);
	if (r == ERR_NONE)
		r = node_process_list(rq->store, rq->sandbox.id, &rows, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_array(&o, "processes");
	for (size_t i = 0; i < rows.n && r == ERR_NONE; i++) {
		struct exec_status s;

		process_status(&live, &rows.rows[i], &s);
		if (process_cleaned(&rows.rows[i], &s))
			continue;
		if (want[0] == '\0' || strcmp(want, s.status) == 0)
			r = process_put(rq, &o, NULL, &rows.rows[i], &s, e);
	}
	if (r != ERR_NONE)
		return r;
	json_out_end(&o);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

static enum err process_unknown(struct request *rq, const char *id,
				struct errinfo *e)
{
	err_http_text(rq, "processId", id);
	return err_http_fail(rq, e, HTTP_PROCESS_NOT_FOUND,
			     "Process %s not found", id);
}

static enum err process_row(struct request *rq, const char *id,
			    struct node_process *out, struct errinfo *e)
{
	enum err r = link_find(rq, e);

	if (r != ERR_NONE)
		return r;
	r = id_text_ok(id)
		? node_process_get(rq->store, rq->sandbox.id, id, out, e)
		: err_set(e, ERR_NOT_FOUND, 0, "process id");
	return r == ERR_NOT_FOUND ? process_unknown(rq, id, e) : r;
}

enum err process_find(struct request *rq, struct node_process *out,
		      struct errinfo *e)
{
	return process_row(rq, route_param(rq, "id"), out, e);
}

enum err process_named(struct request *rq, const char *id,
		       struct node_process *out, struct exec_status *s,
		       struct errinfo *e)
{
	OWN(exec_live_free) struct exec_live live = {0};
	enum err r = link_find(rq, e);

	if (r == ERR_NONE)
		r = exec_live_read(rq, &live, e);
	if (r == ERR_NONE)
		r = process_row(rq, id, out, e);
	if (r != ERR_NONE)
		return r;
	process_status(&live, out, s);
	if (!process_cleaned(out, s))
		return ERR_NONE;
	node_process_free(out);
	return process_unknown(rq, id, e);
}

enum err process_now(struct request *rq, struct node_process *out,
		     struct exec_status *s, struct errinfo *e)
{
	return process_named(rq, route_param(rq, "id"), out, s, e);
}

enum err process_get(struct request *rq, struct errinfo *e)
{
	OWN(node_process_free) struct node_process p = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(1U * MIB);
	struct exec_status s;
	enum err r;

	err_http_operation(rq, "process.get");
	r = process_now(rq, &p, &s, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	r = process_put(rq, &o, "process", &p, &s, e);
	if (r != ERR_NONE)
		return r;
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

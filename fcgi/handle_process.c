/* Background processes: start, list, one, kill, kill-all. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/exec_hits.h"
#include "fcgi/exec_status.h"
#include "fcgi/exec_wait.h"
#include "fcgi/handle_process.h"
#include "store/node_process.h"

#define PROCESS_RING_BYTES (1U * MIB)
#define LIST_JSON_MAX (96U * MIB)

/* ---- start ---- */

static enum err process_taken(struct request *rq, const char *id,
			      struct errinfo *e)
{
	err_http_text(rq, "processId", id);
	return err_http_fail(rq, e, HTTP_PROCESS_ALREADY_EXISTS,
			     "There is a process %s already", id);
}

static enum err process_launch(struct request *rq, struct exec_body *x,
			       const char *id, uint32_t *pid, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	struct keeper_start s = {
	    .id = id, .kind = EXEC_PROCESS, .ring_bytes = PROCESS_RING_BYTES};
	struct node_process_new row = {.id = id,
				       .command = x->command,
				       .cwd = x->launch.cwd,
				       .auto_cleanup = x->auto_cleanup};
	struct errinfo ignored;
	enum err r = link_open(rq, LINK_CREATE, &l, e);

	if (r == ERR_NONE)
		r = exec_body_launch(rq, x, &s, e);
	if (r != ERR_NONE)
		return r;
	row.sandbox = rq->sandbox.id;
	row.max = (uint32_t)rq->sandbox.limits.of[LIMIT_PROCESSES];
	r = node_process_add(rq->store, &row, e);
	if (r == ERR_LIMIT)
		return exec_hits_refuse(rq, e, LIMIT_PROCESSES, "process_limit",
					"background processes");
	if (r == ERR_EXISTS)
		return process_taken(rq, id, e);
	if (r != ERR_NONE)
		return r;
	r = link_start(&l, &s, NULL, 0, pid, e);
	if (r == ERR_NONE)
		return node_process_pid(rq->store, rq->sandbox.id, id, *pid, e);
	if (node_process_remove(rq->store, rq->sandbox.id, id, &ignored) !=
	    ERR_NONE)
		log_err("forget a process that did not start", &ignored);
	return launch_refused(rq, &x->launch, r, e);
}

enum err process_start_with(struct request *rq, struct exec_body *x,
			    struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(16U * MIB);
	id_text_t id;
	uint32_t pid = 0;
	enum err r;

	err_http_operation(rq, "process.start");
	id_stamped("proc", id);
	if (x->process_id != NULL)
		memcpy(id, x->process_id, strlen(x->process_id) + 1);
	r = process_launch(rq, x, id, &pid, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "processId", id);
	json_out_int(&o, "pid", pid);
	json_out_text(&o, "command", x->command);
	json_out_now(&o);
	if (x->session != NULL)
		json_out_text(&o, "sessionId", x->session);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

enum err process_start(struct request *rq, struct errinfo *e)
{
	OWN(exec_body_free) struct exec_body body = EXEC_BODY_INIT;
	enum err r = exec_body_read(rq, true, &body, e);

	return r == ERR_NONE ? process_start_with(rq, &body, e) : r;
}

/* ---- list and get ---- */

static void process_put(struct json_out *o, const char *key,
			const struct node_process *p,
			const struct exec_status *s)
{
	json_out_object(o, key);
	json_out_text(o, "id", p->id);
	json_out_int(o, "pid", p->pid);
	json_out_text(o, "command", p->command != NULL ? p->command : "");
	json_out_time(o, "startTime", p->started_ms);
	exec_status_put(o, s);
	json_out_end(o);
}

static void process_status(const struct exec_live *live,
			   const struct node_process *p, struct exec_status *s)
{
	struct exec_row row = {.id = p->id,
			       .state = p->state,
			       .started_ms = p->started_ms,
			       .end = &p->end};

	exec_status_of(live, &row, s);
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
	for (size_t i = 0; i < rows.n; i++) {
		struct exec_status s;

		process_status(&live, &rows.rows[i], &s);
		if (want[0] == '\0' || strcmp(want, s.status) == 0)
			process_put(&o, NULL, &rows.rows[i], &s);
	}
	json_out_end(&o);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

enum err process_find(struct request *rq, struct node_process *out,
		      struct errinfo *e)
{
	const char *id = route_param(rq, "id");
	enum err r = link_find(rq, e);

	if (r != ERR_NONE)
		return r;
	r = id_text_ok(id)
		? node_process_get(rq->store, rq->sandbox.id, id, out, e)
		: err_set(e, ERR_NOT_FOUND, 0, "process id");
	if (r != ERR_NOT_FOUND)
		return r;
	err_http_text(rq, "processId", id);
	return err_http_fail(rq, e, HTTP_PROCESS_NOT_FOUND,
			     "Process %s not found", id);
}

enum err process_now(struct request *rq, struct node_process *out,
		     struct exec_status *s, struct errinfo *e)
{
	OWN(exec_live_free) struct exec_live live = {0};
	enum err r = link_find(rq, e);

	if (r == ERR_NONE)
		r = exec_live_read(rq, &live, e);
	if (r == ERR_NONE)
		r = process_find(rq, out, e);
	if (r == ERR_NONE)
		process_status(&live, out, s);
	return r;
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
	process_put(&o, "process", &p, &s);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

/* ---- kill ---- */

static enum err process_signal(struct request *rq, int *out, struct errinfo *e)
{
	static const struct {
		const char *name;
		int number;
	} known[] = {
	    {"HUP", SIGHUP},     {"INT", SIGINT},   {"QUIT", SIGQUIT},
	    {"KILL", SIGKILL},   {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
	    {"TERM", SIGTERM},   {"STOP", SIGSTOP}, {"CONT", SIGCONT},
	    {"WINCH", SIGWINCH},
	};
	char text[32], number[16];
	const char *name = text;

	*out = SIGTERM;
	if (!route_query(rq, "signal", text, sizeof(text)))
		return ERR_NONE;
	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		snprintf(number, sizeof(number), "%d", known[i].number);
		*out = known[i].number;
		if (strcmp(known[i].name, name) == 0 ||
		    strcmp(number, name) == 0)
			return ERR_NONE;
	}
	return err_http_field(rq, e, "signal", "is not a signal to send");
}

enum err process_kill(struct request *rq, struct errinfo *e)
{
	OWN(node_process_free) struct node_process p = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	int64_t grace = EXEC_KILL_GRACE_MS;
	bool done;
	int sig;
	enum err r = route_query_int(rq, "graceMs", 0, 600000, &grace, e);

	err_http_operation(rq, "process.kill");
	if (r == ERR_NONE)
		r = process_signal(rq, &sig, e);
	if (r == ERR_NONE)
		r = process_find(rq, &p, e);
	if (r == ERR_NONE && p.state == NODE_RUNNING) {
		if (sig == SIGTERM || sig == SIGKILL)
			r = exec_wait_kill(rq, p.id,
					   sig == SIGKILL ? 0 : (uint32_t)grace,
					   &done, e);
		else
			r = exec_wait_signal(rq, p.id, (uint32_t)sig, &done, e);
	}
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "processId", p.id);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

enum err process_kill_all(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	int64_t grace = EXEC_KILL_GRACE_MS;
	uint64_t n = 0;
	enum err r = route_query_int(rq, "graceMs", 0, 600000, &grace, e);

	err_http_operation(rq, "process.killAll");
	if (r == ERR_NONE)
		r = link_find(rq, e);
	if (r == ERR_NONE)
		r = exec_wait_kill_all(rq, (uint32_t)grace, &n, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_int(&o, "cleanedCount", (int64_t)n);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

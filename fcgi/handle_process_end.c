/* Background processes: signals, kill, kill-all, stdin, removal. */
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/pty_frame.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/exec_wait.h"
#include "fcgi/handle_process.h"
#include "fcgi/signal_name.h"
#include "store/log_chunk.h"

#define END_JSON_MAX (64U * KIB)
#define GRACE_MAX_MS 600000
#define STDIN_MAX (8 * (int64_t)MIB)

static enum err end_answer(struct request *rq, struct json_out *o,
			   struct errinfo *e)
{
	json_out_now(o);
	json_out_end(o);
	return answer_json(rq, 200, o, e);
}

static enum err end_unknown_signal(struct request *rq, struct errinfo *e)
{
	return err_http_field(rq, e, "signal", "is not a signal to send");
}

/* ---- kill ---- */

static enum err kill_signal(struct request *rq, int *out, struct errinfo *e)
{
	char text[32];

	*out = SIGTERM;
	if (!route_query(rq, "signal", text, sizeof(text)))
		return ERR_NONE;
	*out = signal_name(text);
	return *out == 0 ? end_unknown_signal(rq, e) : ERR_NONE;
}

/* How it stands after it was killed; nothing if its row went with it. */
static void kill_status(struct request *rq, struct json_out *o, bool still)
{
	OWN(node_process_free) struct node_process p = {0};
	struct exec_status s;
	struct errinfo e;

	if (still)
		json_out_text(o, "status", "still_running");
	else if (route_unpark(rq, &e) == ERR_NONE &&
		 process_now(rq, &p, &s, &e) == ERR_NONE)
		exec_status_put(o, &s);
}

enum err process_kill(struct request *rq, struct errinfo *e)
{
	OWN(node_process_free) struct node_process p = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(END_JSON_MAX);
	int64_t grace = EXEC_KILL_GRACE_MS;
	bool done, still = false;
	int sig;
	enum err r = route_query_int(rq, "graceMs", 0, GRACE_MAX_MS, &grace, e);

	err_http_operation(rq, "process.kill");
	if (r == ERR_NONE)
		r = kill_signal(rq, &sig, e);
	if (r == ERR_NONE)
		r = process_find(rq, &p, e);
	if (r == ERR_NONE && p.state == NODE_RUNNING) {
		if (sig == SIGTERM || sig == SIGKILL)
			r = exec_wait_kill(rq, p.exec,
					   sig == SIGKILL ? 0 : (uint32_t)grace,
					   &done, e);
		else
			r = exec_wait_signal(rq, p.exec, (uint32_t)sig, &done,
					     e);
	}
	still = r == ERR_TIMEOUT;
	if (r != ERR_NONE && !still)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", !still);
	json_out_text(&o, "processId", p.id);
	kill_status(rq, &o, still);
	return end_answer(rq, &o, e);
}

enum err process_kill_all(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(END_JSON_MAX);
	int64_t grace = EXEC_KILL_GRACE_MS;
	uint64_t n = 0;
	enum err r = route_query_int(rq, "graceMs", 0, GRACE_MAX_MS, &grace, e);

	err_http_operation(rq, "process.killAll");
	if (r == ERR_NONE)
		r = link_find(rq, e);
	if (r == ERR_NONE)
		r = exec_wait_kill_all(rq, (uint32_t)grace, &n, e);
	if (r != ERR_NONE && r != ERR_TIMEOUT)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", r == ERR_NONE);
	json_out_int(&o, "cleanedCount", (int64_t)n);
	if (r == ERR_TIMEOUT)
		json_out_text(&o, "status", "still_running");
	return end_answer(rq, &o, e);
}

/* ---- one signal ---- */

struct signal_body {
	struct json_object *signal;
};

static const struct json_field signal_fields[] = {
    {"signal", NULL, JSON_ANY, offsetof(struct signal_body, signal), true, 0,
     0},
};

enum err process_signal(struct request *rq, struct errinfo *e)
{
	OWN(node_process_free) struct node_process p = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(END_JSON_MAX);
	struct signal_body in = {0};
	bool sent = false;
	int sig = 0;
	enum err r;

	err_http_operation(rq, "process.signal");
	r = body_json(rq, signal_fields, JSON_COUNT(signal_fields), &in, e);
	if (r != ERR_NONE)
		return r;
	if (json_object_is_type(in.signal, json_type_int) ||
	    json_object_is_type(in.signal, json_type_string))
		sig = signal_name(json_object_get_string(in.signal));
	if (sig == 0)
		return end_unknown_signal(rq, e);
	r = process_find(rq, &p, e);
	if (r == ERR_NONE && p.state == NODE_RUNNING)
		r = exec_wait_signal(rq, p.exec, (uint32_t)sig, &sent, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", sent);
	json_out_text(&o, "processId", p.id);
	json_out_int(&o, "signal", sig);
	json_out_bool(&o, "sent", sent);
	return end_answer(rq, &o, e);
}

/* ---- stdin ---- */

struct stdin_body {
	struct json_blob text;
	struct json_blob base64;
	bool close;
};

#define AT(member) offsetof(struct stdin_body, member)

static const struct json_field stdin_fields[] = {
    {"data", "stdin", JSON_BLOB, AT(text), false, 0, STDIN_MAX},
    {"dataBase64", "stdinBase64", JSON_BASE64, AT(base64), false, 0, STDIN_MAX},
    {"close", "eof", JSON_BOOL, AT(close), false, 0, 0},
};

#undef AT

static enum err stdin_send(struct request *rq, const struct node_process *p,
			   const struct stdin_body *in, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(2 * STDIN_MAX);
	OWN(buf_free) struct buf frames = BUF_INIT(2 * STDIN_MAX);
	OWN(link_close) struct link l = LINK_INIT;
	const struct json_blob *data = in->text.p != NULL ? &in->text
							  : &in->base64;
	enum err r = link_open(rq, LINK_LIVE, &l, e);

	wire_str(&b, p->exec);
	if (p->terminal)
		pty_put_input(&frames, data->p, data->n);
	if (p->terminal)
		wire_bytes(&b, buf_str(&frames), frames.len);
	else
		wire_bytes(&b, data->p != NULL ? data->p : "", data->n);
	wire_u8(&b, in->close);
	if (r == ERR_NONE)
		r = link_call(&l, KM_STDIN, &b, NULL, e);
	if (r == ERR_LIMIT)
		return err_http_fail(rq, e, HTTP_RESOURCE_BUSY,
				     "The process has not read what was "
				     "written before");
	if (r == ERR_STATE || r == ERR_GONE || r == ERR_NOT_FOUND) {
		err_http_text(rq, "processId", p->id);
		return err_http_fail(rq, e, HTTP_STDIN_CLOSED,
				     "The input of process %s is not open",
				     p->id);
	}
	return r;
}

static enum err stdin_answer(struct request *rq, const struct stdin_body *in,
			     struct errinfo *e)
{
	OWN(node_process_free) struct node_process p = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(END_JSON_MAX);
	enum err r = process_find(rq, &p, e);

	if (r == ERR_NONE)
		r = stdin_send(rq, &p, in, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "processId", p.id);
	json_out_int(&o, "bytes", (int64_t)(in->text.n + in->base64.n));
	json_out_bool(&o, "closed", in->close);
	return end_answer(rq, &o, e);
}

enum err process_stdin(struct request *rq, struct errinfo *e)
{
	struct stdin_body in = {0};
	enum err r;

	err_http_operation(rq, "process.stdin");
	r = body_json(rq, stdin_fields, JSON_COUNT(stdin_fields), &in, e);
	if (r == ERR_NONE && in.text.p != NULL && in.base64.p != NULL)
		return err_http_field(rq, e, "dataBase64",
				      "excludes data: give one of them");
	return r == ERR_NONE ? stdin_answer(rq, &in, e) : r;
}

enum err process_stdin_close(struct request *rq, struct errinfo *e)
{
	const struct stdin_body in = {.close = true};

	err_http_operation(rq, "process.stdin");
	return stdin_answer(rq, &in, e);
}

/* ---- removal ---- */

/* Also what the keeper still has of it. */
static void remove_from_keeper(struct request *rq, const char *exec)
{
	OWN(link_close) struct link l = LINK_INIT;
	OWN(buf_free) struct buf b = BUF_INIT(1024);
	struct errinfo e;

	wire_str(&b, exec);
	if (link_open(rq, LINK_LIVE, &l, &e) == ERR_NONE)
		(void)!link_call(&l, KM_FORGET, &b, NULL, &e);
}

enum err process_cleanup(struct request *rq, struct errinfo *e)
{
	OWN(node_process_list_free) struct node_process_list rows = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(END_JSON_MAX);
	const char *box;
	int64_t n = 0;
	enum err r = link_find(rq, e);

	err_http_operation(rq, "process.cleanup");
	box = rq->sandbox.id;
	if (r == ERR_NONE)
		r = node_process_list(rq->store, box, &rows, e);
	for (size_t i = 0; r == ERR_NONE && i < rows.n; i++) {
		const struct node_process *p = &rows.rows[i];

		/* Its last words are stored then. */
		if (p->state != NODE_ENDED)
			continue;
		r = node_process_remove(rq->store, box, p->id, e);
		if (r == ERR_NONE)
			r = log_chunk_remove(rq->store, box, p->exec, e);
		if (r == ERR_NONE)
			remove_from_keeper(rq, p->exec);
		n++;
	}
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_int(&o, "cleanedCount", n);
	return end_answer(rq, &o, e);
}

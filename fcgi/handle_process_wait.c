/* Waits on the server: for a process' end, a line of it, a port. */
#include <json-c/json.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/exec_tell.h"
#include "fcgi/exec_wait.h"
#include "fcgi/follow.h"
#include "fcgi/handle_process.h"
#include "fcgi/line_match.h"
#include "fcgi/pool.h"
#include "fcgi/port_body.h"
#include "fcgi/port_wait.h"

#define WAIT_JSON_MAX (1U * MIB)
#define LINE_MAX 65536U /* of a longer one, the last part counts */
#define LINE_KEEP 4096U
#define QUIET_MS 100 /* then a line without its end is looked at */

struct wait_log {
	const char *text;
	const char *regex;
	const char *flags;
};

#define AT(member) offsetof(struct wait_log, member)

static const struct json_field log_fields[] = {
    {"text", NULL, JSON_TEXT, AT(text), false, 1, LINE_MAX},
    {"regex", NULL, JSON_TEXT, AT(regex), false, 1, LINE_PATTERN_MAX},
    {"flags", NULL, JSON_TEXT, AT(flags), false, 0, 16},
};

#undef AT

struct wait_body {
	const char *what;
	struct json_object *log;
	struct json_object *port;
	int64_t timeout_ms;
};

#define AT(member) offsetof(struct wait_body, member)

static const struct json_field wait_fields[] = {
    {"for", NULL, JSON_TEXT, AT(what), true, 0, 16},
    {"log", NULL, JSON_OBJECT, AT(log), false, 0, 0},
    {"port", NULL, JSON_OBJECT, AT(port), false, 0, 0},
    {"timeoutMs", "timeout_ms", JSON_INT, AT(timeout_ms), false, 0,
     LAUNCH_TIMEOUT_MAX_MS},
};

#undef AT

struct wait {
	struct request *rq;
	struct wait_body body;
	struct node_process process;
	struct exec_status status; /* when the wait began, then at its end */
	int64_t until_ms;
	struct json_out o;
	/* for a line */
	struct line_match match;
	struct follow follow;
	struct buf open[2]; /* lines of stdout, stderr without their end */
	bool fresh[2];      /* not looked at since something came */
	bool found;
};

static void wait_free(struct wait *w)
{
	node_process_free(&w->process);
	json_out_free(&w->o);
	line_match_free(&w->match);
	buf_free(&w->open[0]);
	buf_free(&w->open[1]);
}

/* ---- how it is told ---- */

static enum err wait_late(struct wait *w, struct errinfo *e)
{
	struct request *rq = w->rq;
	bool exit = strcmp(w->body.what, "exit") == 0;

	err_http_text(rq, "processId", w->process.id);
	err_http_text(rq, "for", w->body.what);
	json_out_int(err_http_context(rq), "timeoutMs", w->body.timeout_ms);
	return err_http_fail(rq, e, HTTP_PROCESS_READY_TIMEOUT,
			     "Timeout: process %s did not %s within %lldms",
			     w->process.id, exit ? "end" : "become ready",
			     (long long)w->body.timeout_ms);
}

static enum err wait_exited(struct wait *w, struct errinfo *e)
{
	struct request *rq = w->rq;
	const struct exec_status *s = &w->status;
	bool known = s->reason != END_NONE && s->reason != END_SANDBOX_GONE;

	err_http_text(rq, "processId", w->process.id);
	err_http_text(rq, "for", w->body.what);
	err_http_text(rq, "reason", end_reason_name(s->reason));
	if (!known)
		return err_http_fail(rq, e, HTTP_PROCESS_EXITED_BEFORE_READY,
				     "Process %s exited before it was ready",
				     w->process.id);
	json_out_int(err_http_context(rq), "exitCode", s->exit_code);
	return err_http_fail(rq, e, HTTP_PROCESS_EXITED_BEFORE_READY,
			     "Process %s exited with code %d before it was "
			     "ready",
			     w->process.id, s->exit_code);
}

static void wait_begin(struct wait *w)
{
	json_out_object(&w->o, NULL);
	json_out_bool(&w->o, "success", true);
	json_out_text(&w->o, "processId", w->process.id);
}

static enum err wait_answer(struct wait *w, struct errinfo *e)
{
	json_out_now(&w->o);
	json_out_end(&w->o);
	return answer_json(w->rq, 200, &w->o, e);
}

/* As keeper and follow say that it ended. */
static void wait_ended(struct wait *w, const struct keeper_end *end)
{
	w->status.ended = true;
	w->status.reason = end->reason != END_NONE ? end->reason
						   : END_SANDBOX_GONE;
	w->status.exit_code = exec_exit_code(end->reason, end->exit_code);
}

/* ---- exit ---- */

static enum err wait_exit(struct wait *w, struct errinfo *e)
{
	struct keeper_end end = {0};
	enum err r = ERR_NONE;

	if (!w->status.ended) {
		r = exec_wait_exit(w->rq, w->process.exec, w->until_ms, &end,
				   e);
		if (r == ERR_TIMEOUT)
			return wait_late(w, e);
		wait_ended(w, &end);
	}
	if (r != ERR_NONE)
		return r;
	wait_begin(w);
	if (w->status.reason == END_SANDBOX_GONE ||
	    w->status.reason == END_NONE)
		json_out_null(&w->o, "exitCode");
	else
		json_out_int(&w->o, "exitCode", w->status.exit_code);
	json_out_text(&w->o, "reason", end_reason_name(w->status.reason));
	return wait_answer(w, e);
}

/* ---- a line ---- */

/* Also told by events: a program that prints leaves no time to be idle. */
static enum err wait_tick(struct wait *w, struct errinfo *e)
{
	return clock_mono_ms() >= w->until_ms ? wait_late(w, e) : ERR_NONE;
}

static void line_groups(struct wait *w, const char *line)
{
	size_t from, to;

	json_out_array(&w->o, "match");
	for (unsigned i = 0; line_match_group(&w->match, i, &from, &to); i++)
		if (from == SIZE_MAX || to < from)
			json_out_null(&w->o, NULL);
		else
			json_out_textn(&w->o, NULL, line + from, to - from);
	json_out_end(&w->o);
}

static enum err line_look(struct wait *w, int stream, const char *line,
			  size_t n, struct errinfo *e)
{
	enum err r;

	if (n > 0 && line[n - 1] == '\r')
		n--;
	r = line_match_find(&w->match, line, n, &w->found, e);
	if (r == ERR_LIMIT)
		return err_http_field(w->rq, e, "regex",
				      "takes too long on what is printed");
	if (r != ERR_NONE || !w->found)
		return r;
	wait_begin(w);
	json_out_textn(&w->o, "line", line, n);
	json_out_text(&w->o, "stream", stream == 0 ? "stdout" : "stderr");
	if (w->match.text == NULL)
		line_groups(w, line);
	/* Ends the following; it is no failure. */
	return err_set(e, ERR_EXISTS, 0, "found");
}

/* Whole lines of what is open, and what stays. */
static enum err line_split(struct wait *w, int stream, struct errinfo *e)
{
	struct buf *b = &w->open[stream];
	const char *at = buf_str(b), *end = at + b->len, *nl;
	enum err r = ERR_NONE;

	while (r == ERR_NONE && (nl = memchr(at, '\n', (size_t)(end - at)))) {
		r = line_look(w, stream, at, (size_t)(nl - at), e);
		at = nl + 1;
	}
	if (r != ERR_NONE)
		return r;
	buf_drop(b, (size_t)(at - b->data));
	if (b->len <= LINE_MAX)
		return ERR_NONE;
	r = line_look(w, stream, b->data, b->len, e);
	if (r == ERR_NONE)
		buf_drop(b, b->len - LINE_KEEP);
	return r;
}

static enum err line_open(struct wait *w, struct errinfo *e)
{
	enum err r = ERR_NONE;

	for (int i = 0; r == ERR_NONE && i < 2; i++) {
		if (w->fresh[i] && w->open[i].len > 0)
			r = line_look(w, i, w->open[i].data, w->open[i].len, e);
		w->fresh[i] = false;
	}
	w->follow.idle_ms = 0;
	return r;
}

static enum err wait_log_event(void *ctx, const struct keeper_event *ev,
			       struct errinfo *e)
{
	struct wait *w = ctx;
	int stream = ev->kind == EVENT_ERR;
	enum err r;

	if (ev->kind == EVENT_END) {
		wait_ended(w, &ev->end);
		return line_open(w, e);
	}
	if (ev->kind != EVENT_OUT && ev->kind != EVENT_ERR)
		return ERR_NONE;
	buf_add(&w->open[stream], ev->data, ev->len);
	if (!buf_ok(&w->open[stream]))
		return err_set(e, ERR_NOMEM, 0, "line");
	w->fresh[stream] = true;
	w->follow.idle_ms = QUIET_MS;
	r = line_split(w, stream, e);
	return r == ERR_NONE ? wait_tick(w, e) : r;
}

static enum err wait_log_idle(void *ctx, struct errinfo *e)
{
	struct wait *w = ctx;
	enum err r = line_open(w, e);

	return r == ERR_NONE ? wait_tick(w, e) : r;
}

static enum err log_pattern(struct wait *w, const struct wait_log *log,
			    struct errinfo *e)
{
	char why[160];
	enum err r;

	if ((log->text == NULL) == (log->regex == NULL))
		return err_http_field(w->rq, e, "log",
				      "needs text or regex, one of them");
	if (log->text != NULL) {
		line_match_text(&w->match, log->text, strlen(log->text));
		return ERR_NONE;
	}
	r = line_match_regex(&w->match, log->regex,
			     log->flags != NULL ? log->flags : "", why,
			     sizeof(why), e);
	return r == ERR_ARG ? err_http_field(w->rq, e, "regex", why) : r;
}

static enum err wait_log(struct wait *w, struct errinfo *e)
{
	struct follow *f = &w->follow;
	enum err r;

	f->event = wait_log_event;
	f->idle = wait_log_idle;
	r = follow_run(f, e);
	if (w->found)
		return wait_answer(w, e);
	if (r != ERR_NONE)
		return r;
	r = line_open(w, e);
	if (w->found)
		return wait_answer(w, e);
	if (r == ERR_NONE && !w->status.ended)
		wait_ended(w, &(struct keeper_end){.reason = END_SANDBOX_GONE});
	return r == ERR_NONE ? wait_exited(w, e) : r;
}

/* ---- a port ---- */

static enum err wait_port(struct wait *w, const struct port_body *b,
			  struct errinfo *e)
{
	struct port_wait p = {.rq = w->rq, .until_ms = w->until_ms};
	enum err r;

	if (w->status.ended)
		return wait_exited(w, e);
	port_body_fill(b, &p);
	p.exec = w->process.exec;
	r = port_wait_run(&p, e);
	if (r != ERR_NONE)
		return r;
	if (p.how == PORT_LATE)
		return wait_late(w, e);
	if (p.how == PORT_EXITED) {
		wait_ended(w, &p.end);
		return wait_exited(w, e);
	}
	wait_begin(w);
	json_out_int(&w->o, "port", p.port);
	if (p.status > 0)
		json_out_int(&w->o, "statusCode", p.status);
	return wait_answer(w, e);
}

/* ---- which ---- */

struct wait_want {
	struct wait_log log;
	struct port_body port;
};

/* The member that "for" names, and none else. */
static enum err wait_read(struct wait *w, struct wait_want *want,
			  struct errinfo *e)
{
	struct request *rq = w->rq;
	const char *what = w->body.what;
	enum err r;

	if (strcmp(what, "exit") == 0)
		return ERR_NONE;
	if (strcmp(what, "log") == 0 && w->body.log != NULL) {
		r = body_part(rq, w->body.log, log_fields,
			      JSON_COUNT(log_fields), &want->log, e);
		return r == ERR_NONE ? log_pattern(w, &want->log, e) : r;
	}
	if (strcmp(what, "port") == 0 && w->body.port != NULL)
		return port_body_part(rq, w->body.port, &want->port, e);
	return err_http_field(rq, e, "for",
			      "must be exit, or log or port with a member of "
			      "that name");
}

static enum err wait_run(struct wait *w, const struct wait_want *want,
			 struct errinfo *e)
{
	struct request *rq = w->rq;
	enum err r = process_now(rq, &w->process, &w->status, e);

	if (r == ERR_NONE)
		r = pool_long(rq, e);
	if (r != ERR_NONE)
		return r;
	w->follow.rq = rq;
	w->follow.id = w->process.exec;
	w->follow.live = true;
	w->follow.ctx = w;
	w->follow.until_ms = w->until_ms == CLOCK_NEVER ? 0 : w->until_ms;
	if (strcmp(w->body.what, "exit") == 0)
		return wait_exit(w, e);
	if (strcmp(w->body.what, "log") == 0)
		return wait_log(w, e);
	return wait_port(w, &want->port, e);
}

enum err process_wait(struct request *rq, struct errinfo *e)
{
	OWN(wait_free)
	struct wait w = {.rq = rq,
			 .o = JSON_OUT_INIT(WAIT_JSON_MAX),
			 .body = {.timeout_ms = -1},
			 .open = {BUF_INIT(2 * MIB), BUF_INIT(2 * MIB)}};
	struct wait_want want = {.port = PORT_BODY_INIT};
	enum err r;

	err_http_operation(rq, "process.wait");
	r = body_json(rq, wait_fields, JSON_COUNT(wait_fields), &w.body, e);
	if (r == ERR_NONE)
		r = wait_read(&w, &want, e);
	if (r != ERR_NONE)
		return r;
	w.until_ms = w.body.timeout_ms < 0
			 ? CLOCK_NEVER
			 : clock_mono_ms() + w.body.timeout_ms;
	return wait_run(&w, &want, e);
}

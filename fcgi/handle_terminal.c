/*
 * Terminals: processes on a pty inside (warren-pty), and who looks at them.
 * A request for a WebSocket ends here with the name of the terminal; nginx
 * then hands it to warren-terminal (term.h).
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/pty_frame.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/handle_process.h"
#include "fcgi/session.h"
#include "fcgi/signed_link.h"
#include "fcgi/until.h"
#include "store/ctl_link.h"

#define PROGRAM "/opt/warren/bin/warren-pty"
#define LOCATION "@terminal"
#define METHOD "TTY" /* of a link that is a ticket */
#define IDLE_MAX_MS (INT64_C(7) * 86400 * 1000)
#define TICKET_MS 60000
#define TICKET_MAX_MS (INT64_C(3600) * 1000)
#define START_MS 10000
#define STEP_MS 10
#define SHELL_MAX 1024

struct terminal {
	const char *id; /* NULL: by its session */
	const char *session;
	const char *shell;
	const char *cwd;
	struct json_object *env;
	const char *user;
	int64_t cols; /* 0: not asked for */
	int64_t rows;
	int64_t idle_ms;
	/* Found from the above: */
	id_text_t name;
	id_text_t exec;
	uint32_t pid;
	bool made;
};

#define AT(member) offsetof(struct terminal, member)

static const struct json_field terminal_fields[] = {
    {"id", NULL, JSON_TEXT, AT(id), false, 1, 4096},
    {"sessionId", "session", JSON_TEXT, AT(session), false, 1, 4096},
    {"shell", NULL, JSON_TEXT, AT(shell), false, 0, SHELL_MAX},
    {"cwd", NULL, JSON_TEXT, AT(cwd), false, 0, LAUNCH_PATH_MAX},
    {"env", NULL, JSON_ENV, AT(env), false, 0, 0},
    {"user", NULL, JSON_TEXT, AT(user), false, 1, 64},
    {"cols", NULL, JSON_INT, AT(cols), false, 1, PTY_SIDE_MAX},
    {"rows", NULL, JSON_INT, AT(rows), false, 1, PTY_SIDE_MAX},
    {"idleTimeoutMs", NULL, JSON_INT, AT(idle_ms), false, 0, IDLE_MAX_MS},
};

#undef AT

/* ---- which one ---- */

/* "terminal", or "terminal-<session>": each session has one of its own. */
static enum err terminal_name(struct request *rq, struct terminal *t,
			      struct errinfo *e)
{
	id_text_t session;
	bool named;
	enum err r;

	if (t->id != NULL && !id_text_ok(t->id))
		return err_http_field(rq, e, "id",
				      "must be 1 to 128 of A-Z a-z 0-9 . _ -, "
				      "starting with none of . -");
	if (t->user != NULL && strcmp(t->user, "root") != 0 &&
	    strcmp(t->user, "sandbox") != 0)
		return err_http_field(rq, e, "user", "must be root or sandbox");
	r = session_choose(rq, t->session, session, &named, e);
	if (r != ERR_NONE)
		return r;
	if (t->id != NULL)
		snprintf(t->name, sizeof(t->name), "%s", t->id);
	else if (!named || session[0] == '\0' ||
		 strcmp(session, SESSION_DEFAULT) == 0)
		snprintf(t->name, sizeof(t->name), "terminal");
	else if (strlen(session) + sizeof("terminal-") > sizeof(t->name))
		return err_http_field(rq, e, "sessionId",
				      "is too long for a terminal's name: "
				      "give an id");
	else
		snprintf(t->name, sizeof(t->name), "terminal-%.118s", session);
	return ERR_NONE;
}

/* ---- starting it ---- */

/* What programs look at to see what it can do. */
static struct json_object *terminal_env(struct json_object *given)
{
	static const char *const own[][2] = {{"TERM", "xterm-256color"},
					     {"COLORTERM", "truecolor"}};
	struct json_object *all = json_object_new_object();

	if (all == NULL)
		return NULL;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		json_object_object_add(all, own[i][0],
				       json_object_new_string(own[i][1]));
	if (given == NULL)
		return all;
	json_object_object_foreach(given, key, value)
	    json_object_object_add(all, key, json_object_get(value));
	return all;
}

static void terminal_json_free(struct json_object **o)
{
	json_object_put(*o);
}

/* NULL: no memory. Its texts are the program's arguments: it must live until
 * that has been started. */
static struct json_object *terminal_argv(const struct terminal *t)
{
	struct json_object *argv = json_object_new_array();
	char cols[16], rows[16], idle[24];
	const char *words[] = {PROGRAM, cols, rows, idle,
			       t->shell != NULL ? t->shell : ""};

	snprintf(cols, sizeof(cols), "%d",
		 (int)(t->cols > 0 ? t->cols : PTY_COLS));
	snprintf(rows, sizeof(rows), "%d",
		 (int)(t->rows > 0 ? t->rows : PTY_ROWS));
	snprintf(idle, sizeof(idle), "%lld", (long long)t->idle_ms);
	for (size_t i = 0; argv != NULL && i < sizeof(words) / sizeof(words[0]);
	     i++)
		json_object_array_add(argv, json_object_new_string(words[i]));
	return argv;
}

/* A session's directory, where it has one now. */
static enum err terminal_cwd(struct request *rq, struct terminal *t,
			     struct launch *x, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	struct keeper_session s;
	enum err r;

	if (t->cwd != NULL || t->session == NULL)
		return launch_cwd(rq, x, t->cwd, e);
	r = link_open(rq, LINK_CREATE, &l, e);
	if (r != ERR_NONE)
		return r;
	r = session_get(&l, t->session, &s, e);
	return launch_cwd(rq, x, r == ERR_NONE ? s.cwd : NULL, e);
}

static enum err terminal_start(struct request *rq, struct terminal *t,
			       struct errinfo *e)
{
	OWN(exec_body_free) struct exec_body body = EXEC_BODY_INIT;
	OWN(terminal_json_free) struct json_object *env = terminal_env(t->env);
	OWN(terminal_json_free) struct json_object *argv = terminal_argv(t);
	struct process_begun begun;
	enum err r;

	if (env == NULL || argv == NULL)
		return err_set(e, ERR_NOMEM, 0, "terminal");
	body.command = t->shell != NULL && t->shell[0] != '\0' ? t->shell
							       : "bash";
	body.process_id = t->name;
	body.env = env;
	body.user = t->user;
	body.keep = body.merge = body.open_stdin = body.terminal = true;
	r = launch_argv(&body.launch, argv, e);
	if (r == ERR_NONE)
		r = terminal_cwd(rq, t, &body.launch, e);
	if (r == ERR_NONE)
		r = process_begin(rq, &body, &begun, e);
	if (r != ERR_NONE)
		return r;
	memcpy(t->exec, begun.exec, sizeof(t->exec));
	t->pid = begun.pid;
	t->made = true;
	return ERR_NONE;
}

/* ---- one that is there ---- */

static enum err terminal_resize(struct link *l, const struct terminal *t,
				struct errinfo *e)
{
	OWN(buf_free) struct buf frame = BUF_INIT(64);
	OWN(buf_free) struct buf b = BUF_INIT(1024);

	if (t->cols == 0 || t->rows == 0)
		return ERR_NONE;
	pty_put_size(&frame, (uint16_t)t->cols, (uint16_t)t->rows);
	wire_str(&b, t->exec);
	wire_bytes(&b, frame.data, frame.len);
	wire_u8(&b, false);
	return link_call(l, KM_STDIN, &b, NULL, e);
}

/* ERR_NOT_FOUND: there is none that runs, so it can be started. */
static enum err terminal_find(struct request *rq, struct terminal *t,
			      struct errinfo *e)
{
	OWN(node_process_free) struct node_process p = {0};
	OWN(link_close) struct link l = LINK_INIT;
	struct keeper_item item;
	enum err r = route_unpark(rq, e);

	if (r == ERR_NONE)
		r = link_open(rq, LINK_CREATE, &l, e);
	if (r == ERR_NONE)
		r = node_process_get(rq->store, rq->sandbox.id, t->name, &p, e);
	if (r != ERR_NONE)
		return r;
	if (p.state == NODE_ENDED)
		return err_set(e, ERR_NOT_FOUND, 0, "ended");
	if (!p.terminal) {
		err_http_text(rq, "processId", t->name);
		return err_http_fail(rq, e, HTTP_PROCESS_ALREADY_EXISTS,
				     "Process %s is no terminal", t->name);
	}
	memcpy(t->exec, p.exec, sizeof(t->exec));
	r = link_status(&l, p.exec, &item, e);
	if (r == ERR_NONE && item.state == EXEC_RUNNING) {
		t->pid = item.pid;
		return terminal_resize(&l, t, e);
	}
	/* Another call is about to start it, or its end to be recorded. */
	return r == ERR_NONE || r == ERR_NOT_FOUND
		   ? err_set(e, ERR_STATE, 0, "terminal")
		   : r;
}

/* ERR_STATE: another call is starting it. */
static enum err terminal_first(struct request *rq, struct terminal *t,
			       struct errinfo *e)
{
	enum err r = terminal_start(rq, t, e);

	if (r != ERR_EXISTS || rq->failure.code != HTTP_PROCESS_ALREADY_EXISTS)
		return r;
	err_http_forget(rq);
	return err_set(e, ERR_STATE, 0, "terminal");
}

/* Find it or start it, whatever others do meanwhile. */
static enum err terminal_ensure(struct request *rq, struct terminal *t,
				struct errinfo *e)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	int64_t until = clock_mono_ms() + START_MS;
	enum err r;

	do {
		r = terminal_find(rq, t, e);
		if (r == ERR_NOT_FOUND && rq->failure.code == HTTP_CODE_NONE)
			r = terminal_first(rq, t, e);
		if (r != ERR_STATE || rq->failure.code != HTTP_CODE_NONE)
			return r;
		nanosleep(&step, NULL);
	} while (clock_mono_ms() < until);
	return err_http_fail(rq, e, HTTP_RESOURCE_BUSY,
			     "Terminal %s is just starting or ending", t->name);
}

/* ---- the WebSocket ---- */

static bool terminal_upgrades(const struct request *rq)
{
	const char *upgrade = route_header(rq, "HTTP_UPGRADE");

	return upgrade != NULL && strcasecmp(upgrade, "websocket") == 0;
}

static enum err terminal_plain(struct request *rq, struct errinfo *e)
{
	return err_http_fail(rq, e, HTTP_UPGRADE_REQUIRED,
			     "This address speaks WebSocket only");
}

static enum err terminal_hand_over(struct request *rq, struct terminal *t,
				   struct errinfo *e)
{
	enum err r = terminal_ensure(rq, t, e);

	if (r != ERR_NONE)
		return r;
	answer_header(rq, "X-Accel-Redirect", "%s", LOCATION);
	answer_header(rq, "X-Warren-Terminal", "%s/%s", rq->sandbox.id,
		      t->exec);
	answer_empty(rq, 200);
	return ERR_NONE;
}

/* What the query says, for callers that have no body. */
struct terminal_query {
	char id[256];
	char session[256];
	char shell[SHELL_MAX + 1];
	char cwd[LAUNCH_PATH_MAX + 1];
	char user[64];
};

static const char *query_text(struct request *rq, const char *name, char *out,
			      size_t size)
{
	return route_query(rq, name, out, size) && out[0] != '\0' ? out : NULL;
}

static enum err terminal_asked(struct request *rq, struct terminal_query *q,
			       struct terminal *t, struct errinfo *e)
{
	enum err r = route_query_int(rq, "cols", 1, PTY_SIDE_MAX, &t->cols, e);

	if (r == ERR_NONE)
		r = route_query_int(rq, "rows", 1, PTY_SIDE_MAX, &t->rows, e);
	if (r == ERR_NONE)
		r = route_query_int(rq, "idleTimeoutMs", 0, IDLE_MAX_MS,
				    &t->idle_ms, e);
	if (r != ERR_NONE)
		return r;
	t->session = query_text(rq, "session", q->session, sizeof(q->session));
	if (t->session == NULL)
		t->session = query_text(rq, "sessionId", q->session,
					sizeof(q->session));
	t->shell = query_text(rq, "shell", q->shell, sizeof(q->shell));
	t->cwd = query_text(rq, "cwd", q->cwd, sizeof(q->cwd));
	t->user = query_text(rq, "user", q->user, sizeof(q->user));
	if (t->id == NULL)
		t->id = query_text(rq, "id", q->id, sizeof(q->id));
	return terminal_name(rq, t, e);
}

enum err terminal_open(struct request *rq, struct errinfo *e)
{
	struct terminal_query q;
	struct terminal t = {.id = NULL};
	enum err r;

	err_http_operation(rq, "terminal.open");
	if (!terminal_upgrades(rq)) {
		r = link_find(rq, e);
		return r == ERR_NONE ? terminal_plain(rq, e) : r;
	}
	r = terminal_asked(rq, &q, &t, e);
	return r == ERR_NONE ? terminal_hand_over(rq, &t, e) : r;
}

/* ---- without a WebSocket ---- */

enum err terminal_create(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	struct terminal t = {.id = NULL};
	enum err r;

	err_http_operation(rq, "terminal.create");
	r = body_json(rq, terminal_fields, JSON_COUNT(terminal_fields), &t, e);
	if (r == ERR_NONE)
		r = terminal_name(rq, &t, e);
	if (r == ERR_NONE)
		r = terminal_ensure(rq, &t, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "id", t.name);
	json_out_int(&o, "pid", t.pid);
	json_out_bool(&o, "created", t.made);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, t.made ? 201 : 200, &o, e);
}

/* ---- tickets: for browsers, whose WebSockets send no headers ---- */

struct ticket_body {
	const char *id;
	const char *session;
	const char *ttl;
	const char *expires;
};

#define AT(member) offsetof(struct ticket_body, member)

static const struct json_field ticket_fields[] = {
    {"id", NULL, JSON_TEXT, AT(id), false, 1, 4096},
    {"sessionId", "session", JSON_TEXT, AT(session), false, 1, 4096},
    {"ttl", NULL, JSON_TEXT, AT(ttl), false, 1, 32},
    {"expiresAt", NULL, JSON_TEXT, AT(expires), false, 1, 40},
};

#undef AT

static void ticket_url(struct request *rq, struct json_out *o,
		       const char *token)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);

	route_origin(rq, "ws", &b);
	buf_addf(&b, "/v1/terminals/%s", token);
	json_out_text(o, "url", buf_str(&b));
}

static enum err ticket_read(struct request *rq, struct ctl_link *l,
			    struct errinfo *e)
{
	struct ticket_body in = {.id = NULL};
	struct terminal t = {.id = NULL};
	enum err r = body_json(rq, ticket_fields, JSON_COUNT(ticket_fields),
			       &in, e);

	t.id = in.id;
	t.session = in.session;
	if (r == ERR_NONE)
		r = terminal_name(rq, &t, e);
	if (r == ERR_NONE)
		r = until_read(rq,
			       &(struct until){in.ttl, in.expires, TICKET_MS,
					       TICKET_MAX_MS},
			       &l->expires_ms, e);
	if (r != ERR_NONE)
		return r;
	snprintf(l->method, sizeof(l->method), "%s", METHOD);
	l->path = strdup(t.name);
	return l->path != NULL ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "ticket");
}

enum err terminal_ticket(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(64U * KIB);
	OWN(ctl_link_free) struct ctl_link l = {.path = NULL};
	char token[CTL_LINK_LEN + 1];
	enum err r;

	err_http_operation(rq, "terminal.ticket");
	r = ticket_read(rq, &l, e);
	if (r == ERR_NONE)
		r = link_ensure(rq, e);
	if (r != ERR_NONE)
		return r;
	r = signed_link_add(rq, &l, token, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	ticket_url(rq, &o, token);
	json_out_text(&o, "id", l.path);
	json_out_text(&o, "ticket", token);
	json_out_time(&o, "expiresAt", l.expires_ms);
	json_out_end(&o);
	return answer_json(rq, 201, &o, e);
}

static enum err ticket_unknown(struct request *rq, struct errinfo *e)
{
	return err_http_fail(rq, e, HTTP_LINK_NOT_FOUND,
			     "This ticket does not exist, or not any more");
}

/* It is for one terminal, once: who removes it has it. */
static enum err ticket_use(struct request *rq, struct ctl_link *l,
			   struct errinfo *e)
{
	enum err r = route_unpark(rq, e);

	if (r == ERR_NONE)
		r = ctl_link_use(rq->store, route_param(rq, "token"), l, e);
	if (r == ERR_NONE && strcmp(l->method, METHOD) != 0)
		r = err_set(e, ERR_NOT_FOUND, 0, "ticket");
	if (r == ERR_NONE && l->auth.scope < KEY_EXEC)
		r = err_set(e, ERR_NOT_FOUND, 0, "ticket");
	if (r == ERR_NONE)
		r = ctl_link_remove(rq->store, l->auth.tenant, l->sandbox,
				    l->id, e);
	return r == ERR_NOT_FOUND ? ticket_unknown(rq, e) : r;
}

enum err terminal_by_ticket(struct request *rq, struct errinfo *e)
{
	OWN(ctl_link_free) struct ctl_link l = {.path = NULL};
	struct terminal_query q;
	struct terminal t = {.id = "terminal"};
	enum err r;

	err_http_operation(rq, "terminal.open");
	if (!terminal_upgrades(rq))
		return terminal_plain(rq, e);
	r = terminal_asked(rq, &q, &t, e); /* before it is used up */
	if (r == ERR_NONE)
		r = ticket_use(rq, &l, e);
	if (r != ERR_NONE)
		return r;
	rq->auth = l.auth;
	snprintf(t.name, sizeof(t.name), "%s", l.path);
	r = route_param_add(rq, "sandbox", l.sandbox, e);
	return r == ERR_NONE ? terminal_hand_over(rq, &t, e) : r;
}

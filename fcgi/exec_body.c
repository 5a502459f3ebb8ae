#include <json-c/json.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/body.h"
#include "fcgi/exec_body.h"
#include "fcgi/retry.h"
#include "fcgi/session.h"

#define AT(member) offsetof(struct exec_body, member)
#define SOME 4096

static const struct json_field exec_fields[] = {
    {"command", NULL, JSON_TEXT, AT(command), false, 0, LAUNCH_COMMAND_MAX},
    {"argv", NULL, JSON_TEXTS, AT(argv), false, 1, 4096},
    {"sessionId", NULL, JSON_TEXT, AT(session), false, 0, SOME},
    {"background", NULL, JSON_BOOL, AT(background), false, 0, 0},
    {"timeoutMs", "timeout_ms", JSON_INT, AT(timeout_ms), false, 0,
     LAUNCH_TIMEOUT_MAX_MS},
    {"env", "env_vars", JSON_ENV, AT(env), false, 0, 0},
    {"cwd", NULL, JSON_TEXT, AT(cwd), false, 0, LAUNCH_PATH_MAX},
    {"stdin", NULL, JSON_BLOB, AT(stdin_text), false, 0, EXEC_STDIN_MAX},
    {"stdinBase64", NULL, JSON_BASE64, AT(stdin_base64), false, 0,
     EXEC_STDIN_MAX},
    {"merge", NULL, JSON_BOOL, AT(merge), false, 0, 0},
    {"encoding", NULL, JSON_TEXT, AT(encoding), false, 0, SOME},
    {"onDisconnect", NULL, JSON_TEXT, AT(on_disconnect), false, 0, SOME},
    {"onOutputLimit", NULL, JSON_TEXT, AT(on_output_limit), false, 0, SOME},
    {"graceMs", NULL, JSON_INT, AT(grace_ms), false, 0, 600000},
    {"processId", NULL, JSON_TEXT, AT(process_id), false, 0, SOME},
    {"autoCleanup", NULL, JSON_BOOL, AT(auto_cleanup), false, 0, 0},
    {"openStdin", NULL, JSON_BOOL, AT(open_stdin), false, 0, 0},
    /* The wire's clients send these; they mean nothing here. */
    {"origin", NULL, JSON_SKIP, 0, false, 0, 0},
    {"stream", NULL, JSON_SKIP, 0, false, 0, 0},
};

void exec_body_free(struct exec_body *x)
{
	launch_free(&x->launch);
	buf_free(&x->shown);
	buf_free(&x->quoted);
}

static enum err exec_body_words(struct request *rq, bool keep,
				struct exec_body *x, struct errinfo *e)
{
	const char *enc = x->encoding, *on = x->on_disconnect;
	const char *over = x->on_output_limit;

	x->keep = keep || retry_asked(rq);
	if (enc != NULL && strcmp(enc, "base64") == 0)
		x->base64 = true;
	else if (enc != NULL && strcmp(enc, "utf-8") != 0 &&
		 strcmp(enc, "utf8") != 0)
		return err_http_field(rq, e, "encoding",
				      "must be utf-8 or base64");
	if (on != NULL && strcmp(on, "keep") != 0 && strcmp(on, "kill") != 0)
		return err_http_field(rq, e, "onDisconnect",
				      "must be keep or kill");
	if (on != NULL)
		x->keep = strcmp(on, "keep") == 0;
	if (over != NULL && strcmp(over, "truncate") != 0 &&
	    strcmp(over, "end") != 0)
		return err_http_field(rq, e, "onOutputLimit",
				      "must be truncate or end");
	x->end_output = over != NULL && strcmp(over, "end") == 0;
	if (x->process_id != NULL && !id_text_ok(x->process_id))
		return err_http_field(rq, e, "processId",
				      "must be 1 to 128 of A-Z a-z 0-9 . _ -, "
				      "starting with none of . -");
	if (x->stdin_text.p != NULL && x->stdin_base64.p != NULL)
		return err_http_field(rq, e, "stdinBase64",
				      "excludes stdin: give one of them");
	return ERR_NONE;
}

/* The command that is shown for argv. */
static enum err exec_body_shown(struct request *rq, struct exec_body *x,
				struct errinfo *e)
{
	size_t n = json_object_array_length(x->argv);

	for (size_t i = 0; i < n; i++) {
		struct json_object *v = json_object_array_get_idx(x->argv, i);

		if (json_object_get_string_len(v) > (int)(128 * KIB) - 1)
			return err_http_field(
			    rq, e, "argv", "has an argument that is too long");
		buf_addf(&x->shown, "%s%s", i > 0 ? " " : "",
			 json_object_get_string(v));
	}
	if (!buf_ok(&x->shown))
		return err_http_field(rq, e, "argv", "is too long");
	x->command = buf_str(&x->shown);
	return ERR_NONE;
}

static enum err exec_body_empty(struct request *rq, struct errinfo *e)
{
	return err_http_fail(rq, e, HTTP_INVALID_COMMAND,
			     "The command is empty");
}

static enum err exec_body_argv(struct request *rq, struct exec_body *x,
			       struct errinfo *e)
{
	struct json_object *first = json_object_array_get_idx(x->argv, 0);
	enum err r = exec_body_shown(rq, x, e);

	if (r != ERR_NONE)
		return r;
	if (json_object_get_string_len(first) == 0)
		return exec_body_empty(rq, e);
	if (x->session_id[0] == '\0')
		return launch_argv(&x->launch, x->argv, e);
	launch_quoted(x->argv, &x->quoted);
	if (!buf_ok(&x->quoted))
		return err_http_field(rq, e, "argv", "is too long");
	return launch_pieces(&x->launch, x->quoted.data, e);
}

static enum err exec_body_command(struct request *rq, struct exec_body *x,
				  struct errinfo *e)
{
	if (x->command != NULL && x->argv != NULL)
		return err_http_field(rq, e, "argv",
				      "excludes command: give one of them");
	if (x->command == NULL && x->argv == NULL)
		return err_http_field(rq, e, "command", "is needed");
	if (x->argv != NULL)
		return exec_body_argv(rq, x, e);
	if (x->command[strspn(x->command, " \t\r\n")] == '\0')
		return exec_body_empty(rq, e);
	if (x->session_id[0] != '\0')
		return launch_pieces(&x->launch, x->command, e);
	return launch_shell(&x->launch, x->command, e);
}

enum err exec_body_read(struct request *rq, bool keep, struct exec_body *x,
			struct errinfo *e)
{
	bool named = false;
	enum err r = body_json(rq, exec_fields, JSON_COUNT(exec_fields), x, e);

	if (r == ERR_NONE)
		r = exec_body_words(rq, keep, x, e);
	if (r == ERR_NONE)
		r = session_choose(rq, x->session, x->session_id, &named, e);
	if (x->argv != NULL && !named)
		x->session_id[0] = '\0';
	x->aside = !named;
	if (r == ERR_NONE)
		r = exec_body_command(rq, x, e);
	if (r == ERR_NONE)
		r = launch_cwd(rq, &x->launch, x->cwd, e);
	return r;
}

/* In a session, what is relative is so to its directory. */
static enum err exec_body_place(struct link *l, struct exec_body *x,
				struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(4 * LAUNCH_PATH_MAX);
	enum err r;

	if (!x->launch.cwd_given || x->cwd[0] == '/')
		return ERR_NONE;
	r = session_path(l, x->session_id, x->cwd, &b, e);
	if (r != ERR_NONE)
		return r;
	if (b.len > LAUNCH_PATH_MAX)
		return err_http_field(l->rq, e, "cwd", "is too long");
	memcpy(x->launch.cwd, b.data, b.len + 1);
	return ERR_NONE;
}

static enum err exec_body_session(struct link *l, struct exec_body *x,
				  struct keeper_start *s, struct errinfo *e)
{
	enum err r = exec_body_place(l, x, e);

	if (r == ERR_NONE)
		r = json_in_env(x->env, &x->launch.env, &x->launch.envc, e);
	if (r == ERR_NONE && s->kind == EXEC_CALL && x->timeout_ms < 0) {
		r = session_timeout(l->rq, x->session_id, &x->timeout_ms, e);
		if (x->timeout_ms > l->rq->sandbox.limits.of[LIMIT_WALL])
			x->timeout_ms = 0; /* that one is sooner */
	}
	s->session = x->session_id;
	if (x->aside)
		s->flags |= KF_ASIDE;
	return r;
}

static void exec_body_flags(const struct request *rq, const struct exec_body *x,
			    struct keeper_start *s)
{
	if (x->merge)
		s->flags |= KF_MERGE;
	if (x->open_stdin)
		s->flags |= KF_STDIN_OPEN;
	if (x->end_output) {
		s->flags |= KF_OUTPUT_MAX;
		s->output_max = (uint64_t)rq->sandbox.limits.of[LIMIT_OUTPUT];
	}
}

enum err exec_body_launch(struct link *l, struct exec_body *x,
			  struct keeper_start *s, struct errinfo *e)
{
	enum err r;
	const struct json_blob *in = x->stdin_text.p != NULL ? &x->stdin_text
							     : &x->stdin_base64;

	if (x->session_id[0] != '\0')
		r = exec_body_session(l, x, s, e);
	else
		r = launch_env(l->rq, &x->launch, x->env, e);
	if (r != ERR_NONE)
		return r;
	launch_fill(l->rq, &x->launch, s);
	if (x->user != NULL)
		s->user = x->user;
	s->stdin_data = in->p;
	s->stdin_len = in->n;
	if (x->timeout_ms < 0)
		x->timeout_ms = 0;
	r = launch_timeout(l->rq, "timeoutMs", &x->timeout_ms, &s->flags, e);
	if (r != ERR_NONE)
		return r;
	s->timeout_ms = (uint64_t)x->timeout_ms;
	s->grace_ms = (uint32_t)x->grace_ms;
	exec_body_flags(l->rq, x, s);
	return ERR_NONE;
}

/* No program of that name. */
static bool start_missing(enum err r, const struct errinfo *e)
{
	return r == ERR_NOT_FOUND && strcmp(e->text, "argv") == 0;
}

static enum err start_alone(struct link *l, struct exec_body *x,
			    struct keeper_start *s, uint32_t *pid,
			    struct errinfo *e)
{
	enum err r = link_start(l, s, NULL, 0, pid, e);

	if (start_missing(r, e) && launch_plainly(&x->launch))
		r = link_start(l, s, NULL, 0, pid, e);
	return r;
}

enum err exec_body_start(struct link *l, struct exec_body *x,
			 struct keeper_start *s, uint32_t *pid,
			 struct errinfo *e)
{
	bool session = x->session_id[0] != '\0';
	enum err r = session ? session_start(l->rq, l, s, pid, e)
			     : start_alone(l, x, s, pid, e);

	if (r == ERR_NONE || (r == ERR_EXISTS && strcmp(e->text, "id") == 0))
		return r;
	if (l->rq->failure.code != HTTP_CODE_NONE)
		return r;
	if (start_missing(r, e) && (session || x->launch.shell))
		return launch_no_shell(l->rq, &x->launch, e);
	return launch_refused(l->rq, &x->launch, r, e);
}

const char *exec_body_cwd(const struct exec_body *x)
{
	return x->launch.cwd_given || x->session_id[0] == '\0' ? x->launch.cwd
							       : "";
}

#include <json-c/json.h>
#include <string.h>

#include "fcgi/body.h"
#include "fcgi/exec_body.h"

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
    {"graceMs", NULL, JSON_INT, AT(grace_ms), false, 0, 600000},
    {"processId", NULL, JSON_TEXT, AT(process_id), false, 0, SOME},
    {"autoCleanup", NULL, JSON_BOOL, AT(auto_cleanup), false, 0, 0},
    /* The wire's clients send these; they mean nothing here. */
    {"origin", NULL, JSON_SKIP, 0, false, 0, 0},
    {"stream", NULL, JSON_SKIP, 0, false, 0, 0},
};

void exec_body_free(struct exec_body *x)
{
	launch_free(&x->launch);
	buf_free(&x->shown);
}

static enum err exec_body_words(struct request *rq, bool keep,
				struct exec_body *x, struct errinfo *e)
{
	const char *enc = x->encoding, *on = x->on_disconnect;

	x->keep = keep;
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
	if (x->process_id != NULL && !id_text_ok(x->process_id))
		return err_http_field(rq, e, "processId",
				      "must be 1 to 128 of A-Z a-z 0-9 . _ -, "
				      "starting with none of . -");
	if (x->stdin_text.p != NULL && x->stdin_base64.p != NULL)
		return err_http_field(rq, e, "stdinBase64",
				      "excludes stdin: give one of them");
	return ERR_NONE;
}

static enum err exec_body_command(struct request *rq, struct exec_body *x,
				  struct errinfo *e)
{
	size_t n;

	if (x->command != NULL && x->argv != NULL)
		return err_http_field(rq, e, "argv",
				      "excludes command: give one of them");
	if (x->command == NULL && x->argv == NULL)
		return err_http_field(rq, e, "command", "is needed");
	if (x->command != NULL) {
		if (x->command[strspn(x->command, " \t\r\n")] == '\0')
			return err_http_fail(rq, e, HTTP_INVALID_COMMAND,
					     "The command is empty");
		return launch_shell(&x->launch, x->command, e);
	}
	n = json_object_array_length(x->argv);
	for (size_t i = 0; i < n; i++) {
		struct json_object *v = json_object_array_get_idx(x->argv, i);

		if (json_object_get_string_len(v) > (int)(128 * KIB) - 1)
			return err_http_field(rq, e, "argv",
					      "one argument is too long");
		buf_addf(&x->shown, "%s%s", i > 0 ? " " : "",
			 json_object_get_string(v));
	}
	if (!buf_ok(&x->shown))
		return err_http_field(rq, e, "argv", "too long");
	x->command = buf_str(&x->shown);
	if (json_object_get_string_len(json_object_array_get_idx(x->argv, 0)) ==
	    0)
		return err_http_fail(rq, e, HTTP_INVALID_COMMAND,
				     "The command is empty");
	return launch_argv(&x->launch, x->argv, e);
}

enum err exec_body_read(struct request *rq, bool keep, struct exec_body *x,
			struct errinfo *e)
{
	enum err r = body_json(rq, exec_fields, JSON_COUNT(exec_fields), x, e);

	if (r == ERR_NONE)
		r = exec_body_words(rq, keep, x, e);
	if (r == ERR_NONE)
		r = exec_body_command(rq, x, e);
	if (r == ERR_NONE)
		r = launch_cwd(rq, &x->launch, x->cwd, e);
	return r;
}

enum err exec_body_launch(struct request *rq, struct exec_body *x,
			  struct keeper_start *s, struct errinfo *e)
{
	enum err r = launch_env(rq, &x->launch, x->env, e);
	const struct json_blob *in = x->stdin_text.p != NULL ? &x->stdin_text
							     : &x->stdin_base64;

	if (r != ERR_NONE)
		return r;
	launch_fill(rq, &x->launch, s);
	s->stdin_data = in->p;
	s->stdin_len = in->n;
	r = launch_timeout(rq, "timeoutMs", &x->timeout_ms, &s->flags, e);
	if (r != ERR_NONE)
		return r;
	s->timeout_ms = (uint64_t)x->timeout_ms;
	s->grace_ms = (uint32_t)x->grace_ms;
	if (x->merge)
		s->flags |= KF_MERGE;
	return ERR_NONE;
}

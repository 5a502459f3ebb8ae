/* What execute, execute/stream and process/start are asked with. */
#ifndef FCGI_EXEC_BODY_H
#define FCGI_EXEC_BODY_H

#include "fcgi/launch.h"
#include "fcgi/sandbox_link.h"

#define EXEC_STDIN_MAX (32 * (int64_t)MIB)

struct exec_body {
	const char *command;
	struct json_object *argv;
	const char *session;
	bool background;
	int64_t timeout_ms; /* -1: the session's, if it has one */
	struct json_object *env;
	const char *cwd;
	struct json_blob stdin_text;
	struct json_blob stdin_base64;
	bool merge;
	const char *encoding;
	const char *on_disconnect;
	const char *on_output_limit;
	int64_t grace_ms;
	const char *process_id;
	bool auto_cleanup;
	bool open_stdin;
	/* Of terminals only: */
	bool terminal;
	const char *user; /* NULL: the sandbox' */
	/* Found from the above: */
	id_text_t session_id; /* "": none */
	bool aside;           /* no session was named: wait for no call */
	bool base64;
	bool keep;         /* the client's end is not the program's */
	bool end_output;   /* it ends when it prints more than outputBytes */
	struct buf shown;  /* the command to show: argv joined */
	struct buf quoted; /* argv for a session's shell */
	struct launch launch;
};

#define EXEC_BODY_INIT                                                         \
	{                                                                      \
		.timeout_ms = -1, .grace_ms = 2000,                            \
		.shown = BUF_INIT(LAUNCH_COMMAND_MAX),                         \
		.quoted = BUF_INIT(4U * MIB)                                   \
	}

void exec_body_free(struct exec_body *x);

/**
 * exec_body_read(rq, keep, x, e):
 * The body of the request, checked; ${keep} is the default of onDisconnect,
 * but what may be retried is kept. argv is run in a session only if one is
 * named. The environment is for exec_body_launch().
 * Errors: each with its failure noted.
 */
FALLIBLE enum err exec_body_read(struct request *rq, bool keep,
				 struct exec_body *x, struct errinfo *e);

/**
 * exec_body_launch(l, x, s, e):
 * Once ${l} is open: argv, env, cwd, stdin, times and session into ${s}, but
 * no id and kind. A command's timeout that was not given is the session's.
 */
FALLIBLE enum err exec_body_launch(struct link *l, struct exec_body *x,
				   struct keeper_start *s, struct errinfo *e);

/**
 * exec_body_start(l, x, s, pid, e):
 * START it, in its session or without. Errors: why the keeper did not, told
 * as launch_refused() does.
 */
FALLIBLE enum err exec_body_start(struct link *l, struct exec_body *x,
				  struct keeper_start *s, uint32_t *pid,
				  struct errinfo *e);

/** exec_body_cwd(x): The directory to tell of; "" when only the shell knows. */
const char *exec_body_cwd(const struct exec_body *x);

#endif

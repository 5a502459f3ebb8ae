/* What execute, execute/stream and process/start are asked with. */
#ifndef FCGI_EXEC_BODY_H
#define FCGI_EXEC_BODY_H

#include "fcgi/launch.h"

#define EXEC_STDIN_MAX (32 * (int64_t)MIB)

struct exec_body {
	const char *command;
	struct json_object *argv;
	const char *session;
	bool background;
	int64_t timeout_ms;
	struct json_object *env;
	const char *cwd;
	struct json_blob stdin_text;
	struct json_blob stdin_base64;
	bool merge;
	const char *encoding;
	const char *on_disconnect;
	int64_t grace_ms;
	const char *process_id;
	bool auto_cleanup;
	/* Found from the above: */
	bool base64;
	bool keep;        /* the client's end is not the program's */
	struct buf shown; /* the command to show: argv joined */
	struct launch launch;
};

#define EXEC_BODY_INIT                                                         \
	{                                                                      \
		.grace_ms = 2000, .shown = BUF_INIT(LAUNCH_COMMAND_MAX)        \
	}

void exec_body_free(struct exec_body *x);

/**
 * exec_body_read(rq, keep, x, e):
 * The body of the request, checked; ${keep} is the default of onDisconnect.
 * The environment is for exec_body_launch().
 * Errors: each with its failure noted.
 */
FALLIBLE enum err exec_body_read(struct request *rq, bool keep,
				 struct exec_body *x, struct errinfo *e);

/**
 * exec_body_launch(rq, x, s, e):
 * Once the sandbox is known: argv, env, cwd, stdin and times into ${s}, but
 * no id, kind and flags other than KF_MERGE.
 */
FALLIBLE enum err exec_body_launch(struct request *rq, struct exec_body *x,
				   struct keeper_start *s, struct errinfo *e);

#endif

/* What a program is started with: argv, environment, cwd. */
#ifndef FCGI_LAUNCH_H
#define FCGI_LAUNCH_H

#include "base/keeper_msg.h"
#include "fcgi/route.h"

#define LAUNCH_CWD "/workspace"
#define LAUNCH_PATH_MAX 4096
#define LAUNCH_TIMEOUT_MAX_MS (INT64_C(7) * 24 * 3600 * 1000)

/* The kernel takes at most 128 KiB in one argument. */
#define LAUNCH_ARG_MAX (100U * KIB)
#define LAUNCH_COMMAND_MAX (3U * MIB / 2)

struct launch {
	const char **argv;
	uint32_t argc;
	char **owned; /* the argv strings that were made here */
	uint32_t nowned;
	char **env;
	uint32_t envc;
	char cwd[LAUNCH_PATH_MAX + 1];
	bool cwd_given; /* it must exist */
	bool shell;     /* argv is launch_shell()'s */
};

/** launch_free(x): NULL and all-zero are fine. */
void launch_free(struct launch *x);

/**
 * launch_shell(x, command, e):
 * argv that has bash run ${command}, however long, with stdin left alone.
 */
FALLIBLE enum err launch_shell(struct launch *x, const char *command,
			       struct errinfo *e);

/**
 * launch_plainly(x):
 * What launch_shell() made, but by /bin/sh, for images without bash. False:
 * it is none, or was done already.
 */
bool launch_plainly(struct launch *x);

/** launch_no_shell(rq, x, e): Tell that the shell for it is missing: what
 * launch_shell() made has tried both, anything else is a session's. */
enum err launch_no_shell(struct request *rq, const struct launch *x,
			 struct errinfo *e);

/**
 * launch_pieces(x, command, e):
 * ${command} for a session's shell: as argv whose parts are to be joined.
 */
FALLIBLE enum err launch_pieces(struct launch *x, const char *command,
				struct errinfo *e);

/**
 * launch_quoted(texts, out):
 * A command that has a shell run argv ${texts} just as it is: quoted, and
 * without the shell's own commands and functions. ${out} may overflow.
 */
void launch_quoted(struct json_object *texts, struct buf *out);

/** launch_argv(x, texts, e): argv from a JSON array that json_in checked. */
FALLIBLE enum err launch_argv(struct launch *x, struct json_object *texts,
			      struct errinfo *e);

/**
 * launch_env(rq, x, env, e):
 * The sandbox's environment with the call's over it; ${env} is a checked
 * JSON object or NULL.
 */
FALLIBLE enum err launch_env(struct request *rq, struct launch *x,
			     struct json_object *env, struct errinfo *e);

/**
 * launch_timeout(rq, field, timeout_ms, flags, e):
 * No longer than the sandbox's wallMs: ${timeout_ms} that is longer is
 * refused, naming ${field}; 0 becomes wallMs, with KF_WALL in ${flags}.
 */
FALLIBLE enum err launch_timeout(struct request *rq, const char *field,
				 int64_t *timeout_ms, uint32_t *flags,
				 struct errinfo *e);

/**
 * launch_cwd(rq, x, cwd, e):
 * ${cwd} (NULL: /workspace), a relative one below /workspace.
 * Errors: ERR_ARG with the failure noted: too long.
 */
FALLIBLE enum err launch_cwd(struct request *rq, struct launch *x,
			     const char *cwd, struct errinfo *e);

/** launch_fill(rq, x, s): argv, env, cwd and user of ${s}. */
void launch_fill(const struct request *rq, const struct launch *x,
		 struct keeper_start *s);

/**
 * launch_full(rq, r, e):
 * The keeper refused a start with ${r}; if that was for a limit, tell which,
 * and what ends it. Otherwise hands on.
 */
enum err launch_full(struct request *rq, enum err r, struct errinfo *e);

/**
 * launch_refused(rq, x, r, e):
 * Tell why the keeper did not start it, when that is the caller's doing: a
 * missing cwd or program, an argv too long, a limit. Otherwise hands on.
 */
enum err launch_refused(struct request *rq, const struct launch *x, enum err r,
			struct errinfo *e);

#endif

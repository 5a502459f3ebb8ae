/* What the calls that watch have in common: their body, path and limits. */
#ifndef FCGI_WATCH_BODY_H
#define FCGI_WATCH_BODY_H

#include "base/watch_msg.h"
#include "fcgi/fs_call.h"

/* Watches of a sandbox at once, streams and remembered checks. */
#define WATCH_MAX 64
#define WATCH_PREFIX "watch-" /* of their executions' ids */
#define WATCH_ARGS_MAX (4 + WATCH_GLOBS_MAX)
#define WATCH_GLOBS_BYTES ((size_t)WATCH_GLOBS_MAX * (WATCH_GLOB_MAX + 2))

struct watch_body {
	const char *path;
	const char *since; /* check only */
	bool recursive;
	uint64_t types; /* of enum watch_type */
	struct json_object *events;
	struct json_object *include;
	struct json_object *exclude;
	const char *session;
	struct buf full; /* the path, absolute, without "." and ".." */
	char types_text[24];
	struct buf globs; /* "+a\0-b\0…" */
	const char *argv[WATCH_ARGS_MAX];
	uint32_t argc;
};

#define WATCH_BODY_INIT                                                        \
	{                                                                      \
		.recursive = true, .full = BUF_INIT(2 * FS_CALL_PATH_MAX),     \
		.globs = BUF_INIT(WATCH_GLOBS_BYTES)                           \
	}

/**
 * watch_body_read(rq, check, b, e):
 * Read the body; ${check}: it may have "since". Errors: with 400 noted.
 */
FALLIBLE enum err watch_body_read(struct request *rq, bool check,
				  struct watch_body *b, struct errinfo *e);

/**
 * watch_body_args(rq, l, op, b, e):
 * b->full and b->argv, to do ${op}. Errors: with 400, 403 noted; the keeper's.
 */
FALLIBLE enum err watch_body_args(struct request *rq, struct link *l,
				  const char *op, struct watch_body *b,
				  struct errinfo *e);

/** watch_body_key(b): A number that stands for what is watched, and how. */
uint64_t watch_body_key(const struct watch_body *b);

void watch_body_free(struct watch_body *b);

/**
 * watch_body_cap(rq, e):
 * 429 when the sandbox has more watches than it may. Call it when the own one
 * runs: so however many come at once, no more stay.
 */
FALLIBLE enum err watch_body_cap(struct request *rq, struct errinfo *e);

/** watch_body_failed(c, e): fs_call_failed, naming an inotify limit. */
enum err watch_body_failed(struct fs_call *c, struct errinfo *e);

#endif

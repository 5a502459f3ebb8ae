/* What the bodies of file calls have in common. */
#ifndef FCGI_FILE_BODY_H
#define FCGI_FILE_BODY_H

#include "fcgi/fs_call.h"
#include "fcgi/json_in.h"
#include "fcgi/json_out.h"

#define FILE_ANSWER_MAX (64U * KIB)

/* A field that names a path: not empty, no NUL, not too long. */
#define FILE_PATH_FIELD(key, place)                                            \
	{                                                                      \
		key, NULL, JSON_TEXT, place, true, 1, FS_CALL_PATH_MAX         \
	}

/* For relative paths: fs_call_open() looks for it. */
#define FILE_SESSION_FIELD                                                     \
	{                                                                      \
		"sessionId", NULL, JSON_SKIP, 0, false, 0, 0                   \
	}

/** file_body_op(rq, op): Whatever fails from here on fails in ${op}. */
void file_body_op(struct request *rq, const char *op);

/**
 * file_body_run(rq, mode, op, argv, argc, e):
 * An operation that only succeeds or fails.
 */
FALLIBLE enum err file_body_run(struct request *rq, enum link_mode mode,
				const char *op, const char *const *argv,
				uint32_t argc, struct errinfo *e);

/**
 * file_body_bytes(rq, content, encoding, own, out, e):
 * The bytes that ${content} means: as they came, or decoded into ${own}.
 * Owns: ${own} is the caller's. Errors: ERR_ARG with the failure noted.
 */
FALLIBLE enum err file_body_bytes(struct request *rq,
				  const struct json_blob *content,
				  const char *encoding, char **own,
				  struct json_blob *out, struct errinfo *e);

/** file_body_start(o): {"success":true… of what file_body_send ends. */
void file_body_start(struct json_out *o);

/** file_body_send(rq, o, e): …,"timestamp":now}, status 200. */
FALLIBLE enum err file_body_send(struct request *rq, struct json_out *o,
				 struct errinfo *e);

#endif

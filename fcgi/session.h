/*
 * Sessions as the API has them: which one a call means, and the keeper's
 * session for it, which is made when a call first names it.
 */
#ifndef FCGI_SESSION_H
#define FCGI_SESSION_H

#include "fcgi/sandbox_link.h"

#define SESSION_DEFAULT "default"
#define SESSION_NONE "__DISABLE_SESSION__"

struct json_object;

/**
 * session_choose(rq, given, out, named, e):
 * ${given} (the body's sessionId, or NULL), else X-Session-Id, else
 * ?session=, else ?sessionId=, else "default"; ${out} is "" for
 * SESSION_NONE. ${named}: it was asked for; else a call waits for no other.
 * Errors: ERR_ARG with 400 noted.
 */
FALLIBLE enum err session_choose(struct request *rq, const char *given,
				 id_text_t out, bool *named, struct errinfo *e);

/**
 * session_make(rq, l, id, cwd, env, e):
 * A session with the sandbox's environment and ${env} (or NULL; null values
 * unset) over it. Errors: ERR_EXISTS, ERR_LIMIT, ERR_ARG as the keeper says.
 */
FALLIBLE enum err session_make(struct request *rq, struct link *l,
			       const char *id, const char *cwd,
			       struct json_object *env, struct errinfo *e);

/**
 * session_start(rq, l, s, pid, e):
 * link_start() in the session s->session; makes it with the settings that are
 * stored for it, if there is none. Blocks: until its turn comes; the store
 * connection is parked meanwhile.
 * Errors: as link_start; ERR_STATE with 410 noted when it was deleted.
 */
FALLIBLE enum err session_start(struct request *rq, struct link *l,
				struct keeper_start *s, uint32_t *pid,
				struct errinfo *e);

/** session_timeout(rq, id, ms, e): Of each command; 0: none. */
FALLIBLE enum err session_timeout(struct request *rq, const char *id,
				  int64_t *ms, struct errinfo *e);

/**
 * session_get(l, id, out, e):
 * ${out} lives until the next call on ${l}. Errors: ERR_NOT_FOUND.
 */
FALLIBLE enum err session_get(struct link *l, const char *id,
			      struct keeper_session *out, struct errinfo *e);

/** session_each(l, each, ctx, e): Call ${each} for all that the keeper has. */
FALLIBLE enum err session_each(struct link *l,
			       enum err (*each)(void *ctx,
						const struct keeper_session *s,
						struct errinfo *e),
			       void *ctx, struct errinfo *e);

/**
 * session_path(l, id, path, out, e):
 * Append ${path} to ${out}, a relative one below the directory of session
 * ${id} ("": none), or /workspace. Errors: those of the keeper.
 */
FALLIBLE enum err session_path(struct link *l, const char *id, const char *path,
			       struct buf *out, struct errinfo *e);

/** session_end(l, id, e): Forget it and kill its own. ERR_NOT_FOUND. */
FALLIBLE enum err session_end(struct link *l, const char *id,
			      struct errinfo *e);

/** session_compat(rq): The caller wants endings told as 0.12 tells them. */
bool session_compat(const struct request *rq);

#endif

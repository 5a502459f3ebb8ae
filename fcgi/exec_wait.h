/* Ending what runs, and seeing that it has ended. */
#ifndef FCGI_EXEC_WAIT_H
#define FCGI_EXEC_WAIT_H

#include "base/keeper_msg.h"
#include "fcgi/route.h"

#define EXEC_KILL_GRACE_MS 5000

/**
 * exec_wait_kill(rq, id, grace_ms, killed, e):
 * TERM to all of the execution ${id} in rq->sandbox, KILL to what is left
 * after ${grace_ms}; returns when it has ended. ${killed} is false when it
 * had ended before, or no keeper knows it.
 * Errors: ERR_GONE: the client left; ERR_TIMEOUT: it would not end.
 */
FALLIBLE enum err exec_wait_kill(struct request *rq, const char *id,
				 uint32_t grace_ms, bool *killed,
				 struct errinfo *e);

/**
 * exec_wait_exit(rq, id, until_ms, end, e):
 * Until ${id}, which runs, has ended; end->reason is END_NONE when nobody
 * knows how. Errors: ERR_GONE: the client left; ERR_TIMEOUT at ${until_ms}.
 */
FALLIBLE enum err exec_wait_exit(struct request *rq, const char *id,
				 int64_t until_ms, struct keeper_end *end,
				 struct errinfo *e);

/** exec_wait_signal(rq, id, signal, sent, e): One signal to all of it. */
FALLIBLE enum err exec_wait_signal(struct request *rq, const char *id,
				   uint32_t signal, bool *sent,
				   struct errinfo *e);

/**
 * exec_wait_kill_all(rq, grace_ms, n, e):
 * As exec_wait_kill for all background processes, and KILL at once to what
 * ended executions left running; ${n}: how many of both there were.
 */
FALLIBLE enum err exec_wait_kill_all(struct request *rq, uint32_t grace_ms,
				     uint64_t *n, struct errinfo *e);

#endif

/* Kernels out of a zygote: who makes them is not init, but init watches them.
 *
 *   START(KF_FORKED) -> FDS -> (a zygote forks) -> FORKED -> ADOPT
 *
 * Such a kernel has started when init adopted it and it said READY; whatever
 * goes wrong before is told as a refusal, and the kernel is forgotten.
 *
 * A spare one is adopted, but has nothing to begin with yet; START(KF_CLAIM)
 * gives it that, its id and its starter. Nobody hears of it before.
 */
#ifndef SANDBOX_KEEPER_FORK_H
#define SANDBOX_KEEPER_FORK_H

#include "sandbox/keeper.h"

/** fork_hand_out(x): FDS to who started ${x}, which waits for FORKED then. */
void fork_hand_out(struct exec *x);

/** fork_told(x, c, msg, pid): FORKED came, maybe with a listener, which is
 * taken. ${x} may be gone after it. */
void fork_told(struct exec *x, struct client *c, struct wire_msg *msg,
	       uint32_t pid);

/**
 * fork_spare(x, s, e):
 * ${x} is to be a spare one of ${s}'s kind: it does not begin yet.
 * Errors: ERR_LIMIT (enough of them), ERR_NOMEM.
 */
FALLIBLE enum err fork_spare(struct exec *x, const struct keeper_start *s,
			     struct errinfo *e);

/**
 * fork_claim(k, s, begin, out, e):
 * A spare one of ${s}'s kind becomes ${s}, and begins with ${begin}.
 * Errors: ERR_NOT_FOUND (none is there), ERR_ARG, ERR_EXISTS (id).
 */
FALLIBLE enum err fork_claim(struct keeper *k, const struct keeper_start *s,
			     const struct buf *begin, struct exec **out,
			     struct errinfo *e);

/** fork_waits(x, pid): Init adopted ${x}; true if READY is awaited still. */
bool fork_waits(struct exec *x, uint32_t pid);

/** fork_ready(x): It said READY. */
void fork_ready(struct exec *x);

/** fork_failed(x): It ended; if it had not started, ${x} is gone. */
void fork_failed(struct exec *x);

#endif

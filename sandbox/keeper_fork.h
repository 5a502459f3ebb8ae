/* Kernels out of a zygote: who makes them is not init, but init watches them.
 *
 *   START(KF_FORKED) -> FDS -> (a zygote forks) -> FORKED -> ADOPT
 *
 * Such a kernel has started when init adopted it and it said READY; whatever
 * goes wrong before is told as a refusal, and the kernel is forgotten.
 */
#ifndef SANDBOX_KEEPER_FORK_H
#define SANDBOX_KEEPER_FORK_H

#include "sandbox/keeper.h"

/** fork_hand_out(x): FDS to who started ${x}, which waits for FORKED then. */
void fork_hand_out(struct exec *x);

/** fork_told(x, c, tag, pid): FORKED came. ${x} may be gone after it. */
void fork_told(struct exec *x, struct client *c, uint32_t tag, uint32_t pid);

/** fork_waits(x, pid): Init adopted ${x}; true if READY is awaited still. */
bool fork_waits(struct exec *x, uint32_t pid);

/** fork_ready(x): It said READY. */
void fork_ready(struct exec *x);

/** fork_failed(x): It ended; if it had not started, ${x} is gone. */
void fork_failed(struct exec *x);

#endif

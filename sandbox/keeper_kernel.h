/*
 * The control link to the program behind a context. Payloads are the
 * kernel's JSON, which nobody here parses. One run at a time; others queue.
 */
#ifndef SANDBOX_KEEPER_KERNEL_H
#define SANDBOX_KEEPER_KERNEL_H

#include "sandbox/keeper.h"

/** kernel_open(x, fd, e): ${fd} (then ours) leads to ${x}'s kernel. */
FALLIBLE enum err kernel_open(struct exec *x, int fd, struct errinfo *e);

/** kernel_begin(x, payload): Its first frame, see kernel_msg.h. */
void kernel_begin(struct exec *x, const struct buf *payload);

/** kernel_is_ready(x): It said so. */
bool kernel_is_ready(const struct exec *x);

/** kernel_run(x, run): Queue a run; it starts when those before ended. */
void kernel_run(struct exec *x, struct exec *run);

/** kernel_target(x): Whose log gets what the kernel prints now. */
struct exec *kernel_target(struct exec *x);

/** kernel_stop_run(run, reason, grace_ms): Interrupt it; SIGINT, again, KILL.
 * A run that still waits ends at once. */
void kernel_stop_run(struct exec *run, enum end_reason reason,
		     uint32_t grace_ms);

/** kernel_signalled(x): No signal to it is on its way any more. */
void kernel_signalled(struct exec *x);

/** kernel_pause(x, paused): Do not read its frames for a while. */
void kernel_pause(struct exec *x, bool paused);

/** kernel_ended(x, end): Its program is gone: so are its runs. */
void kernel_ended(struct exec *x, const struct keeper_end *end);
void kernel_free(struct exec *x);

#endif

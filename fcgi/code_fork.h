/* A context's kernel out of a zygote, which takes milliseconds. */
#ifndef FCGI_CODE_FORK_H
#define FCGI_CODE_FORK_H

#include "fcgi/sandbox_link.h"

/**
 * code_fork(l, s, language, pid, e):
 * Start the kernel ${s} of ${language} by forking a zygote; with KF_SPARE
 * one that waits, see keeper_msg.h.
 * Errors: any, with nothing started and the id free again: start it by exec
 * then, which also tells what is wrong with ${s} if that is why. ERR_GONE:
 * the keeper died, or the client left.
 */
FALLIBLE enum err code_fork(struct link *l, const struct keeper_start *s,
			    const char *language, uint32_t *pid,
			    struct errinfo *e);

#endif

/* What the broker asks of the whole machine, and sets for it. */
#ifndef SANDBOX_HOST_H
#define SANDBOX_HOST_H

#include <stdbool.h>

#include "base/err.h"

/**
 * host_core_pattern(pattern, allowed, e):
 * Does a crash start a program outside of all sandboxes (core(5))? Then it is
 * ERR_STATE, with a sentence for the operator; only a warning if ${allowed}.
 */
FALLIBLE enum err host_core_pattern(const char *pattern, bool allowed,
				    struct errinfo *e);

/**
 * host_prepare(core_handler, e):
 * The above for this machine's pattern. Limits of the whole machine that
 * sandboxes would meet before their own are raised, never lowered: inotify
 * for each user, terminals for all. One that cannot be is told, no error.
 */
FALLIBLE enum err host_prepare(bool core_handler, struct errinfo *e);

#endif

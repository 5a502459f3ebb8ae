/*
 * Looking whether something listens on a port of the sandbox's loopback, and
 * what it answers. Both families count: an answer on one of them is one.
 */
#ifndef SANDBOX_KEEPER_PROBE_H
#define SANDBOX_KEEPER_PROBE_H

#include "sandbox/keeper_request.h"

#define PROBES_MAX 64

/** probe_check(c, msg): PORT_CHECK; as request_handle(). */
bool probe_check(struct client *c, struct wire_msg *msg);

/** probe_forget(c): ${c} goes; nobody waits for its answers any more. */
void probe_forget(const struct client *c);

#endif

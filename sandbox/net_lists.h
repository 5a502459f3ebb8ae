/*
 * Where a sandbox may go: its own lists, beside what the policy closes. They
 * are noted in R/net/<slot>, so that a broker that follows has them too.
 */
#ifndef SANDBOX_NET_LISTS_H
#define SANDBOX_NET_LISTS_H

#include "sandbox/net.h"
#include "sandbox/net_set.h"

/** net_lists_set(n, slot, req, e): Replace a sandbox's lists; connections that
 * the new ones forbid end. Errors: ERR_STATE (no way out), ERR_IO. */
FALLIBLE enum err net_lists_set(struct net *n, uint32_t slot,
				const struct broker_req *req,
				struct errinfo *e);

/** net_lists_forbid(n, slot, to): Its lists let it not reach that address. */
bool net_lists_forbid(const struct net *n, uint32_t slot, uint32_t to);

/** net_lists_clear(n, slot, b): Put their end into the transaction ${b}. */
void net_lists_clear(struct net *n, uint32_t slot, struct net_set_batch *b);

/** net_lists_drop(n, slot): Forget them; the ruleset has them no more. */
void net_lists_drop(struct net *n, uint32_t slot);

/** net_lists_read(n): Those that an earlier broker noted. */
void net_lists_read(struct net *n);

#endif

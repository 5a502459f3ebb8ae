/* One slot's way out: its interface pair, lists, connections, counters. */
#ifndef SANDBOX_NET_SLOT_H
#define SANDBOX_NET_SLOT_H

#include "sandbox/net.h"
#include "sandbox/net_set.h"

/**
 * net_slot_make(n, b, e):
 * A berth whose network namespace has eth0 with a way out. Errors: ERR_LIMIT,
 * ERR_IO; then nothing is left of it. Blocks: about 1 ms.
 */
FALLIBLE enum err net_slot_make(struct net *n, struct berth *b,
				struct errinfo *e);

/** net_slot_on_gone(net, events): Interfaces went: finish their slots. */
void net_slot_on_gone(void *net, uint32_t events);

/** net_slot_read_lists(n): The lists that an earlier broker noted. */
void net_slot_read_lists(struct net *n);

/** net_slot_close_all(n): The network goes down: forget all of them. */
void net_slot_close_all(struct net *n);

#endif

/* One slot's way out: its interface pair, lists, connections, counters. */
#ifndef SANDBOX_NET_SLOT_H
#define SANDBOX_NET_SLOT_H

#include "sandbox/net.h"

/**
 * net_slot_make(n, b, e):
 * A berth whose network namespace has eth0 with a way out. Errors: ERR_LIMIT,
 * ERR_IO; then nothing is left of it. Blocks: about 1 ms.
 */
FALLIBLE enum err net_slot_make(struct net *n, struct berth *b,
				struct errinfo *e);

/** net_slot_on_gone(net, events): Interfaces went: finish their slots. */
void net_slot_on_gone(void *net, uint32_t events);

/** net_slot_adopt(n, slot): A sandbox that we adopt has it, maybe with a way
 * out. */
void net_slot_adopt(struct net *n, uint32_t slot);

/**
 * net_slot_free(n, slot):
 * The sandbox of a slot is gone, with a way out or without. The slot is free
 * once its interface, connections, lists and counters are too.
 */
void net_slot_free(struct net *n, uint32_t slot);

/** net_slot_forgotten(n, slot): Its connections are forgotten. */
void net_slot_forgotten(struct net *n, uint32_t slot);

/** net_slot_denials(n, slot, out): What was refused; zeros without a way
 * out. */
void net_slot_denials(struct net *n, uint32_t slot, struct broker_denials *out);

/** net_slot_close_all(n): The network goes down: forget all of them. */
void net_slot_close_all(struct net *n);

#endif

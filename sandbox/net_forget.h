/* Connections of slots are forgotten, behind everybody's back. */
#ifndef SANDBOX_NET_FORGET_H
#define SANDBOX_NET_FORGET_H

#include "sandbox/net.h"

/**
 * net_forget_soon(n, slot):
 * Within some 200 ms its connections are forgotten, if its sandbox is gone,
 * else those that its lists forbid; then comes net_slot_forgotten().
 * Blocks: no.
 */
void net_forget_soon(struct net *n, uint32_t slot);

/** net_forget_close(n): Nothing is to be forgotten any more. */
void net_forget_close(struct net *n);

#endif

/*
 * The host's side of the way out: one veth pair, one nftables table, packets
 * forwarded between that and the uplink. See NETWORK.md, "What it changes".
 */
#ifndef SANDBOX_NET_HOST_H
#define SANDBOX_NET_HOST_H

#include "sandbox/net.h"

/** net_host_names(n): Fill in the interface's and the table's name. */
void net_host_names(struct net *n);

/**
 * net_host_open(n, e):
 * Make or repair it. Errors: ERR_STATE, ERR_IO; what was made is removed by
 * net_host_close().
 */
FALLIBLE enum err net_host_open(struct net *n, struct errinfo *e);

/** net_host_close(n): Remove all of it; what is not there is fine. */
void net_host_close(struct net *n);

/** net_host_read(n): Read the host's addresses and resolvers anew; true when
 * something changed. */
bool net_host_read(struct net *n);

/** net_host_reload(n, e): After a change: uplink, forwarding, table. */
FALLIBLE enum err net_host_reload(struct net *n, struct errinfo *e);

#endif

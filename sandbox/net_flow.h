/* Connections that conntrack remembers for a sandbox. */
#ifndef SANDBOX_NET_FLOW_H
#define SANDBOX_NET_FLOW_H

#include <libmnl/libmnl.h>
#include <stdint.h>

/**
 * net_flow_forget(egress, host, mark):
 * Forget all connections with that mark in the egress namespace, and their
 * second halves in the host's. Both sockets are NETLINK_NETFILTER ones. The
 * number, or -1 with errno. Blocks: one walk over the kernel's table.
 */
int net_flow_forget(struct mnl_socket *egress, struct mnl_socket *host,
		    uint32_t mark);

#endif

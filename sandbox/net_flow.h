/* Connections that conntrack remembers for sandboxes, by their mark. */
#ifndef SANDBOX_NET_FLOW_H
#define SANDBOX_NET_FLOW_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>

/* NETLINK_NETFILTER sockets that nobody else uses meanwhile. */
struct net_flow {
	struct mnl_socket *walk;   /* in the egress namespace */
	struct mnl_socket *egress; /* there too */
	struct mnl_socket *host;   /* in the host's */
};

typedef bool net_flow_want(void *arg, uint32_t mark, uint32_t to);

/**
 * net_flow_forget(f, one, want, arg):
 * Forget all connections that want(arg, mark, to) wants, by their mark and
 * the address that they lead to, and their second halves on the host.
 * ${one}: the only mark that it can want, or 0.
 * The number, or -1 with errno. Blocks: a walk over the kernel's whole table,
 * 5 ms and more: not for the broker's loop.
 */
int net_flow_forget(struct net_flow *f, uint32_t one, net_flow_want *want,
		    void *arg);

#endif

/*
 * Interfaces, addresses and routes by rtnetlink, in the network namespace in
 * which the socket was opened. Requests are answered before they return.
 */
#ifndef SANDBOX_NET_LINK_H
#define SANDBOX_NET_LINK_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/broker_msg.h"
#include "base/err.h"

/* Indices of our own choice: requests can name what does not exist yet. */
#define NET_LINK_UPLINK 1000
#define NET_LINK_SLOT 2000
#define NET_LINK_MAC 6

struct net_link_pair {
	const char *name;
	int index;   /* 0: the kernel's choice */
	int peer_ns; /* a descriptor */
	const char *peer;
	int peer_index;
	uint32_t mtu;
	const uint8_t
	    *mac; /* NET_LINK_MAC bytes, or NULL: the kernel's choice */
	const uint8_t *peer_mac;
};

/**
 * net_link_open(bus, groups, s, e):
 * A socket of that netlink bus in the present network namespace, as member of
 * the ${groups}. Never blocks. Owns: the caller closes it.
 */
FALLIBLE enum err net_link_open(int bus, unsigned groups, struct mnl_socket **s,
				struct errinfo *e);

/** net_link_close(s): NULL is fine. */
void net_link_close(struct mnl_socket **s);

/**
 * net_link_ask(s, m, cb, arg):
 * Send ${m} and handle all that is answered. 0, or -1 with errno.
 */
int net_link_ask(struct mnl_socket *s, struct nlmsghdr *m, mnl_cb_t cb,
		 void *arg);

/** net_link_pair(s, p): Make both ends; they are down. */
int net_link_pair(struct mnl_socket *s, const struct net_link_pair *p);

/** net_link_up(s, index): 0, or -1 with errno; so all of these. */
int net_link_up(struct mnl_socket *s, int index);

/** net_link_address(s, index, addr, prefix): Give it an address. */
int net_link_address(struct mnl_socket *s, int index, uint32_t addr,
		     uint8_t prefix);

/** net_link_neighbour(s, index, addr, mac): Known for ever: it is never asked
 * for, and takes no place in the kernel's one table of neighbours. */
int net_link_neighbour(struct mnl_socket *s, int index, uint32_t addr,
		       const uint8_t mac[NET_LINK_MAC]);

/** net_link_default(s, index, gateway): The default route. */
int net_link_default(struct mnl_socket *s, int index, uint32_t gateway);

/** net_link_delete(s, name): Fine when there is none. Blocks: 30 ms. */
int net_link_delete(struct mnl_socket *s, const char *name);

/** net_link_index(s, name, mtu): Its index, 0 when there is none. */
int net_link_index(struct mnl_socket *s, const char *name, uint32_t *mtu);

/** net_link_exists(s, index): There is an interface of that index. */
bool net_link_exists(struct mnl_socket *s, int index);

/** net_link_way_out(s): The index of the interface to the world, or 0. */
int net_link_way_out(struct mnl_socket *s);

/**
 * net_link_addresses(s, out, max):
 * All IPv4 addresses, with their prefixes, up to ${max}; their number.
 */
int net_link_addresses(struct mnl_socket *s, struct broker_cidr *out, int max);

#endif

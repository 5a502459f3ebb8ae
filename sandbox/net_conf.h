/*
 * How this machine gives sandboxes a network: [network] in D/warren.ini, all
 * optional, lists by commas:
 *
 *   pool        = 10.218.0.0/19   addresses of sandboxes, seen only in the
 *                                 egress namespace; 2 for each of 4096 slots
 *   link        = 169.254.77.0/30 between the host and the egress namespace
 *                                 (chosen by the instance's name)
 *   uplink      = eth0            where packets leave (the default route's)
 *   dns         = 9.9.9.9         resolvers to ask (those of the host)
 *   dns_refuse  = corp, internal  zones that are not looked up
 *   block       = 198.51.100.0/24 closed beside private ranges: this site's
 *   open        = 10.1.2.3        opened although private
 *   connections = 1024            at once, of one sandbox
 *   total       = 131072          of all sandboxes together (half of the
 *                                 host's nf_conntrack_max)
 *   rate        = 100             new connections in a second, of one sandbox
 */
#ifndef SANDBOX_NET_CONF_H
#define SANDBOX_NET_CONF_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/broker_msg.h"
#include "base/err.h"

#define NET_DNS_MAX 3

struct net_cidrs {
	int n;
	struct broker_cidr at[BROKER_CIDRS_MAX];
};

struct net_conf {
	struct broker_cidr pool;
	struct broker_cidr link; /* prefix 0: chosen */
	char uplink[IFNAMSIZ];   /* "": the default route's */
	struct net_cidrs dns;    /* none: the host's */
	struct net_cidrs block;
	struct net_cidrs open;
	char dns_refuse[512]; /* "/corp/internal" */
	uint32_t connections;
	uint32_t total; /* 0: by the host's table */
	uint32_t rate;
};

/**
 * net_conf_read(data_dir, c, e):
 * Defaults, then what the file says; without a file the defaults.
 * Errors: those of conf_read(); ${c} is as it was.
 */
FALLIBLE enum err net_conf_read(const char *data_dir, struct net_conf *c,
				struct errinfo *e);

/**
 * net_conf_resolvers(c, out):
 * Up to NET_DNS_MAX IPv4 addresses to ask: configured, of /etc/resolv.conf,
 * or of systemd-resolved's own where that names only loopback. 0: none.
 */
int net_conf_resolvers(const struct net_conf *c, uint32_t out[NET_DNS_MAX]);

/** net_cidr_parse(text, c): "10.0.0.0/8", "10.1.2.3"; false if it is none. */
bool net_cidr_parse(const char *text, struct broker_cidr *c);

/** net_cidr_ok(c): A prefix of at most 32, and no bits below it. */
bool net_cidr_ok(const struct broker_cidr *c);

/** net_cidr_mask(prefix): 24: 0xffffff00. */
static inline uint32_t net_cidr_mask(unsigned prefix)
{
	return prefix == 0 ? 0 : ~UINT32_C(0) << (32 - prefix);
}

/** net_cidr_has(c, inner): ${inner} lies in ${c} or is the same. */
static inline bool net_cidr_has(const struct broker_cidr *c,
				const struct broker_cidr *inner)
{
	return c->prefix <= inner->prefix &&
	       (inner->addr & net_cidr_mask(c->prefix)) == c->addr;
}

/** net_slot_addr(c, slot): A sandbox's address; one below is its gateway. */
static inline uint32_t net_slot_addr(const struct net_conf *c, uint32_t slot)
{
	return c->pool.addr + 2 * slot + 1;
}

/** net_refused_mark(slot, d): The key under which refusals are counted. */
static inline uint32_t net_refused_mark(uint32_t slot, unsigned d)
{
	return (d + 1) << 16 | slot;
}

/** net_addr_text(addr, text): Dotted decimal. */
const char *net_addr_text(uint32_t addr, char text[16]);

#endif

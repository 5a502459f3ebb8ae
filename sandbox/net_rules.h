/*
 * The two rulesets: the egress namespace's and the host's small one. Texts of
 * net_*.nft with the words between @@ filled in, loaded by nft(8) as one
 * transaction that replaces what an earlier broker left.
 */
#ifndef SANDBOX_NET_RULES_H
#define SANDBOX_NET_RULES_H

#include "base/buf.h"
#include "sandbox/net_conf.h"

#define NET_RULES_MAX (4U << 20)
#define NET_HOSTS_MAX 256
/* Where sandboxes find the resolver: the same in every egress namespace. */
#define NET_RESOLVER "169.254.53.53"

/* The lists of a live sandbox: none lies within another of its list. */
struct net_lists {
	uint16_t ndeny;
	uint16_t nallow;
	struct broker_cidr at[BROKER_CIDRS_MAX]; /* deny, then allow */
};

struct net_rules {
	const struct net_conf *conf;
	const uint32_t *dns;
	int ndns;
	const struct broker_cidr *hosts; /* the host's addresses */
	int nhosts;
	struct net_lists *const *lists; /* of each slot, NULL: it has none */
	const char *table;              /* the host's table */
	const char *link;               /* the host's end of the way out */
	uint32_t egress;                /* the other end's address */
	const char *closed; /* "": forwarding was on before us; else the
			       interface for which we turned it on */
};

/** net_rules_egress(in, out), net_rules_host(in, out): The text; ${out}
 * fails without memory. */
void net_rules_egress(const struct net_rules *in, struct buf *out);
void net_rules_host(const struct net_rules *in, struct buf *out);

/**
 * net_rules_load(text, ns, e):
 * Load in the network namespace ${ns} (-1: our own). All or nothing.
 * Errors: ERR_NOT_FOUND (no nft program), ERR_IO. Blocks: some 50 ms.
 */
FALLIBLE enum err net_rules_load(const struct buf *text, int ns,
				 struct errinfo *e);

#endif

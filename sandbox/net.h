/*
 * Policy `internet`: a way out for sandboxes, and for nothing else.
 *
 *   sandbox --eth0 … sbN-- egress namespace --up0 … wr*-- host -- uplink
 *
 * A slot's /31 pair is routed, never bridged. The egress namespace checks
 * sources, refuses what no sandbox may reach, counts, and hides all sandboxes
 * behind its one address; the host hides that behind its own. All of it is
 * made at the first use and removed when the broker stops; a broker that
 * follows one that was killed takes it over (R/egress, R/net).
 */
#ifndef SANDBOX_NET_H
#define SANDBOX_NET_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/loop.h"
#include "sandbox/berth.h"
#include "sandbox/net_conf.h"
#include "sandbox/net_dns.h"
#include "sandbox/net_flow.h"
#include "sandbox/net_rules.h"

#define NET_READY_MAX 4
#define NET_WATCH_FILES 2

struct broker;

/* Used, its sandbox gone, its interface gone, then nothing of it is left. */
enum net_slot { NET_FREE = 0, NET_USED, NET_LEAVING, NET_GONE };

/* What is to happen to the connections of a slot. */
enum net_forget { NET_KEEP = 0, NET_FORGET, NET_FORGETTING };

struct net {
	struct broker *broker;
	struct net_conf conf;
	bool up;
	int64_t failed_ms; /* monotonic: not tried again at once */
	struct errinfo failure;
	int own_ns;
	int ns;                  /* the egress namespace */
	struct mnl_socket *rt;   /* rtnetlink there */
	struct mnl_socket *nf;   /* nfnetlink there */
	struct mnl_socket *gone; /* tells of interfaces there */
	struct mnl_socket *host_rt;
	struct net_flow flow;
	struct mnl_socket *moved; /* tells of addresses of the host */
	struct loop_watch gone_watch, moved_watch;
	struct loop_timer settle; /* after a change on the host */
	struct loop_timer tick;
	struct timespec files[NET_WATCH_FILES]; /* when they were written */
	int count; /* nf_conntrack_count of the egress namespace */
	bool full; /* no new connections: all together have too many */
	struct loop_timer sweep;  /* of slots whose interface still stands */
	struct loop_timer forget; /* connections of some are to be forgotten */
	struct loop_watch walk_watch;
	struct loop_watch push_watch;
	int push_pidfd;      /* the child that deletes interfaces, or -1 */
	int walk_pidfd;      /* the child that does so, or -1 */
	char link[IFNAMSIZ]; /* the host's end */
	char table[64];
	uint32_t link_addr; /* the /30's base: host + 1, egress + 2 */
	uint32_t mtu;
	char uplink[IFNAMSIZ];
	bool closed; /* we turned forwarding on at the uplink */
	uint32_t dns[NET_DNS_MAX];
	int ndns;
	struct broker_cidr hosts[NET_HOSTS_MAX];
	int nhosts;
	uint8_t state[BERTH_SLOTS];   /* enum net_slot */
	uint8_t forgets[BERTH_SLOTS]; /* enum net_forget */
	uint8_t sweeps[BERTH_SLOTS];  /* for how long it has been leaving */
	struct net_lists *lists[BERTH_SLOTS];
	struct berth ready[NET_READY_MAX];
	int nready;
	struct net_dns resolver;
};

/**
 * net_open(n, b, e):
 * Read the configuration and take over what an earlier broker left; else
 * nothing is done until the first net_take(). Errors: the configuration's.
 * A machine that cannot give a network is no error here.
 */
FALLIBLE enum err net_open(struct net *n, struct broker *b, struct errinfo *e);

/** net_close(n): Remove everything from the machine. */
void net_close(struct net *n);

/**
 * net_take(n, req, berth, e):
 * As berth_take(), with a way out under ${req}'s lists. The slot is given
 * back by net_slot_free(). Errors: ERR_STATE: this machine gives no network,
 * the log says why; ERR_LIMIT; ERR_IO. Blocks: some 100 ms at the first use,
 * else about 1 ms if none was ready.
 */
FALLIBLE enum err net_take(struct net *n, const struct broker_req *req,
			   struct berth *berth, struct errinfo *e);

/** net_refill(n): Make one ready, off the path of a start; true if more are
 * wanted. */
bool net_refill(struct net *n);

#endif

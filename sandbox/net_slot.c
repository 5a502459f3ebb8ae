#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/child.h"
#include "sandbox/net_forget.h"
#include "sandbox/net_link.h"
#include "sandbox/net_lists.h"
#include "sandbox/net_ns.h"
#include "sandbox/net_slot.h"

#define SWEEP_MS 1000
#define SWEEPS_MAX 3
#define GONE_TRIES 50 /* of 1 ms: an earlier pair of that name goes away */
#define REFUSED_STAY_MS (INT64_C(30) * 24 * 3600 * 1000) /* net_egress.nft */

/* ---- making ---- */

struct joining {
	struct net *net;
	const struct berth *berth;
};

static void macs(uint32_t slot, uint8_t gateway[6], uint8_t sandbox[6])
{
	const uint8_t m[6] = {
	    2, 'w', 0, 0, (uint8_t)(slot >> 8), (uint8_t)slot};

	memcpy(gateway, m, 6);
	memcpy(sandbox, m, 6);
	sandbox[2] = 1;
}

/* The pair; an old one of the slot may still be on its way out. */
static int make_pair(struct net *n, const struct net_link_pair *p)
{
	for (int i = 0; i < GONE_TRIES; i++) {
		if (net_link_pair(n->rt, p) == 0)
			return 0;
		if (errno != EEXIST && errno != EBUSY)
			return -1;
		usleep(1000);
	}
	return -1;
}

/* In the sandbox's namespace. No IPv6 on what is made from now on. */
static int join(void *arg)
{
	const struct joining *j = arg;
	struct net *n = j->net;
	uint32_t slot = j->berth->slot;
	uint32_t addr = net_slot_addr(&n->conf, slot);
	OWN(net_link_close) struct mnl_socket *inside = NULL;
	int index = NET_LINK_SLOT + (int)slot;
	uint8_t gateway[6], sandbox[6];
	char name[IFNAMSIZ];
	struct net_link_pair p = {.name = name,
				  .index = index,
				  .mac = gateway,
				  .peer_ns = j->berth->net_ns,
				  .peer = "eth0",
				  .peer_index = NET_LINK_UPLINK,
				  .peer_mac = sandbox,
				  .mtu = n->mtu};

	macs(slot, gateway, sandbox);
	snprintf(name, sizeof(name), "sb%u", slot);
	if (access("/proc/sys/net/ipv6", F_OK) == 0 &&
	    net_ns_put("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1") < 0)
		return -1;
	if (net_link_open(NETLINK_ROUTE, 0, &inside, NULL) != ERR_NONE ||
	    make_pair(n, &p) < 0)
		return -1;
	if (net_link_address(n->rt, index, addr - 1, 31) < 0 ||
	    net_link_up(n->rt, index) < 0 ||
	    net_link_neighbour(n->rt, index, addr, sandbox) < 0 ||
	    net_link_address(inside, NET_LINK_UPLINK, addr, 31) < 0 ||
	    net_link_up(inside, NET_LINK_UPLINK) < 0 ||
	    net_link_neighbour(inside, NET_LINK_UPLINK, addr - 1, gateway) < 0)
		return -1;
	return net_link_default(inside, NET_LINK_UPLINK, addr - 1);
}

enum err net_slot_make(struct net *n, struct berth *b, struct errinfo *e)
{
	struct berth got = BERTH_NONE;
	struct joining j = {.net = n, .berth = &got};
	enum err r = berth_take(&n->broker->berths, &got, e);

	if (r != ERR_NONE)
		return r;
	n->state[got.slot] = NET_USED;
	if (net_ns_in(n->own_ns, got.net_ns, join, &j) < 0) {
		r = err_set(e, ERR_IO, errno, "network of slot %u", got.slot);
		berth_close(&got);
		net_slot_free(n, got.slot);
		return r;
	}
	*b = got;
	return ERR_NONE;
}

/* ---- the end ---- */

/* Nothing can count or connect for it any more. */
static enum err clear_sets(struct net *n, uint32_t slot, struct errinfo *e)
{
	static const char *const sets[] = {"rates", "asks", "talks", "conns"};
	struct net_set_batch b;
	enum err r = net_set_begin(&b, e);

	if (r != ERR_NONE)
		return r;
	for (unsigned d = 0; d < BROKER_DENIAL_COUNT; d++)
		net_set_unmark(&b, "refused", net_refused_mark(slot + 1, d));
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		net_set_unmark(&b, sets[i], slot + 1);
	net_lists_clear(n, slot, &b);
	return net_set_commit(n->nf, &b, e);
}

void net_slot_forgotten(struct net *n, uint32_t slot)
{
	struct errinfo e;

	if (n->state[slot] != NET_GONE)
		return;
	if (clear_sets(n, slot, &e) != ERR_NONE) {
		/* Others must not get what this one had: it stays taken. */
		log_err("network of a slot", &e);
		net_forget_soon(n, slot);
		return;
	}
	net_lists_drop(n, slot);
	n->state[slot] = NET_FREE;
	berth_free_slot(&n->broker->berths, slot);
}

/* Its interface is gone: no packet can make anything of this again. */
static void maybe_gone(struct net *n, uint32_t slot)
{
	if (n->state[slot] != NET_LEAVING ||
	    net_link_exists(n->rt, NET_LINK_SLOT + (int)slot))
		return;
	n->state[slot] = NET_GONE;
	net_forget_soon(n, slot);
}

/* ---- interfaces that linger ---- */

static int delete_lingering(void *arg)
{
	OWN(net_link_close) struct mnl_socket *own = NULL;
	struct net *n = arg;

	if (net_link_open(NETLINK_ROUTE, 0, &own, NULL) != ERR_NONE)
		return -1;
	for (uint32_t i = 0; i < BERTH_SLOTS; i++) {
		char name[IFNAMSIZ];

		snprintf(name, sizeof(name), "sb%u", i);
		if (n->state[i] == NET_LEAVING && n->sweeps[i] >= SWEEPS_MAX &&
		    net_link_delete(own, name) < 0)
			return -1;
	}
	return 0;
}

static void on_pushed(void *arg, uint32_t events)
{
	struct net *n = arg;
	int status;

	(void)events;
	child_reap(n->push_pidfd, &status);
	loop_del(&n->broker->loop, &n->push_watch);
	own_fd(&n->push_pidfd);
	if (status != 0)
		log_line(LOG_WARN, "interfaces were not deleted: %#x",
			 (unsigned)status);
}

/*
 * A connection whose last words nobody confirms keeps its namespace for up to
 * two minutes. Then the interface goes alone; deleting it blocks for 30 ms, so
 * a child does it.
 */
static void push(struct net *n)
{
	pid_t pid;

	if (n->push_pidfd >= 0)
		return;
	pid = child_fork(&n->push_pidfd);
	if (pid == 0)
		_exit(net_ns_in(n->own_ns, n->ns, delete_lingering, n) < 0);
	if (pid < 0 || loop_add(&n->broker->loop, &n->push_watch, n->push_pidfd,
				EPOLLIN, on_pushed, n, NULL) != ERR_NONE) {
		log_line(LOG_ERROR, "no child to delete interfaces");
		own_fd(&n->push_pidfd);
	}
}

static void on_sweep(void *arg)
{
	struct net *n = arg;
	bool left = false, linger = false;

	for (uint32_t i = 0; i < BERTH_SLOTS; i++) {
		maybe_gone(n, i);
		if (n->state[i] != NET_LEAVING)
			continue;
		left = true;
		if (n->sweeps[i] < SWEEPS_MAX)
			n->sweeps[i]++;
		linger |= n->sweeps[i] == SWEEPS_MAX;
	}
	if (linger)
		push(n);
	if (left)
		loop_timer_set(&n->broker->loop, &n->sweep,
			       clock_mono_ms() + SWEEP_MS, on_sweep, n);
}

void net_slot_free(struct net *n, uint32_t slot)
{
	must(slot < BERTH_SLOTS);
	if (n->state[slot] != NET_USED) {
		berth_free_slot(&n->broker->berths, slot);
		return;
	}
	/* The kernel takes namespaces down behind our back. */
	n->state[slot] = NET_LEAVING;
	n->sweeps[slot] = 0;
	maybe_gone(n, slot);
	if (n->state[slot] == NET_LEAVING && !n->sweep.armed)
		loop_timer_set(&n->broker->loop, &n->sweep,
			       clock_mono_ms() + SWEEP_MS, on_sweep, n);
}

static int on_link_gone(const struct nlmsghdr *m, void *arg)
{
	const struct ifinfomsg *i = mnl_nlmsg_get_payload(m);
	int slot = i->ifi_index - NET_LINK_SLOT;

	if (m->nlmsg_type == RTM_DELLINK && slot >= 0 &&
	    slot < (int)BERTH_SLOTS)
		maybe_gone(arg, (uint32_t)slot);
	return MNL_CB_OK;
}

void net_slot_on_gone(void *arg, uint32_t events)
{
	struct net *n = arg;
	char message[16384];
	ssize_t len;

	(void)events;
	while ((len = mnl_socket_recvfrom(n->gone, message, sizeof(message))) >
		   0 ||
	       errno == ENOBUFS)
		if (len > 0)
			mnl_cb_run(message, (size_t)len, 0, 0, on_link_gone, n);
}

void net_slot_adopt(struct net *n, uint32_t slot)
{
	berth_mark_slot(&n->broker->berths, slot);
	if (n->up && net_link_exists(n->rt, NET_LINK_SLOT + (int)slot))
		n->state[slot] = NET_USED;
}

void net_slot_close_all(struct net *n)
{
	loop_timer_del(&n->broker->loop, &n->sweep);
	net_forget_close(n);
	loop_del(&n->broker->loop, &n->push_watch);
	own_fd(&n->push_pidfd); /* it ends by itself */
	while (n->nready > 0) {
		struct berth *b = &n->ready[--n->nready];

		n->state[b->slot] = NET_FREE;
		berth_close(b);
		berth_free_slot(&n->broker->berths, b->slot);
	}
	for (uint32_t i = 0; i < BERTH_SLOTS; i++) {
		net_lists_drop(n, i);
		if (n->state[i] == NET_LEAVING || n->state[i] == NET_GONE)
			berth_free_slot(&n->broker->berths, i);
		n->state[i] = NET_FREE;
	}
}

/* ---- what was refused ---- */

void net_slot_denials(struct net *n, uint32_t slot, struct broker_denials *out)
{
	int64_t now = clock_unix_ms();

	if (!n->up || n->state[slot] != NET_USED)
		return;
	for (unsigned d = 0; d < BROKER_DENIAL_COUNT; d++) {
		uint64_t packets, left;

		if (!net_set_count(n->nf, "refused",
				   net_refused_mark(slot + 1, d), &packets,
				   &left))
			continue;
		out->of[d].packets = packets;
		out->of[d].last_unix_ms = now -
					  (REFUSED_STAY_MS - (int64_t)left);
	}
}

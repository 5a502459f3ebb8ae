#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include "sandbox/net_flow.h"
#include "sandbox/net_link.h"
#include "sandbox/net_ns.h"
#include "sandbox/net_slot.h"

#define SWEEP_MS 1000
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
		net_free_slot(n, got.slot);
		return r;
	}
	*b = got;
	return ERR_NONE;
}

/* ---- lists ---- */

static void file_of(uint32_t slot, char path[32])
{
	snprintf(path, 32, "net/%u", slot);
}

static bool within(const struct broker_cidr *at, int n,
		   const struct broker_cidr *c)
{
	for (int i = 0; i < n; i++)
		if (net_cidr_has(&at[i], c))
			return true;
	return false;
}

/* Copy those that lie in no other: sets of ranges take no nested ones. */
static uint16_t widest(const struct broker_cidr *from, int n,
		       struct broker_cidr *to)
{
	uint16_t kept = 0;

	for (unsigned prefix = 0; prefix <= 32; prefix++)
		for (int i = 0; i < n; i++)
			if (from[i].prefix == prefix &&
			    !within(to, kept, &from[i]))
				to[kept++] = from[i];
	return kept;
}

static void batch_lists(struct net_set_batch *b, uint32_t slot,
			const struct net_lists *l, bool in)
{
	void (*range)(struct net_set_batch *, const char *, uint32_t,
		      const struct broker_cidr *) = in ? net_set_range
						       : net_set_unrange;

	for (int i = 0; i < l->ndeny + l->nallow; i++)
		range(b, i < l->ndeny ? "deny" : "allow", slot + 1, &l->at[i]);
	if (l->nallow > 0 && in)
		net_set_mark(b, "limited", slot + 1);
	if (l->nallow > 0 && !in)
		net_set_unmark(b, "limited", slot + 1);
}

/* Written before they count, so that a broker that follows has them too. */
static enum err note_lists(struct net *n, uint32_t slot,
			   const struct net_lists *l, struct errinfo *e)
{
	char path[32];
	OWN(own_fd) int fd = -1;

	file_of(slot, path);
	if (l == NULL) {
		unlinkat(n->broker->run, path, 0);
		return ERR_NONE;
	}
	fd = openat(n->broker->run, path,
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, l, sizeof(*l)) != (ssize_t)sizeof(*l))
		return err_set(e, ERR_IO, errno, "lists of slot %u", slot);
	return ERR_NONE;
}

static struct net_lists *lists_of(const struct broker_req *req)
{
	struct net_lists *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->ndeny = widest(req->cidrs, req->ndeny, l->at);
	l->nallow = widest(req->cidrs + req->ndeny, req->nallow,
			   l->at + l->ndeny);
	return l;
}

enum err net_lists(struct net *n, uint32_t slot, const struct broker_req *req,
		   struct errinfo *e)
{
	OWN(own_mem) struct net_lists *l = NULL;
	struct net_set_batch b;
	enum err r;

	if (!n->up || n->state[slot] != NET_USED)
		return err_set(e, ERR_STATE, 0, "no way out");
	if (req->ndeny + req->nallow == 0 && n->lists[slot] == NULL)
		return ERR_NONE;
	if (req->ndeny + req->nallow > 0) {
		l = lists_of(req);
		if (l == NULL)
			return err_set(e, ERR_NOMEM, 0, "lists");
	}
	r = net_set_begin(&b, e);
	if (r != ERR_NONE)
		return r;
	if (n->lists[slot] != NULL)
		batch_lists(&b, slot, n->lists[slot], false);
	if (l != NULL)
		batch_lists(&b, slot, l, true);
	r = note_lists(n, slot, l, e);
	if (r != ERR_NONE)
		net_set_drop(&b);
	else
		r = net_set_commit(n->nf, &b, e);
	if (r != ERR_NONE)
		return r;
	free(n->lists[slot]);
	n->lists[slot] = STEAL(l);
	/* What goes on is looked at again, as if it were new. */
	net_flow_forget(n->nf, n->host_nf, slot + 1);
	return ERR_NONE;
}

static bool lists_ok(const struct net_lists *l)
{
	if (l->ndeny + l->nallow > BROKER_CIDRS_MAX)
		return false;
	for (int i = 0; i < l->ndeny + l->nallow; i++)
		if (!net_cidr_ok(&l->at[i]))
			return false;
	return true;
}

static void read_lists(struct net *n, int dir, const char *name)
{
	OWN(own_mem) struct net_lists *l = malloc(sizeof(*l));
	OWN(own_fd)
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	unsigned long slot = strtoul(name, NULL, 10);

	if (name[0] < '0' || name[0] > '9' || slot >= BERTH_SLOTS)
		return;
	if (l == NULL || fd < 0 ||
	    read(fd, l, sizeof(*l)) != (ssize_t)sizeof(*l) || !lists_ok(l)) {
		log_line(LOG_ERROR, "lists of slot %lu cannot be read", slot);
		return;
	}
	free(n->lists[slot]);
	n->lists[slot] = STEAL(l);
}

void net_slot_read_lists(struct net *n)
{
	int fd = openat(n->broker->run, "net",
			O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (d == NULL) {
		own_fd(&fd);
		return;
	}
	while ((de = readdir(d)) != NULL)
		read_lists(n, dirfd(d), de->d_name);
	closedir(d);
}

/* ---- the end ---- */

static void forget_lists(struct net *n, uint32_t slot)
{
	(void)!note_lists(n, slot, NULL, NULL);
	free(n->lists[slot]);
	n->lists[slot] = NULL;
}

/* Its interface is gone: no packet can make anything of this again. */
static void finish(struct net *n, uint32_t slot)
{
	static const char *const sets[] = {"rates", "asks", "talks", "conns"};
	struct net_set_batch b;
	struct errinfo e;
	enum err r;

	if (net_flow_forget(n->nf, n->host_nf, slot + 1) < 0)
		log_line(LOG_WARN, "connections of slot %u: %s", slot,
			 strerrordesc_np(errno));
	r = net_set_begin(&b, &e);
	if (r == ERR_NONE) {
		for (unsigned d = 0; d < BROKER_DENIAL_COUNT; d++)
			net_set_unmark(&b, "refused",
				       net_refused_mark(slot + 1, d));
		for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
			net_set_unmark(&b, sets[i], slot + 1);
		if (n->lists[slot] != NULL)
			batch_lists(&b, slot, n->lists[slot], false);
		r = net_set_commit(n->nf, &b, &e);
	}
	if (r != ERR_NONE) {
		/* Others must not get what this one had: it stays taken. */
		log_err("network of a slot", &e);
		return;
	}
	forget_lists(n, slot);
	n->state[slot] = NET_FREE;
	berth_free_slot(&n->broker->berths, slot);
}

static void maybe_finish(struct net *n, uint32_t slot)
{
	if (n->state[slot] == NET_LEAVING &&
	    !net_link_exists(n->rt, NET_LINK_SLOT + (int)slot))
		finish(n, slot);
}

static void on_sweep(void *arg)
{
	struct net *n = arg;
	bool left = false;

	for (uint32_t i = 0; i < BERTH_SLOTS; i++) {
		maybe_finish(n, i);
		left |= n->state[i] == NET_LEAVING;
	}
	if (left)
		loop_timer_set(&n->broker->loop, &n->sweep,
			       clock_mono_ms() + SWEEP_MS, on_sweep, n);
}

void net_free_slot(struct net *n, uint32_t slot)
{
	must(slot < BERTH_SLOTS);
	if (n->state[slot] != NET_USED) {
		berth_free_slot(&n->broker->berths, slot);
		return;
	}
	/* The kernel takes namespaces down behind our back. */
	n->state[slot] = NET_LEAVING;
	maybe_finish(n, slot);
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
		maybe_finish(arg, (uint32_t)slot);
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

void net_adopt(struct net *n, uint32_t slot)
{
	berth_mark_slot(&n->broker->berths, slot);
	if (n->up && net_link_exists(n->rt, NET_LINK_SLOT + (int)slot))
		n->state[slot] = NET_USED;
}

void net_slot_close_all(struct net *n)
{
	loop_timer_del(&n->broker->loop, &n->sweep);
	while (n->nready > 0) {
		struct berth *b = &n->ready[--n->nready];

		n->state[b->slot] = NET_FREE;
		berth_close(b);
		berth_free_slot(&n->broker->berths, b->slot);
	}
	for (uint32_t i = 0; i < BERTH_SLOTS; i++) {
		forget_lists(n, i);
		if (n->state[i] == NET_LEAVING)
			berth_free_slot(&n->broker->berths, i);
		n->state[i] = NET_FREE;
	}
}

/* ---- what was refused ---- */

void net_denials(struct net *n, uint32_t slot, struct broker_denials *out)
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

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/net_host.h"
#include "sandbox/net_link.h"
#include "sandbox/net_ns.h"
#include "sandbox/net_set.h"
#include "sandbox/net_watch.h"

#define SETTLE_MS 200
#define TICK_MS 500

/* ---- addresses, routes, resolvers ---- */

enum err net_watch_refill(struct net *n, struct errinfo *e)
{
	struct net_set_batch b;
	enum err r = net_set_begin(&b, e);

	if (r != ERR_NONE)
		return r;
	net_set_empty(&b, "hosts");
	for (int i = 0; i < n->nhosts; i++)
		net_set_address(&b, "hosts", n->hosts[i].addr);
	net_set_empty(&b, "dns");
	for (int i = 0; i < n->ndns; i++)
		net_set_address(&b, "dns", n->dns[i]);
	return net_set_commit(n->nf, &b, e);
}

static void on_settled(void *arg)
{
	struct net *n = arg;
	struct errinfo e;
	uint32_t dns[NET_DNS_MAX];
	enum err r;

	memcpy(dns, n->dns, sizeof(dns));
	if (net_host_read(n)) {
		r = net_watch_refill(n, &e);
		if (r == ERR_NONE && memcmp(dns, n->dns, sizeof(dns)) != 0)
			r = net_dns_start(n, &e);
		if (r != ERR_NONE)
			log_err("network after a change of the host", &e);
	}
	if (net_host_reload(n, &e) != ERR_NONE)
		log_err("network after a change of the host", &e);
}

static void on_moved(void *arg, uint32_t events)
{
	struct net *n = arg;
	char message[8192];

	(void)events;
	while (mnl_socket_recvfrom(n->moved, message, sizeof(message)) > 0 ||
	       errno == ENOBUFS)
		;
	loop_timer_set(&n->broker->loop, &n->settle,
		       clock_mono_ms() + SETTLE_MS, on_settled, n);
}

/* A change of a resolv.conf comes without any message. */
static void check_files(struct net *n)
{
	static const char *const files[NET_WATCH_FILES] = {
	    "/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"};
	bool changed = false;
	struct stat st;

	for (int i = 0; i < NET_WATCH_FILES; i++) {
		struct timespec at = {0};

		if (stat(files[i], &st) == 0)
			at = st.st_mtim;
		changed |= at.tv_sec != n->files[i].tv_sec ||
			   at.tv_nsec != n->files[i].tv_nsec;
		n->files[i] = at;
	}
	if (changed && !n->settle.armed)
		loop_timer_set(&n->broker->loop, &n->settle,
			       clock_mono_ms() + SETTLE_MS, on_settled, n);
}

/* ---- the host's table of connections ---- */

static uint32_t number_in(int fd)
{
	char text[32];
	ssize_t len = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	text[len > 0 ? len : 0] = '\0';
	return (uint32_t)strtoul(text, NULL, 10);
}

static uint32_t most(const struct net *n)
{
	OWN(own_fd)
	int fd = open("/proc/sys/net/netfilter/nf_conntrack_max",
		      O_RDONLY | O_CLOEXEC);

	return n->conf.total > 0 ? n->conf.total : number_in(fd) / 2;
}

static void set_full(struct net *n, bool full)
{
	struct net_set_batch b;
	struct errinfo e;
	enum err r = net_set_begin(&b, &e);

	if (r == ERR_NONE) {
		net_set_empty(&b, "full");
		if (full)
			net_set_name(&b, "full", "up0");
		r = net_set_commit(n->nf, &b, &e);
	}
	if (r != ERR_NONE) {
		log_err("connections of all sandboxes", &e);
		return;
	}
	n->full = full;
	log_line(LOG_WARN, "all sandboxes together have %s connections",
		 full ? "too many" : "not too many");
}

/* Each connection of a sandbox takes a place in the host's table too, and a
 * full one would cut off the host itself. */
static void check_count(struct net *n)
{
	uint32_t now = number_in(n->count), max = most(n);

	if (max == 0)
		return;
	if (!n->full && now > max)
		set_full(n, true);
	else if (n->full && now < max - max / 4)
		set_full(n, false);
}

static void on_tick(void *arg)
{
	struct net *n = arg;

	check_count(n);
	check_files(n);
	loop_timer_set(&n->broker->loop, &n->tick, clock_mono_ms() + TICK_MS,
		       on_tick, n);
}

/* ---- up and down ---- */

static int open_count(void *arg)
{
	int *fd = arg;

	*fd = open("/proc/sys/net/netfilter/nf_conntrack_count",
		   O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? -1 : 0;
}

enum err net_watch_open(struct net *n, struct errinfo *e)
{
	enum err r = net_link_open(NETLINK_ROUTE,
				   RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE,
				   &n->moved, e);

	if (r != ERR_NONE)
		return r;
	if (net_ns_in(n->own_ns, n->ns, open_count, &n->count) < 0)
		return err_set(e, ERR_IO, errno, "nf_conntrack_count");
	n->full = false;
	on_tick(n);
	loop_timer_del(&n->broker->loop, &n->settle); /* all is new to it */
	return loop_add(&n->broker->loop, &n->moved_watch,
			mnl_socket_get_fd(n->moved), EPOLLIN, on_moved, n, e);
}

void net_watch_close(struct net *n)
{
	struct loop *l = &n->broker->loop;

	loop_timer_del(l, &n->settle);
	loop_timer_del(l, &n->tick);
	loop_del(l, &n->moved_watch);
	net_link_close(&n->moved);
	own_fd(&n->count);
}

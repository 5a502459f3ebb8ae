#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/net.h"
#include "sandbox/net_host.h"
#include "sandbox/net_link.h"
#include "sandbox/net_lists.h"
#include "sandbox/net_ns.h"
#include "sandbox/net_slot.h"
#include "sandbox/net_watch.h"

#define RETRY_MS 3000

/* ---- the egress namespace ---- */

static int prepare(void *arg)
{
	static const char *const settings[][2] = {
	    {"ipv4/ip_forward", "1"},
	    {"ipv4/conf/all/send_redirects", "0"},
	    {"ipv4/conf/default/send_redirects", "0"},
	    /* A refusal must be told each time, not once in a second. */
	    {"ipv4/icmp_ratelimit", "0"},
	    /* The resolver has no privilege. */
	    {"ipv4/ip_unprivileged_port_start", "0"},
	    {"netfilter/nf_conntrack_tcp_timeout_established", "7440"},
	};
	struct net *n = arg;
	struct in_addr a;
	int lo;

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		char path[128];

		snprintf(path, sizeof(path), "/proc/sys/net/%s",
			 settings[i][0]);
		if (net_ns_put(path, settings[i][1]) < 0)
			return -1;
	}
	if (access("/proc/sys/net/ipv6", F_OK) == 0 &&
	    (net_ns_put("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1") < 0 ||
	     net_ns_put("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1") <
		 0))
		return -1;
	lo = (int)if_nametoindex("lo");
	if (inet_pton(AF_INET, NET_RESOLVER, &a) != 1 || lo == 0 ||
	    net_link_up(n->rt, lo) < 0)
		return -1;
	return net_link_address(n->rt, lo, ntohl(a.s_addr), 32);
}

static int open_sockets(void *arg)
{
	struct net *n = arg;

	if (net_link_open(NETLINK_ROUTE, 0, &n->rt, &n->failure) != ERR_NONE ||
	    net_link_open(NETLINK_NETFILTER, 0, &n->nf, &n->failure) !=
		ERR_NONE ||
	    net_link_open(NETLINK_NETFILTER, 0, &n->flow.walk, &n->failure) !=
		ERR_NONE ||
	    net_link_open(NETLINK_NETFILTER, 0, &n->flow.egress, &n->failure) !=
		ERR_NONE ||
	    net_link_open(NETLINK_ROUTE, RTMGRP_LINK, &n->gone, &n->failure) !=
		ERR_NONE)
		return -1;
	return 0;
}

static void pin_path(const struct net *n, char path[280])
{
	snprintf(path, 280, "%s/egress", n->broker->conf.run);
}

/*
 * By a name it outlives a broker that is killed. The descriptor that is kept
 * is not the name's: one that is opened there, or that a child of ours still
 * has when we are killed, would keep the mount from being removed.
 */
static bool pin_open(struct net *n)
{
	char path[280];
	OWN(own_fd) int fd = -1;

	pin_path(n, path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
		return false;
	n->ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	must(setns(n->own_ns, CLONE_NEWNET) == 0);
	return n->ns >= 0;
}

static int pin(void *arg)
{
	char path[280];
	struct net *n = arg;

	pin_path(n, path);
	umount2(path, MNT_DETACH);
	if (close(open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0400)) < 0)
		return -1;
	return mount("/proc/self/ns/net", path, NULL, MS_BIND, NULL);
}

static void unpin(struct net *n)
{
	char path[280];

	pin_path(n, path);
	umount2(path, MNT_DETACH);
	unlink(path);
}

static enum err load_rules(struct net *n, struct errinfo *e)
{
	OWN(buf_free) struct buf text = BUF_INIT(NET_RULES_MAX);
	struct net_rules in = {.conf = &n->conf,
			       .dns = n->dns,
			       .ndns = n->ndns,
			       .hosts = n->hosts,
			       .nhosts = n->nhosts,
			       .lists = n->lists};

	net_rules_egress(&in, &text);
	return net_rules_load(&text, n->ns, e);
}

static enum err open_egress(struct net *n, struct errinfo *e)
{
	if (n->ns < 0) {
		n->ns = net_ns_new(n->own_ns);
		if (n->ns < 0 || net_ns_in(n->own_ns, n->ns, pin, n) < 0)
			return err_set(e, ERR_IO, errno, "egress namespace");
	}
	if (net_ns_in(n->own_ns, n->ns, open_sockets, n) < 0)
		return err_set(e, n->failure.code, n->failure.sys, "%s",
			       n->failure.text);
	if (net_ns_in(n->own_ns, n->ns, prepare, n) < 0)
		return err_set(e, ERR_IO, errno, "egress namespace");
	return load_rules(n, e);
}

/* ---- up and down ---- */

static void take_down(struct net *n)
{
	struct loop *l = &n->broker->loop;

	n->up = false;
	net_slot_close_all(n);
	net_watch_close(n);
	loop_del(l, &n->gone_watch);
	net_dns_stop(n);
	net_host_close(n);
	net_link_close(&n->gone);
	net_link_close(&n->rt);
	net_link_close(&n->nf);
	net_link_close(&n->host_rt);
	net_link_close(&n->flow.walk);
	net_link_close(&n->flow.egress);
	net_link_close(&n->flow.host);
	unpin(n);
	own_fd(&n->ns);
}

static enum err bring_up(struct net *n, struct errinfo *e)
{
	enum err r = net_link_open(NETLINK_ROUTE, 0, &n->host_rt, e);

	if (r == ERR_NONE)
		r = net_link_open(NETLINK_NETFILTER, 0, &n->flow.host, e);
	if (r != ERR_NONE)
		return r;
	net_host_read(n);
	r = open_egress(n, e);
	if (r == ERR_NONE)
		r = net_host_open(n, e);
	/* The host has one more address now. */
	if (r == ERR_NONE && net_host_read(n))
		r = net_watch_refill(n, e);
	if (r == ERR_NONE)
		r = net_dns_start(n, e);
	if (r == ERR_NONE)
		r = net_watch_open(n, e);
	if (r == ERR_NONE)
		r = loop_add(&n->broker->loop, &n->gone_watch,
			     mnl_socket_get_fd(n->gone), EPOLLIN,
			     net_slot_on_gone, n, e);
	return r;
}

/* All of it, or nothing; a failure is told again for a while, not retried. */
static enum err need_up(struct net *n, struct errinfo *e)
{
	int64_t now = clock_mono_ms();
	struct errinfo why = {0};

	if (n->up)
		return ERR_NONE;
	if (n->failed_ms == 0 || now - n->failed_ms > RETRY_MS) {
		if (bring_up(n, &why) == ERR_NONE) {
			n->up = true;
			log_line(LOG_INFO, "network: up by %s", n->link);
			return ERR_NONE;
		}
		take_down(n);
		n->failure = why;
		n->failed_ms = now;
	}
	return err_set(e, ERR_STATE, n->failure.sys,
		       "no policy internet on this machine: %.200s",
		       n->failure.text);
}

enum err net_open(struct net *n, struct broker *b, struct errinfo *e)
{
	struct errinfo why;
	enum err r;

	*n = (struct net){.broker = b,
			  .own_ns = -1,
			  .ns = -1,
			  .gone_watch = LOOP_WATCH_INIT,
			  .moved_watch = LOOP_WATCH_INIT,
			  .walk_watch = LOOP_WATCH_INIT,
			  .walk_pidfd = -1,
			  .push_watch = LOOP_WATCH_INIT,
			  .push_pidfd = -1,
			  .count = -1,
			  .resolver = {.pidfd = -1, .watch = LOOP_WATCH_INIT}};
	r = net_conf_read(b->conf.data, &n->conf, e);
	if (r != ERR_NONE)
		return r;
	n->own_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (n->own_ns < 0 ||
	    (mkdirat(b->run, "net", 0700) < 0 && errno != EEXIST))
		return err_set(e, ERR_IO, errno, "network");
	net_host_names(n);
	if (!pin_open(n))
		return ERR_NONE;
	net_lists_read(n);
	if (need_up(n, &why) != ERR_NONE)
		log_err("network of an earlier broker", &why);
	return ERR_NONE;
}

void net_close(struct net *n)
{
	if (n->up)
		take_down(n);
	unlinkat(n->broker->run, "net", AT_REMOVEDIR);
	own_fd(&n->own_ns);
}

/* ---- slots ---- */

enum err net_take(struct net *n, const struct broker_req *req,
		  struct berth *berth, struct errinfo *e)
{
	struct berth b = BERTH_NONE;
	enum err r = need_up(n, e);

	if (r != ERR_NONE)
		return r;
	if (n->nready > 0)
		b = n->ready[--n->nready];
	else
		r = net_slot_make(n, &b, e);
	if (r != ERR_NONE)
		return r;
	r = net_lists_set(n, b.slot, req, e);
	if (r != ERR_NONE) {
		berth_close(&b);
		net_slot_free(n, b.slot);
		return r;
	}
	*berth = b;
	return ERR_NONE;
}

bool net_refill(struct net *n)
{
	struct errinfo e;

	if (!n->up || n->nready >= NET_READY_MAX)
		return false;
	if (net_slot_make(n, &n->ready[n->nready], &e) != ERR_NONE) {
		log_err("network for a slot", &e);
		return false;
	}
	n->nready++;
	return n->nready < NET_READY_MAX;
}

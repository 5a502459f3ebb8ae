#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/net_host.h"
#include "sandbox/net_link.h"
#include "sandbox/net_ns.h"

#define NOTE "net/host" /* "link_addr uplink", uplink if we forward for it */
#define LINKS UINT32_C(0xa9fe4000) /* 169.254.64.0/18: 4096 of /30 */
#define LINKS_COUNT 4096U
#define MTU_MIN 1280U
#define MTU_DEFAULT 1500U

static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261U;

	while (*text != '\0')
		h = (h ^ (uint8_t)*text++) * 16777619U;
	return h;
}

void net_host_names(struct net *n)
{
	const char *name = n->broker->instance;

	snprintf(n->link, sizeof(n->link), "wr%08x", hash(name));
	snprintf(n->table, sizeof(n->table), "wr_%.60s", name);
	for (char *p = n->table; *p != '\0'; p++)
		if ((*p < 'a' || *p > 'z') && (*p < '0' || *p > '9'))
			*p = '_';
}

static int conf_put(const char *link, const char *what, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/%s/%s", link, what);
	return net_ns_put(path, text);
}

static int forwarding(const char *link, char now[2])
{
	char path[128];
	OWN(own_fd) int fd = -1;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/forwarding",
		 link);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, now, 1) == 1 ? 0 : -1;
}

static int forward(const char *link, bool on)
{
	char dir[64];

	snprintf(dir, sizeof(dir), "ipv4/conf/%s", link);
	return conf_put(dir, "forwarding", on ? "1" : "0");
}

static void note_write(struct net *n)
{
	char text[64];
	OWN(own_fd)
	int fd = openat(n->broker->run, NOTE,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int len = snprintf(text, sizeof(text), "%u %s\n", n->link_addr,
			   n->closed ? n->uplink : "-");

	if (fd < 0 || write(fd, text, (size_t)len) != len)
		log_line(LOG_WARN, "no note of the way out");
}

/* What an earlier broker chose; false if there was none. */
static bool note_read(struct net *n)
{
	char text[64], uplink[IFNAMSIZ];
	OWN(own_fd)
	int fd = openat(n->broker->run, NOTE,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (len <= 0)
		return false;
	text[len] = '\0';
	if (sscanf(text, "%u %15s", &n->link_addr, uplink) != 2)
		return false;
	n->closed = strcmp(uplink, "-") != 0;
	if (n->closed)
		memcpy(n->uplink, uplink, sizeof(uplink));
	return true;
}

static bool link_taken(const struct net *n, uint32_t addr)
{
	const struct broker_cidr c = {.addr = addr, .prefix = 30};

	for (int i = 0; i < n->nhosts; i++) {
		struct broker_cidr h = {.addr = n->hosts[i].addr, .prefix = 32};

		if (net_cidr_has(&c, &h))
			return true;
	}
	return false;
}

static enum err choose_link(struct net *n, struct errinfo *e)
{
	uint32_t h = hash(n->broker->instance);

	if (n->conf.link.prefix != 0) {
		n->link_addr = n->conf.link.addr;
		return ERR_NONE;
	}
	for (uint32_t i = 0; i < LINKS_COUNT; i++) {
		n->link_addr = LINKS + 4 * ((h + i) % LINKS_COUNT);
		if (!link_taken(n, n->link_addr))
			return ERR_NONE;
	}
	return err_set(e, ERR_STATE, 0, "no addresses for the link are free");
}

bool net_host_read(struct net *n)
{
	struct broker_cidr hosts[NET_HOSTS_MAX] = {0};
	uint32_t dns[NET_DNS_MAX] = {0};
	int nhosts = net_link_addresses(n->host_rt, hosts, NET_HOSTS_MAX);
	int ndns = net_conf_resolvers(&n->conf, dns);
	bool same;

	if (nhosts < 0)
		nhosts = 0;
	same = nhosts == n->nhosts && ndns == n->ndns &&
	       memcmp(hosts, n->hosts, sizeof(hosts)) == 0 &&
	       memcmp(dns, n->dns, sizeof(dns)) == 0;
	memcpy(n->hosts, hosts, sizeof(hosts));
	memcpy(n->dns, dns, sizeof(dns));
	n->nhosts = nhosts;
	n->ndns = ndns;
	return !same;
}

static void find_uplink(struct net *n, char name[IFNAMSIZ])
{
	int index;

	memset(name, 0, IFNAMSIZ);
	if (n->conf.uplink[0] != '\0') {
		memcpy(name, n->conf.uplink, IFNAMSIZ);
		return;
	}
	index = net_link_way_out(n->host_rt);
	if (index == 0 || if_indextoname((unsigned)index, name) == NULL)
		name[0] = '\0';
}

/*
 * Only the two interfaces forward, not the whole machine. Where the uplink
 * did not, the table lets nothing else use that.
 */
static enum err open_forwarding(struct net *n, struct errinfo *e)
{
	char uplink[IFNAMSIZ], now[2] = "";

	find_uplink(n, uplink);
	if (n->closed && strcmp(uplink, n->uplink) != 0) {
		forward(n->uplink, false);
		n->closed = false;
	}
	memcpy(n->uplink, uplink, sizeof(uplink));
	if (forward(n->link, true) < 0)
		return err_set(e, ERR_IO, errno, "forwarding of %s", n->link);
	if (uplink[0] == '\0') {
		log_line(LOG_WARN, "no route leads out of this machine");
		return ERR_NONE;
	}
	if (forwarding(uplink, now) < 0)
		return err_set(e, ERR_IO, errno, "forwarding of %s", uplink);
	if (now[0] == '0') {
		n->closed = true;
		note_write(n); /* before: it is undone in any case */
		if (forward(uplink, true) < 0)
			return err_set(e, ERR_IO, errno, "forwarding of %s",
				       uplink);
	}
	note_write(n);
	return ERR_NONE;
}

static enum err load_table(struct net *n, struct errinfo *e)
{
	OWN(buf_free) struct buf text = BUF_INIT(NET_RULES_MAX);
	struct net_rules in = {.conf = &n->conf,
			       .dns = n->dns,
			       .ndns = n->ndns,
			       .table = n->table,
			       .link = n->link,
			       .egress = n->link_addr + 2,
			       .closed = n->closed ? n->uplink : ""};

	net_rules_host(&in, &text);
	return net_rules_load(&text, 0, e);
}

enum err net_host_reload(struct net *n, struct errinfo *e)
{
	enum err r = open_forwarding(n, e);

	return r == ERR_NONE ? load_table(n, e) : r;
}

static uint32_t uplink_mtu(struct net *n)
{
	char name[IFNAMSIZ];
	uint32_t mtu = MTU_DEFAULT;

	find_uplink(n, name);
	if (name[0] != '\0')
		net_link_index(n->host_rt, name, &mtu);
	return mtu < MTU_MIN ? MTU_MIN : mtu > 65535 ? 65535 : mtu;
}

static enum err make_link(struct net *n, struct errinfo *e)
{
	/* The kernel takes a peer's index only beside one's own. */
	struct net_link_pair p = {.name = "up0",
				  .index = NET_LINK_UPLINK,
				  .peer_ns = n->own_ns,
				  .peer = n->link,
				  .mtu = n->mtu};

	if (net_link_exists(n->rt, NET_LINK_UPLINK) &&
	    net_link_index(n->host_rt, n->link, NULL) != 0)
		return ERR_NONE;
	/* One of another egress namespace, which is gone. */
	net_link_delete(n->host_rt, n->link);
	if (net_link_pair(n->rt, &p) < 0)
		return err_set(e, ERR_IO, errno, "veth %s", n->link);
	return ERR_NONE;
}

enum err net_host_open(struct net *n, struct errinfo *e)
{
	char dir[64];
	int index;
	enum err r = ERR_NONE;

	n->mtu = uplink_mtu(n);
	if (!note_read(n))
		r = choose_link(n, e);
	if (r == ERR_NONE)
		r = make_link(n, e);
	if (r != ERR_NONE)
		return r;
	snprintf(dir, sizeof(dir), "ipv6/conf/%s", n->link);
	if (access("/proc/sys/net/ipv6", F_OK) == 0 &&
	    conf_put(dir, "disable_ipv6", "1") < 0)
		return err_set(e, ERR_IO, errno, "%s", dir);
	/* The rules stand before the link is up. */
	r = net_host_reload(n, e);
	if (r != ERR_NONE)
		return r;
	index = net_link_index(n->host_rt, n->link, NULL);
	if (net_link_address(n->host_rt, index, n->link_addr + 1, 30) < 0 ||
	    net_link_up(n->host_rt, index) < 0 ||
	    net_link_address(n->rt, NET_LINK_UPLINK, n->link_addr + 2, 30) <
		0 ||
	    net_link_up(n->rt, NET_LINK_UPLINK) < 0 ||
	    net_link_default(n->rt, NET_LINK_UPLINK, n->link_addr + 1) < 0)
		return err_set(e, ERR_IO, errno, "addresses of %s", n->link);
	return ERR_NONE;
}

void net_host_close(struct net *n)
{
	OWN(buf_free) struct buf text = BUF_INIT(4096);
	char now[2] = "";
	struct errinfo e;

	if (n->host_rt == NULL)
		return;
	note_read(n);
	/* Somebody else may have come to need it: all of the host forwards. */
	if (n->closed && forwarding("all", now) == 0 && now[0] == '0')
		forward(n->uplink, false);
	n->closed = false;
	net_link_delete(n->host_rt, n->link);
	buf_addf(&text, "table inet %s\ndelete table inet %s\n", n->table,
		 n->table);
	if (net_rules_load(&text, 0, &e) != ERR_NONE)
		log_err("host table", &e);
	unlinkat(n->broker->run, NOTE, 0);
}

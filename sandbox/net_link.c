#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "sandbox/net_link.h"

#define ASK_BYTES 2048
#define ANSWER_BYTES 32768

enum err net_link_open(int bus, unsigned groups, struct mnl_socket **s,
		       struct errinfo *e)
{
	*s = mnl_socket_open2(bus, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (*s == NULL)
		return err_set(e, ERR_IO, errno, "netlink %d", bus);
	if (mnl_socket_bind(*s, groups, MNL_SOCKET_AUTOPID) < 0) {
		net_link_close(s);
		return err_set(e, ERR_IO, errno, "netlink %d", bus);
	}
	return ERR_NONE;
}

void net_link_close(struct mnl_socket **s)
{
	if (*s != NULL)
		mnl_socket_close(*s);
	*s = NULL;
}

/*
 * The kernel works on a request while it is sent: all answers are there when
 * sending returns, but for dumps, which go on while they are read.
 */
int net_link_ask(struct mnl_socket *s, struct nlmsghdr *m, mnl_cb_t cb,
		 void *arg)
{
	char answer[ANSWER_BYTES];
	unsigned port = mnl_socket_get_portid(s);
	unsigned seq = m->nlmsg_seq;
	bool acked = false;
	ssize_t n;

	m->nlmsg_flags |= NLM_F_REQUEST;
	if ((m->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		m->nlmsg_flags |= NLM_F_ACK;
	/* What is left of a question that was given up. */
	while (mnl_socket_recvfrom(s, answer, sizeof(answer)) >= 0)
		;
	if (mnl_socket_sendto(s, m, m->nlmsg_len) < 0)
		return -1;
	while (!acked) {
		n = mnl_socket_recvfrom(s, answer, sizeof(answer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		n = mnl_cb_run(answer, (size_t)n, seq, port, cb, arg);
		if (n < 0)
			return -1;
		acked = n == MNL_CB_STOP;
	}
	return 0;
}

static struct nlmsghdr *start(char *b, uint16_t type, uint16_t flags)
{
	static uint32_t seq;
	struct nlmsghdr *m = mnl_nlmsg_put_header(b);

	m->nlmsg_type = type;
	m->nlmsg_flags = flags;
	m->nlmsg_seq = ++seq;
	return m;
}

static struct ifinfomsg *put_link(struct nlmsghdr *m, int index)
{
	struct ifinfomsg *i = mnl_nlmsg_put_extra_header(m, sizeof(*i));

	i->ifi_family = AF_UNSPEC;
	i->ifi_index = index;
	return i;
}

int net_link_pair(struct mnl_socket *s, const struct net_link_pair *p)
{
	char b[ASK_BYTES];
	struct nlmsghdr *m = start(b, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	struct nlattr *info, *data, *peer;

	put_link(m, p->index);
	mnl_attr_put_strz(m, IFLA_IFNAME, p->name);
	mnl_attr_put_u32(m, IFLA_MTU, p->mtu);
	if (p->mac != NULL)
		mnl_attr_put(m, IFLA_ADDRESS, NET_LINK_MAC, p->mac);
	info = mnl_attr_nest_start(m, IFLA_LINKINFO);
	mnl_attr_put_strz(m, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(m, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(m, VETH_INFO_PEER);
	put_link(m, p->peer_index);
	mnl_attr_put_strz(m, IFLA_IFNAME, p->peer);
	mnl_attr_put_u32(m, IFLA_MTU, p->mtu);
	if (p->peer_mac != NULL)
		mnl_attr_put(m, IFLA_ADDRESS, NET_LINK_MAC, p->peer_mac);
	mnl_attr_put_u32(m, IFLA_NET_NS_FD, (uint32_t)p->peer_ns);
	mnl_attr_nest_end(m, peer);
	mnl_attr_nest_end(m, data);
	mnl_attr_nest_end(m, info);
	return net_link_ask(s, m, NULL, NULL);
}

int net_link_up(struct mnl_socket *s, int index)
{
	char b[ASK_BYTES];
	struct nlmsghdr *m = start(b, RTM_NEWLINK, 0);
	struct ifinfomsg *i = put_link(m, index);

	i->ifi_flags = IFF_UP;
	i->ifi_change = IFF_UP;
	return net_link_ask(s, m, NULL, NULL);
}

int net_link_address(struct mnl_socket *s, int index, uint32_t addr,
		     uint8_t prefix)
{
	char b[ASK_BYTES];
	struct nlmsghdr *m = start(b, RTM_NEWADDR,
				   NLM_F_CREATE | NLM_F_REPLACE);
	struct ifaddrmsg *a = mnl_nlmsg_put_extra_header(m, sizeof(*a));

	a->ifa_family = AF_INET;
	a->ifa_prefixlen = prefix;
	a->ifa_scope = RT_SCOPE_UNIVERSE;
	a->ifa_index = (unsigned)index;
	mnl_attr_put_u32(m, IFA_LOCAL, htonl(addr));
	mnl_attr_put_u32(m, IFA_ADDRESS, htonl(addr));
	return net_link_ask(s, m, NULL, NULL);
}

int net_link_neighbour(struct mnl_socket *s, int index, uint32_t addr,
		       const uint8_t mac[NET_LINK_MAC])
{
	char b[ASK_BYTES];
	struct nlmsghdr *m = start(b, RTM_NEWNEIGH,
				   NLM_F_CREATE | NLM_F_REPLACE);
	struct ndmsg *n = mnl_nlmsg_put_extra_header(m, sizeof(*n));

	n->ndm_family = AF_INET;
	n->ndm_ifindex = index;
	n->ndm_state = NUD_PERMANENT;
	mnl_attr_put_u32(m, NDA_DST, htonl(addr));
	mnl_attr_put(m, NDA_LLADDR, NET_LINK_MAC, mac);
	return net_link_ask(s, m, NULL, NULL);
}

int net_link_default(struct mnl_socket *s, int index, uint32_t gateway)
{
	char b[ASK_BYTES];
	struct nlmsghdr *m = start(b, RTM_NEWROUTE,
				   NLM_F_CREATE | NLM_F_REPLACE);
	struct rtmsg *r = mnl_nlmsg_put_extra_header(m, sizeof(*r));

	r->rtm_family = AF_INET;
	r->rtm_table = RT_TABLE_MAIN;
	r->rtm_protocol = RTPROT_STATIC;
	r->rtm_scope = RT_SCOPE_UNIVERSE;
	r->rtm_type = RTN_UNICAST;
	mnl_attr_put_u32(m, RTA_GATEWAY, htonl(gateway));
	mnl_attr_put_u32(m, RTA_OIF, (uint32_t)index);
	return net_link_ask(s, m, NULL, NULL);
}

int net_link_delete(struct mnl_socket *s, const char *name)
{
	char b[ASK_BYTES];
	struct nlmsghdr *m = start(b, RTM_DELLINK, 0);

	put_link(m, 0);
	mnl_attr_put_strz(m, IFLA_IFNAME, name);
	if (net_link_ask(s, m, NULL, NULL) < 0 && errno != ENODEV)
		return -1;
	return 0;
}

/* A u32 attribute of that type, if it is the one wanted. */
struct want {
	uint16_t type;
	bool found;
	uint32_t value;
};

static int on_attribute(const struct nlattr *a, void *arg)
{
	struct want *w = arg;

	if (mnl_attr_get_type(a) == w->type &&
	    mnl_attr_validate(a, MNL_TYPE_U32) == 0) {
		w->value = mnl_attr_get_u32(a);
		w->found = true;
	}
	return MNL_CB_OK;
}

static bool attribute(const struct nlmsghdr *m, size_t head, uint16_t type,
		      uint32_t *value)
{
	struct want w = {.type = type};

	mnl_attr_parse(m, (unsigned)head, on_attribute, &w);
	if (w.found)
		*value = w.value;
	return w.found;
}

struct found {
	int index;
	uint32_t mtu;
};

static int on_link(const struct nlmsghdr *m, void *arg)
{
	const struct ifinfomsg *i = mnl_nlmsg_get_payload(m);
	struct found *f = arg;

	f->index = i->ifi_index;
	attribute(m, sizeof(*i), IFLA_MTU, &f->mtu);
	return MNL_CB_OK;
}

int net_link_index(struct mnl_socket *s, const char *name, uint32_t *mtu)
{
	char b[ASK_BYTES];
	struct nlmsghdr *m = start(b, RTM_GETLINK, 0);
	struct found f = {0};

	put_link(m, 0);
	mnl_attr_put_strz(m, IFLA_IFNAME, name);
	if (net_link_ask(s, m, on_link, &f) < 0)
		return 0;
	if (mtu != NULL)
		*mtu = f.mtu;
	return f.index;
}

bool net_link_exists(struct mnl_socket *s, int index)
{
	char b[ASK_BYTES];
	struct nlmsghdr *m = start(b, RTM_GETLINK, 0);
	struct found f = {0};

	put_link(m, index);
	return net_link_ask(s, m, on_link, &f) == 0 && f.index == index;
}

static int on_route(const struct nlmsghdr *m, void *arg)
{
	uint32_t index;

	if (attribute(m, sizeof(struct rtmsg), RTA_OIF, &index))
		*(int *)arg = (int)index;
	return MNL_CB_OK;
}

/* Where the kernel would send a packet to a public address; none is sent. */
int net_link_way_out(struct mnl_socket *s)
{
	char b[ASK_BYTES];
	struct nlmsghdr *m = start(b, RTM_GETROUTE, 0);
	struct rtmsg *r = mnl_nlmsg_put_extra_header(m, sizeof(*r));
	int index = 0;

	r->rtm_family = AF_INET;
	r->rtm_dst_len = 32;
	mnl_attr_put_u32(m, RTA_DST, htonl(0x08080808));
	return net_link_ask(s, m, on_route, &index) == 0 ? index : 0;
}

struct addresses {
	struct broker_cidr *out;
	int n;
	int max;
};

static int on_address(const struct nlmsghdr *m, void *arg)
{
	const struct ifaddrmsg *i = mnl_nlmsg_get_payload(m);
	struct addresses *l = arg;
	uint32_t addr;

	if (l->n < l->max && attribute(m, sizeof(*i), IFA_LOCAL, &addr))
		l->out[l->n++] = (struct broker_cidr){
		    .addr = ntohl(addr), .prefix = i->ifa_prefixlen};
	return MNL_CB_OK;
}

int net_link_addresses(struct mnl_socket *s, struct broker_cidr *out, int max)
{
	char b[ASK_BYTES];
	struct nlmsghdr *m = start(b, RTM_GETADDR, NLM_F_DUMP);
	struct ifaddrmsg *i = mnl_nlmsg_put_extra_header(m, sizeof(*i));
	struct addresses l = {.out = out, .max = max};

	i->ifa_family = AF_INET;
	return net_link_ask(s, m, on_address, &l) < 0 ? -1 : l.n;
}

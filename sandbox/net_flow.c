#include <errno.h>
#include <libnetfilter_conntrack/libnetfilter_conntrack.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "sandbox/net_flow.h"
#include "sandbox/net_link.h"

#define MESSAGE_BYTES 4096

struct walk {
	struct net_flow *flow;
	net_flow_want *want;
	void *arg;
	int n;
};

static struct nlmsghdr *start(char *b, uint16_t type, uint16_t flags)
{
	static uint32_t seq;
	struct nlmsghdr *m = mnl_nlmsg_put_header(b);
	struct nfgenmsg *g;

	m->nlmsg_type = (uint16_t)(NFNL_SUBSYS_CTNETLINK << 8 | type);
	m->nlmsg_flags = flags;
	m->nlmsg_seq = ++seq;
	g = mnl_nlmsg_put_extra_header(m, sizeof(*g));
	g->nfgen_family = AF_INET;
	g->version = NFNETLINK_V0;
	return m;
}

static void drop(struct mnl_socket *s, const struct nf_conntrack *ct)
{
	char b[MESSAGE_BYTES];
	struct nlmsghdr *m = start(b, IPCTNL_MSG_CT_DELETE, 0);

	if (nfct_nlmsg_build(m, ct) == 0)
		(void)net_link_ask(s, m, NULL, NULL); /* it may just end */
}

/* What the host saw: what left the egress namespace, after its NAT. */
static struct nf_conntrack *host_half(const struct nf_conntrack *ct)
{
	struct nf_conntrack *h = nfct_new();
	uint8_t proto = nfct_get_attr_u8(ct, ATTR_REPL_L4PROTO);

	if (h == NULL)
		return NULL;
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP) {
		nfct_destroy(h);
		return NULL;
	}
	nfct_set_attr_u8(h, ATTR_L3PROTO, AF_INET);
	nfct_set_attr_u8(h, ATTR_L4PROTO, proto);
	nfct_set_attr_u32(h, ATTR_IPV4_SRC,
			  nfct_get_attr_u32(ct, ATTR_REPL_IPV4_DST));
	nfct_set_attr_u32(h, ATTR_IPV4_DST,
			  nfct_get_attr_u32(ct, ATTR_REPL_IPV4_SRC));
	nfct_set_attr_u16(h, ATTR_PORT_SRC,
			  nfct_get_attr_u16(ct, ATTR_REPL_PORT_DST));
	nfct_set_attr_u16(h, ATTR_PORT_DST,
			  nfct_get_attr_u16(ct, ATTR_REPL_PORT_SRC));
	return h;
}

static int on_flow(const struct nlmsghdr *m, void *arg)
{
	struct nf_conntrack *ct = nfct_new();
	struct walk *w = arg;
	struct nf_conntrack *h;

	if (ct == NULL)
		return MNL_CB_ERROR;
	if (nfct_nlmsg_parse(m, ct) == 0 &&
	    w->want(w->arg, nfct_get_attr_u32(ct, ATTR_MARK),
		    ntohl(nfct_get_attr_u32(ct, ATTR_IPV4_DST)))) {
		h = host_half(ct);
		drop(w->flow->egress, ct);
		if (h != NULL) {
			drop(w->flow->host, h);
			nfct_destroy(h);
		}
		w->n++;
	}
	nfct_destroy(ct);
	return MNL_CB_OK;
}

int net_flow_forget(struct net_flow *f, uint32_t one, net_flow_want *want,
		    void *arg)
{
	struct walk w = {.flow = f, .want = want, .arg = arg};
	char b[MESSAGE_BYTES];
	struct nlmsghdr *m = start(b, IPCTNL_MSG_CT_GET, NLM_F_DUMP);

	if (one != 0) {
		mnl_attr_put_u32(m, CTA_MARK, htonl(one));
		mnl_attr_put_u32(m, CTA_MARK_MASK, ~UINT32_C(0));
	}
	return net_link_ask(f->walk, m, on_flow, &w) < 0 ? -1 : w.n;
}

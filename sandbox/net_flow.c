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
#define ROUND 256 /* deleted in one go; a table may be full of them */

struct walk {
	uint32_t mark;
	int n;
	struct nf_conntrack *found[ROUND];
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

static int on_flow(const struct nlmsghdr *m, void *arg)
{
	struct nf_conntrack *ct = nfct_new();
	struct walk *w = arg;

	if (ct == NULL)
		return MNL_CB_ERROR;
	/* The kernel has filtered by mark; older ones need not. */
	if (w->n < ROUND && nfct_nlmsg_parse(m, ct) == 0 &&
	    nfct_get_attr_u32(ct, ATTR_MARK) == w->mark)
		w->found[w->n++] = ct;
	else
		nfct_destroy(ct);
	return MNL_CB_OK;
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

	if (h == NULL || (proto != IPPROTO_TCP && proto != IPPROTO_UDP)) {
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

static int walk(struct mnl_socket *egress, struct walk *w)
{
	char b[MESSAGE_BYTES];
	struct nlmsghdr *m = start(b, IPCTNL_MSG_CT_GET, NLM_F_DUMP);

	w->n = 0;
	mnl_attr_put_u32(m, CTA_MARK, htonl(w->mark));
	mnl_attr_put_u32(m, CTA_MARK_MASK, ~UINT32_C(0));
	return net_link_ask(egress, m, on_flow, w);
}

int net_flow_forget(struct mnl_socket *egress, struct mnl_socket *host,
		    uint32_t mark)
{
	struct walk w = {.mark = mark};
	int all = 0, r;

	do {
		r = walk(egress, &w);
		for (int i = 0; i < w.n; i++) {
			struct nf_conntrack *h = host_half(w.found[i]);

			drop(egress, w.found[i]);
			if (h != NULL)
				drop(host, h);
			nfct_destroy(h);
			nfct_destroy(w.found[i]);
		}
		all += w.n;
	} while (r == 0 && w.n == ROUND);
	return r < 0 ? -1 : all;
}

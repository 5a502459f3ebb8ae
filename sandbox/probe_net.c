/* What network "internet" needs, tried in a network of the child's own. */
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/probe.h"

struct link_request {
	struct nlmsghdr head;
	struct ifinfomsg info;
	struct rtattr link;
	struct rtattr kind;
	char name[8];
};

struct tables_request {
	struct nlmsghdr head;
	struct nfgenmsg gen;
};

/* Ask; the errno of the answer, 0 for any other answer. */
static int ask(int family, const void *request, size_t len)
{
	OWN(own_fd)
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, family);
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} got;
	const struct nlmsgerr *err = NLMSG_DATA(&got.head);
	ssize_t n;

	if (fd < 0 || send(fd, request, len, 0) < 0)
		return errno;
	n = recv(fd, &got, sizeof(got), 0);
	if (n < (ssize_t)sizeof(got.head))
		return n < 0 ? errno : EPROTO;
	return got.head.nlmsg_type == NLMSG_ERROR ? -err->error : 0;
}

static int try_veth(struct probe_said *said)
{
	struct link_request r = {
	    .head = {.nlmsg_len = sizeof(r),
		     .nlmsg_type = RTM_NEWLINK,
		     .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK},
	    .link = {.rta_len = sizeof(r.link) + sizeof(r.kind) +
				sizeof(r.name),
		     .rta_type = IFLA_LINKINFO},
	    .kind = {.rta_len = sizeof(r.kind) + sizeof("veth"),
		     .rta_type = IFLA_INFO_KIND},
	    .name = "veth",
	};

	errno = ask(NETLINK_ROUTE, &r, sizeof(r));
	return errno == 0 ? 0 : probe_fail(said, "veth pairs");
}

static int try_tables(struct probe_said *said)
{
	struct tables_request r = {
	    .head = {.nlmsg_len = sizeof(r),
		     .nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN,
		     .nlmsg_flags = NLM_F_REQUEST},
	    .gen = {.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0},
	};

	errno = ask(NETLINK_NETFILTER, &r, sizeof(r));
	return errno == 0 ? 0 : probe_fail(said, "nf_tables");
}

static int try_both(struct probe_said *said)
{
	return try_veth(said) < 0 ? -1 : try_tables(said);
}

void probe_net(struct check_list *l)
{
	struct probe_said said;

	if (probe_try(CLONE_NEWNET, try_both, &said))
		check_add(l, CHECK_OK, "nftables", "",
			  "veth pairs and nf_tables are there");
	else
		check_add(l, CHECK_WARN, "nftables",
			  "modprobe veth nf_tables; without them only network "
			  "\"none\" works",
			  "%s: %s", said.what, strerrordesc_np(said.sys));
}

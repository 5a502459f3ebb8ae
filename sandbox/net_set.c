#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h> /* libnftnl wants it */

#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/set.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/net_link.h"
#include "sandbox/net_set.h"

/* The largest: 64 ranges put in, 64 taken out, a few marks. */
#define BATCH_BYTES (64U << 10)
#define MESSAGE_BYTES 512U

enum err net_set_begin(struct net_set_batch *b, struct errinfo *e)
{
	*b = (struct net_set_batch){.memory = malloc(BATCH_BYTES)};
	if (b->memory != NULL)
		b->b = mnl_nlmsg_batch_start(b->memory,
					     BATCH_BYTES - MESSAGE_BYTES);
	if (b->b == NULL) {
		net_set_drop(b);
		return err_set(e, ERR_NOMEM, 0, "batch");
	}
	nftnl_batch_begin(mnl_nlmsg_batch_current(b->b), b->seq++);
	mnl_nlmsg_batch_next(b->b);
	return ERR_NONE;
}

void net_set_drop(struct net_set_batch *b)
{
	if (b->b != NULL)
		mnl_nlmsg_batch_stop(b->b);
	free(b->memory);
	b->b = NULL;
	b->memory = NULL;
}

static struct nftnl_set *set_of(const char *name)
{
	struct nftnl_set *s = nftnl_set_alloc();

	if (s == NULL)
		return NULL;
	if (nftnl_set_set_str(s, NFTNL_SET_TABLE, NET_SET_TABLE) == 0 &&
	    nftnl_set_set_str(s, NFTNL_SET_NAME, name) == 0)
		return s;
	nftnl_set_free(s);
	return NULL;
}

static void own_set(struct nftnl_set **s)
{
	if (*s != NULL)
		nftnl_set_free(*s);
}

/* What an element is named by; end: where a range ends, or NULL. */
struct key {
	const void *at;
	const void *end;
	uint32_t len;
};

static bool add_key(struct nftnl_set *s, const struct key *k)
{
	struct nftnl_set_elem *x = nftnl_set_elem_alloc();

	if (x == NULL)
		return false;
	nftnl_set_elem_add(s, x); /* it is the set's own now */
	return nftnl_set_elem_set(x, NFTNL_SET_ELEM_KEY, k->at, k->len) == 0 &&
	       (k->end == NULL || nftnl_set_elem_set(x, NFTNL_SET_ELEM_KEY_END,
						     k->end, k->len) == 0);
}

static void put(struct net_set_batch *b, uint16_t type, const char *name,
		const struct key *k)
{
	OWN(own_set) struct nftnl_set *s = set_of(name);
	struct nlmsghdr *m;

	if (s == NULL || (k != NULL && !add_key(s, k)))
		b->failed = true;
	if (b->failed)
		return;
	m = nftnl_nlmsg_build_hdr(
	    mnl_nlmsg_batch_current(b->b), type, NFPROTO_INET,
	    type == NFT_MSG_NEWSETELEM ? NLM_F_CREATE : 0, b->seq++);
	nftnl_set_elems_nlmsg_build_payload(m, s);
	if (!mnl_nlmsg_batch_next(b->b))
		b->failed = true;
}

static void put_mark(struct net_set_batch *b, uint16_t type, const char *set,
		     uint32_t mark)
{
	put(b, type, set, &(struct key){.at = &mark, .len = sizeof(mark)});
}

static void put_range(struct net_set_batch *b, uint16_t type, const char *set,
		      uint32_t source, const struct broker_cidr *c)
{
	uint32_t last = c->addr;
	uint32_t from[2] = {htonl(source), htonl(c->addr)}, to[2];

	if (c->prefix < 32)
		last |= c->prefix == 0 ? ~UINT32_C(0)
				       : (UINT32_C(1) << (32 - c->prefix)) - 1;
	to[0] = from[0];
	to[1] = htonl(last);
	put(b, type, set,
	    &(struct key){.at = from, .end = to, .len = sizeof(from)});
}

void net_set_mark(struct net_set_batch *b, const char *set, uint32_t mark)
{
	put_mark(b, NFT_MSG_NEWSETELEM, set, mark);
}

void net_set_range(struct net_set_batch *b, const char *set, uint32_t source,
		   const struct broker_cidr *c)
{
	put_range(b, NFT_MSG_NEWSETELEM, set, source, c);
}

void net_set_address(struct net_set_batch *b, const char *set, uint32_t addr)
{
	uint32_t key = htonl(addr);

	put(b, NFT_MSG_NEWSETELEM, set,
	    &(struct key){.at = &key, .len = sizeof(key)});
}

void net_set_name(struct net_set_batch *b, const char *set, const char *name)
{
	char key[IFNAMSIZ] = "";

	snprintf(key, sizeof(key), "%s", name);
	put(b, NFT_MSG_NEWSETELEM, set,
	    &(struct key){.at = key, .len = sizeof(key)});
}

/* Put in, then taken out: good in one transaction, whatever was there. */
void net_set_unmark(struct net_set_batch *b, const char *set, uint32_t mark)
{
	put_mark(b, NFT_MSG_NEWSETELEM, set, mark);
	put_mark(b, NFT_MSG_DELSETELEM, set, mark);
}

void net_set_unrange(struct net_set_batch *b, const char *set, uint32_t source,
		     const struct broker_cidr *c)
{
	put_range(b, NFT_MSG_NEWSETELEM, set, source, c);
	put_range(b, NFT_MSG_DELSETELEM, set, source, c);
}

void net_set_empty(struct net_set_batch *b, const char *set)
{
	put(b, NFT_MSG_DELSETELEM, set, NULL);
}

/* A failed message is told; silence is success. */
static int said(struct mnl_socket *s)
{
	char answer[8192];
	ssize_t n;

	while ((n = mnl_socket_recvfrom(s, answer, sizeof(answer))) > 0)
		if (mnl_cb_run(answer, (size_t)n, 0, mnl_socket_get_portid(s),
			       NULL, NULL) < 0)
			return -1;
	return n < 0 && errno != EAGAIN ? -1 : 0;
}

enum err net_set_commit(struct mnl_socket *s, struct net_set_batch *b,
			struct errinfo *e)
{
	enum err r = ERR_NONE;

	if (b->failed) {
		net_set_drop(b);
		return err_set(e, ERR_NOMEM, 0, "set elements");
	}
	nftnl_batch_end(mnl_nlmsg_batch_current(b->b), b->seq++);
	mnl_nlmsg_batch_next(b->b);
	if (mnl_socket_sendto(s, mnl_nlmsg_batch_head(b->b),
			      mnl_nlmsg_batch_size(b->b)) < 0 ||
	    said(s) < 0)
		r = err_set(e, ERR_IO, errno, "set elements");
	net_set_drop(b);
	return r;
}

struct count {
	bool found;
	uint64_t packets;
	uint64_t left_ms;
};

static int on_element(const struct nlmsghdr *m, void *arg)
{
	OWN(own_set) struct nftnl_set *s = nftnl_set_alloc();
	struct nftnl_set_elems_iter *i = NULL;
	struct nftnl_set_elem *x;
	const struct nftnl_expr *expr;
	struct count *c = arg;

	if (s == NULL || nftnl_set_elems_nlmsg_parse(m, s) < 0)
		return MNL_CB_ERROR;
	i = nftnl_set_elems_iter_create(s);
	if (i == NULL)
		return MNL_CB_ERROR;
	x = nftnl_set_elems_iter_next(i);
	nftnl_set_elems_iter_destroy(i);
	if (x == NULL || !nftnl_set_elem_is_set(x, NFTNL_SET_ELEM_EXPR))
		return MNL_CB_OK;
	expr = nftnl_set_elem_get(x, NFTNL_SET_ELEM_EXPR, &(uint32_t){0});
	c->found = expr != NULL;
	if (expr != NULL)
		c->packets = nftnl_expr_get_u64(expr, NFTNL_EXPR_CTR_PACKETS);
	if (nftnl_set_elem_is_set(x, NFTNL_SET_ELEM_EXPIRATION))
		c->left_ms = nftnl_set_elem_get_u64(x,
						    NFTNL_SET_ELEM_EXPIRATION);
	return MNL_CB_OK;
}

bool net_set_count(struct mnl_socket *s, const char *set, uint32_t mark,
		   uint64_t *packets, uint64_t *left_ms)
{
	OWN(own_set) struct nftnl_set *one = set_of(set);
	char b[MESSAGE_BYTES];
	struct key k = {.at = &mark, .len = sizeof(mark)};
	struct count c = {0};
	struct nlmsghdr *m;

	if (one == NULL || !add_key(one, &k))
		return false;
	m = nftnl_nlmsg_build_hdr(b, NFT_MSG_GETSETELEM, NFPROTO_INET, 0, 1);
	nftnl_set_elems_nlmsg_build_payload(m, one);
	if (net_link_ask(s, m, on_element, &c) < 0 || !c.found)
		return false;
	*packets = c.packets;
	*left_ms = c.left_ms;
	return true;
}

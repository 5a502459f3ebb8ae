/*
 * Elements of the egress ruleset's sets, by nfnetlink. Keys are a mark (slot
 * + 1, for refusals with the reason above bit 16) or, for lists, a sandbox's
 * address and a range (both big-endian: nft turns marks in ranges round).
 */
#ifndef SANDBOX_NET_SET_H
#define SANDBOX_NET_SET_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/broker_msg.h"
#include "base/err.h"

#define NET_SET_TABLE "warren"

/* A transaction: all of it happens, or nothing. */
struct net_set_batch {
	struct mnl_nlmsg_batch *b;
	char *memory;
	uint32_t seq;
	bool failed;
};

/** net_set_begin(b, e): Errors: ERR_NOMEM. Owns: net_set_commit() or
 * net_set_drop(). */
FALLIBLE enum err net_set_begin(struct net_set_batch *b, struct errinfo *e);

/** net_set_mark(b, set, mark), net_set_range(b, set, source, c),
 * net_set_address(b, set, addr), net_set_name(b, set, interface): An element
 * that is to be there. */
void net_set_mark(struct net_set_batch *b, const char *set, uint32_t mark);
void net_set_range(struct net_set_batch *b, const char *set, uint32_t source,
		   const struct broker_cidr *c);
void net_set_address(struct net_set_batch *b, const char *set, uint32_t addr);

void net_set_name(struct net_set_batch *b, const char *set, const char *name);

/** net_set_unmark(b, set, mark), net_set_unrange(b, set, source, c): One that
 * is not to be there, whether it was or not. */
void net_set_unmark(struct net_set_batch *b, const char *set, uint32_t mark);
void net_set_unrange(struct net_set_batch *b, const char *set, uint32_t source,
		     const struct broker_cidr *c);

/** net_set_empty(b, set): Remove all. */
void net_set_empty(struct net_set_batch *b, const char *set);

/** net_set_commit(s, b, e): Errors: ERR_NOMEM, ERR_IO; then nothing was
 * done. */
FALLIBLE enum err net_set_commit(struct mnl_socket *s, struct net_set_batch *b,
				 struct errinfo *e);
void net_set_drop(struct net_set_batch *b);

/**
 * net_set_count(s, set, mark, packets, left_ms):
 * The counter of an element, and how long it would still stay; false if there
 * is no such element.
 */
bool net_set_count(struct mnl_socket *s, const char *set, uint32_t mark,
		   uint64_t *packets, uint64_t *left_ms);

#endif

/*
 * A berth is what a sandbox needs before it exists: a range of user ids (its
 * slot), user namespaces that map it, and a fresh network namespace. Making
 * one takes most of the time of a start, so some are kept ready. A berth is
 * used once; its slot is free again when the sandbox is gone.
 */
#ifndef SANDBOX_BERTH_H
#define SANDBOX_BERTH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/spawn.h"

#define BERTH_SLOTS 4096U
#define BERTH_IDS 65536U           /* ids of one sandbox */
#define BERTH_UID_BASE 0x10000000U /* slot 0 begins here */
#define BERTH_KEEPER_BASE 0x0f000000U
#define BERTH_OWNER_BASE                                                       \
	0x0f100000U /* owns a slot's namespaces; runs nothing */
/*
 * On disk all sandboxes' files carry ids of this one range; an idmapped mount
 * shows them as the slot's. So a sandbox may get any slot at its next start,
 * and no file on disk belongs to a user of the host.
 */
#define BERTH_DISK_BASE 0x0e000000U

struct berth {
	uint32_t slot;
	int user_ns; /* 0.. -> the slot's ids: the sandbox's own; maps images */
	int disk_ns; /* disk ids -> the slot's ids: for the upper layers */
	int net_ns;
	struct spawn_child husk; /* it has net_ns already; or none */
};

#define BERTH_READY_MAX 16

struct berth_pool {
	uint8_t used[BERTH_SLOTS]; /* 1: in use or kept ready */
	uint32_t next;
	struct berth ready[BERTH_READY_MAX];
	int nready;
	int keep; /* how many to keep ready, at most BERTH_READY_MAX */
};

#define BERTH_NONE                                                             \
	{                                                                      \
		.user_ns = -1, .disk_ns = -1, .net_ns = -1,                    \
		.husk = SPAWN_CHILD_NONE                                       \
	}

/** berth_uid(slot, inside): The host's id of ${inside} in that slot. */
static inline uid_t berth_uid(uint32_t slot, uint32_t inside)
{
	return (uid_t)(BERTH_UID_BASE + slot * BERTH_IDS + inside);
}

static inline uid_t berth_keeper_uid(uint32_t slot)
{
	return (uid_t)(BERTH_KEEPER_BASE + slot);
}

/**
 * berth_take(pool, b, e):
 * A ready berth, or one made now. Owns: ${b}'s descriptors are the caller's:
 * berth_close(); the slot stays taken until berth_free_slot().
 * Errors: ERR_LIMIT (no slot is free), ERR_IO. Blocks: about 1 ms if none
 * was ready.
 */
FALLIBLE enum err berth_take(struct berth_pool *pool, struct berth *b,
			     struct errinfo *e);
void berth_close(struct berth *b);
void berth_free_slot(struct berth_pool *pool, uint32_t slot);

/** berth_mark_slot(pool, slot): A sandbox that we adopt has it. */
void berth_mark_slot(struct berth_pool *pool, uint32_t slot);

/**
 * berth_claim(pool, slot), berth_make(slot, proc, b, e), berth_give(pool, b):
 * The parts of it: take a free slot (false: there is none), make its
 * namespaces, keep the berth ready. Any process without threads and of the
 * machine's own namespaces can make them; it is in the new network for a
 * moment. ${proc} is a /proc of that process. Blocks: for 1 ms.
 */
bool berth_claim(struct berth_pool *pool, uint32_t *slot);
FALLIBLE enum err berth_make(uint32_t slot, int proc, struct berth *b,
			     struct errinfo *e);
void berth_give(struct berth_pool *pool, struct berth *b);

void berth_pool_close(struct berth_pool *pool);

#endif

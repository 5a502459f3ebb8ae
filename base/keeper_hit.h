/*
 * Limits that an execution ran into: which, how high it is, what was used of
 * it, and how often. A keeper tells them in END and ITEM.
 */
#ifndef BASE_KEEPER_HIT_H
#define BASE_KEEPER_HIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/wire.h"

/* X(name, the API's name, what it is called as a refusal). The order is the
 * wire's: new ones come last. */
#define HIT_KINDS(X)                                                           \
	X(MEMORY, "memoryBytes", "out_of_memory")                              \
	X(PIDS, "pids", "pid_limit")                                           \
	X(DISK, "diskBytes", "disk_limit")                                     \
	X(INODES, "inodes", "disk_limit")                                      \
	X(TIME, "timeoutMs", "timed_out")                                      \
	X(WALL, "wallMs", "timed_out")                                         \
	X(OUTPUT, "outputBytes", "output_limit")

enum hit_kind {
#define X(name, json, what) HIT_##name,
	HIT_KINDS(X)
#undef X
	    HIT_COUNT
};

/*
 * ${hits} rose while the execution ran, whoever of the sandbox caused it;
 * ${fresh} of them were told by no execution before, so that their sum over
 * all executions is the sandbox's.
 */
struct keeper_hit {
	uint64_t limit;
	uint64_t used; /* 0: not known */
	uint64_t hits; /* 0: the limit was not hit */
	uint64_t fresh;
};

struct keeper_hits {
	struct keeper_hit of[HIT_COUNT];
};

/* The most that keeper_put_hits() adds. */
#define KEEPER_HITS_LEN (1 + HIT_COUNT * 33)

/** keeper_hit_name(k), keeper_hit_what(k): "pids", "pid_limit", …. */
const char *keeper_hit_name(enum hit_kind k);
const char *keeper_hit_what(enum hit_kind k);

/** keeper_put_hits(b, h): u8 n, then n of u8 kind, u64 limit, used, hits,
 * fresh; only those that were hit. */
void keeper_put_hits(struct buf *b, const struct keeper_hits *h);

/** keeper_get_hits(in, h): What keeper_put_hits put. False: malformed. */
bool keeper_get_hits(struct wire_in *in, struct keeper_hits *h);

#endif

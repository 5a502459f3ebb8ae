/*
 * What the sandbox uses of what it may: files of the cgroups that the broker
 * opened for its keeper, and statfs of the sandbox's disk by a descriptor that
 * gives no way into it. All are read only, but the one that stops and
 * continues the sandbox (keeper_sleep.h).
 */
#ifndef SANDBOX_KEEPER_USAGE_H
#define SANDBOX_KEEPER_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keeper_msg.h"

/*
 * The optional descriptors that the broker passes, each named by a letter:
 * "om" means that the first is USAGE_OOM, the second USAGE_MEMORY.
 */
#define USAGE_FILES(X)                                                         \
	X(OOM, 'o')                                                            \
	X(MEMORY, 'm')                                                         \
	X(MEMORY_MAX, 'M')                                                     \
	X(PIDS, 'p')                                                           \
	X(PIDS_MAX, 'P')                                                       \
	X(DISK, 'd')                                                           \
	X(MEMORY_PEAK, 'k')                                                    \
	X(PIDS_EVENTS, 'e')                                                    \
	X(FREEZE, 'z')                                                         \
	X(EVENTS, 'v')

enum usage_file {
#define X(name, letter) USAGE_##name,
	USAGE_FILES(X)
#undef X
	    USAGE_COUNT
};

struct usage_fds {
	int fd[USAGE_COUNT]; /* -1: not there */
};

#define USAGE_FDS_NONE                                                         \
	{                                                                      \
		.fd = { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 }               \
	}

/** usage_letter(f): The letter of one of the descriptors. */
char usage_letter(enum usage_file f);

/** usage_fds_named(u, letters, first): The descriptors from ${first} on,
 * as the letters name them. False: an unknown letter. */
bool usage_fds_named(struct usage_fds *u, const char *letters, int first);

/* How often the kernel has refused since the sandbox's start. */
struct usage_counts {
	uint64_t oom;  /* killed for memory */
	uint64_t pids; /* did not fork or clone */
};

/** usage_counts(u, out): As of now. */
void usage_counts(const struct usage_fds *u, struct usage_counts *out);

/**
 * usage_hits(u, from, told, out):
 * What the counts rose by since ${from}, with limits and uses; ${told} (NULL:
 * nobody asks) is what was told before of them, and is moved on.
 */
void usage_hits(const struct usage_fds *u, const struct usage_counts *from,
		struct usage_counts *told, struct keeper_hits *out);

/** usage_disk_full(u): Not one block, or not one inode, is free. */
bool usage_disk_full(const struct usage_fds *u);

/** usage_disk_hit(u, out): Whichever of both it is, as a hit. */
void usage_disk_hit(const struct usage_fds *u, struct keeper_hits *out);

/** usage_memory_limit(u): The sandbox's, in bytes; 0: none is known. */
uint64_t usage_memory_limit(const struct usage_fds *u);

/** usage_freeze(u, on): Stop all in the sandbox, or continue it. False, with
 * errno: it cannot be. */
bool usage_freeze(const struct usage_fds *u, bool on);

/** usage_frozen(u): All in it has stopped. */
bool usage_frozen(const struct usage_fds *u);

/** usage_read(u, out): All of it; what cannot be told is 0. */
void usage_read(const struct usage_fds *u, struct keeper_usage *out);

#endif

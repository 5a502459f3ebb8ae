/*
 * A husk is warren-init before it is told whose it will be: a process with
 * namespaces of its own, /dev and /proc, that waits as real root. Told its
 * layers it builds the tree; told that it is in its cgroups it confines
 * itself and is init, without another exec: what a program costs until it
 * runs was paid while nobody waited.
 */
#ifndef SANDBOX_HUSK_H
#define SANDBOX_HUSK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/limits.h"

/* What it is exec'd with, beside 0 to 2. */
enum {
	HUSK_FD_GO = 3, /* orders, then the go (husk_orders, HUSK_GO_COUNT) */
	HUSK_FD_REPORT, /* closed: it is init; or a struct spawn_report */
	HUSK_FD_NET,
	HUSK_FD_USER,
	HUSK_FD_FILTER, /* filter_share() */
	HUSK_FD_COUNT
};

/* The plan in a message: its numbers, then its descriptors as below. */
struct husk_orders {
	uid_t root_uid;
	uint64_t tmp_bytes;
	uint64_t shm_bytes;
	struct limits limits;
	bool host_usr; /* two more */
	bool tools;    /* one more */
	bool ours;     /* and one more */
};

enum { HUSK_IMAGE, HUSK_FILES, HUSK_ORDERS };
enum { HUSK_KEEPER, HUSK_CGROUP, HUSK_GO_COUNT }; /* with one byte */

/* Its words are HUSK_NAME, the point and the root's uid; the first stays. */
#define HUSK_NAME "warren-init"
#define HUSK_WORDS 3

/**
 * husk_become(argv):
 * In warren-init, exec'd as a husk. Returns when this is PID 1 of a confined
 * sandbox, with the descriptors of init_msg.h and none else; does not return
 * when a step fails or it is never needed.
 */
void husk_become(char **argv);

#endif

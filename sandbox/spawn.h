/*
 * From nothing to a confined PID 1, in the order that keeps every mount and
 * namespace out of the sandbox's reach: namespaces and mounts as real root,
 * the cgroup namespace after the attach, then the user namespace, a second
 * mount namespace, ids, capabilities, no_new_privs, Landlock, seccomp, exec.
 * Each step (spawn_steps.def) fails closed: the child reports it and ends.
 */
#ifndef SANDBOX_SPAWN_H
#define SANDBOX_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/filter.h"
#include "sandbox/limits.h"
#include "sandbox/mount.h"

enum spawn_step {
	SPAWN_OK = 0,
#define STEP(name) SPAWN_##name,
#include "sandbox/spawn_steps.def"
#undef STEP
};

struct spawn_plan {
	struct mount_plan mounts;
	int net_ns;
	int user_ns;
	int init_program; /* warren-init, open for reading */
	int keeper;       /* init's end of the socket to its keeper */
	int cgroup;       /* the sandbox's v2 directory */
	struct limits limits;
	const struct filter *filter;
	int filter_fd; /* a husk's: filter_share() */
};

struct spawn_child {
	pid_t pid;
	int pidfd;
	int go;     /* write one byte once it is in its v1 cgroups too */
	int report; /* EOF: init runs; a struct spawn_report: it failed */
};

struct spawn_report {
	uint32_t step; /* enum spawn_step */
	uint32_t sys;  /* errno */
};

#define SPAWN_CHILD_NONE                                                       \
	{                                                                      \
		.pid = -1, .pidfd = -1, .go = -1, .report = -1                 \
	}

/**
 * spawn_start(plan, child, e):
 * Clone into the v2 cgroup. The child builds its tree at once and waits for
 * the go byte before it confines itself. Owns: the caller closes the
 * descriptors and reaps the pid. Errors: ERR_IO. Blocks: no.
 */
FALLIBLE enum err spawn_start(const struct spawn_plan *plan,
			      struct spawn_child *child, struct errinfo *e);

/**
 * spawn_husk(plan, child, e):
 * A process that has its namespaces, /dev and /proc before anything is known
 * of its sandbox but net_ns, user_ns, init_program, filter_fd, point and
 * root_uid (husk.h). It waits on ${child->go} for spawn_fill(); then it goes
 * on as after spawn_start(), but is in no cgroup of the sandbox yet. It is a
 * child of our own parent, so that a maker can make it for the broker.
 * Owns, Errors: as spawn_start(). Blocks: until it is exec'd.
 */
FALLIBLE enum err spawn_husk(const struct spawn_plan *plan,
			     struct spawn_child *child, struct errinfo *e);

/**
 * spawn_fill(plan, husk): Tell it the rest but keeper and cgroup; it builds
 * its tree. False: it has died. The descriptors stay the caller's.
 */
bool spawn_fill(const struct spawn_plan *plan, const struct spawn_child *husk);

/** spawn_go(husk, keeper, cgroup): It is in its cgroups: it confines itself.
 * False: it has died; its report may tell why. */
bool spawn_go(const struct spawn_child *husk, int keeper, int cgroup);

/** spawn_husk_end(husk): One that is not needed; reaps it if it is our
 * child. Fine for SPAWN_CHILD_NONE. */
void spawn_husk_end(struct spawn_child *husk);

/** spawn_child_close(c): The descriptors; not the process. */
void spawn_child_close(struct spawn_child *c);

#endif

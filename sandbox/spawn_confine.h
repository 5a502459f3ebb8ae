/* From real root with its tree to a process that may become init. */
#ifndef SANDBOX_SPAWN_CONFINE_H
#define SANDBOX_SPAWN_CONFINE_H

#include "sandbox/spawn.h"

#define SPAWN_FD_HIGH 32 /* out of the way of what init gets */

/* The host's, opened before they are out of sight. */
struct spawn_host {
	int null;      /* /dev/null */
	int proc_user; /* /proc/sys/user */
	int proc_self; /* /proc/self */
};

/** spawn_confine(plan, host): SPAWN_OK, or the step that failed. Descriptors
 * of ${plan} may have other numbers then. */
enum spawn_step spawn_confine(struct spawn_plan *plan,
			      const struct spawn_host *host);

#endif

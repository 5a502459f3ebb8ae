/* What running sandboxes cost this machine. */
#ifndef STORE_WARREN_LOAD_H
#define STORE_WARREN_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "store/warren_run.h"

struct warren_load {
	int keepers;          /* that belong to the broker */
	int64_t cgroup_bytes; /* their sandboxes' memory cgroups, together */
	int64_t keeper_bytes; /* the keepers' proportional set sizes */
	int64_t kernel_bytes; /* slab, stacks, tables, per-cpu: the machine */
};

/**
 * warren_load_read(run, load):
 * False when it cannot be read: not root, or no broker of this machine.
 */
bool warren_load_read(const struct warren_run *run, struct warren_load *load);

#endif

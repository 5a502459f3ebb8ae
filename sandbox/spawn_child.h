/* What a cloned process does on its way to init: spawn.h's other side. */
#ifndef SANDBOX_SPAWN_CHILD_H
#define SANDBOX_SPAWN_CHILD_H

#include <stdbool.h>
#include <stdnoreturn.h>

#include "sandbox/spawn.h"
#include "sandbox/spawn_confine.h"

/** spawn_child_fail(report, step): Tell errno and the step, and end. */
noreturn void spawn_child_fail(int report, enum spawn_step step);

/** spawn_child_need(ok, report, step): Or fail, also where a test breaks that
 * step. */
void spawn_child_need(bool ok, int report, enum spawn_step step);

/** spawn_child_move_up(fd): Out of the way of what init gets, and closed at
 * exec. False: it is -1. */
bool spawn_child_move_up(int *fd);

/** spawn_child_first(net_ns, report): What both ways of a start begin with. */
struct spawn_host spawn_child_first(int net_ns, int report);

/** spawn_child_build(p, stage, h, report): The tree, and into it. */
void spawn_child_build(const struct spawn_plan *p,
		       const struct mount_stage *stage,
		       const struct spawn_host *h, int report);

/** spawn_child_main(plan, go, report): All of it, with an exec of init. */
noreturn void spawn_child_main(const struct spawn_plan *plan, int go,
			       int report);

#endif

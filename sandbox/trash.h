/*
 * Files that are to go: directories D/sandboxes/trash.*, removed by rm in a
 * child, so that a big one blocks nobody; those of a moment by one child.
 */
#ifndef SANDBOX_TRASH_H
#define SANDBOX_TRASH_H

#include <stdbool.h>

#include "base/loop.h"

#define TRASH_NAME_MAX 79
#define TRASH_BATCH 64

struct broker;
struct trash_job;

struct trash {
	struct broker *broker;
	char names[TRASH_BATCH][TRASH_NAME_MAX + 1]; /* not removed yet */
	int n;
	struct loop_timer timer;
	struct trash_job *jobs; /* removals that run */
};

/** trash_throw(t, id): Rename D/sandboxes/<id>, which need not be there; its
 * removal begins within 20 ms. */
void trash_throw(struct trash *t, const char *id);

/** trash_sweep(t): Remove what an earlier broker did not get to. */
void trash_sweep(struct trash *t);

/** trash_busy(t): Something is not gone yet. */
bool trash_busy(const struct trash *t);

#endif

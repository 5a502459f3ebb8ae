/*
 * warren doctor: what this machine and this data directory lack, one line
 * each. What needs power over namespaces is asked of `warrend --probe`.
 */
#ifndef STORE_WARREN_DOCTOR_H
#define STORE_WARREN_DOCTOR_H

#include "base/check.h"
#include "store/warren_cli.h"
#include "store/warren_run.h"

/* What the parts of the examination share. */
struct doctor {
	struct check_list list;
	const char *data;
	struct warren_run run;
};

/** warren_host(d): The machine: users, kernel settings, nginx, clock. */
void warren_host(struct doctor *d);

/** warren_place(d): The data directory, its disk, and the address. */
void warren_place(struct doctor *d);

/** warren_alive(d): The broker by a PING, its programs by their pids. */
void warren_alive(struct doctor *d);

/** warren_health(d): The databases: schema, then quick_check. Needs to be
 * who owns them. Blocks: for reading them, at most 10 s each. */
void warren_health(struct doctor *d);

#endif

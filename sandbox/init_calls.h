/*
 * Calls that the filter refuses and lets init know of (seccomp_unotify(2)):
 * who made one waits for our answer, which is always EPERM. Nothing is ever
 * let through: without us, or when we close, the kernel answers ENOSYS.
 */
#ifndef SANDBOX_INIT_CALLS_H
#define SANDBOX_INIT_CALLS_H

#include <stdbool.h>

#include "base/call_denial.h"
#include "base/loop.h"

struct init_listener;

struct init_calls {
	struct loop *loop;
	struct init_listener *listeners;
	struct call_counts counts;
	struct loop_timer timer; /* armed: told a moment ago */
	bool news;               /* since then */
	void (*tell)(void *arg); /* counts have risen; not too often */
	void *arg;
};

/**
 * init_calls_listen(c, fd):
 * Serve the listener ${fd} of a filter until nobody has the filter any more.
 * Owns: takes ${fd}. What is no listener is closed. Blocks: no.
 */
void init_calls_listen(struct init_calls *c, int fd);

#endif

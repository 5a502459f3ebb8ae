/*
 * libwarren-enter: how a zygote's child comes into a sandbox. All that needs
 * power and all that takes it away, for zygotes in any language: Python loads
 * it by ctypes, Node as an addon. One thread, no allocation.
 *
 *	enter_open();
 *	… warm up, test oneself …
 *	enter_ready();
 *	while (enter_wait() == 0)
 *		if (enter_fork() == 1)
 *			break;        (the child: confined, 0-3 are its own)
 *	enter_show();
 */
#ifndef SANDBOX_ENTER_H
#define SANDBOX_ENTER_H

#include <stdint.h>

/** enter_open(): Read the filter, look at the descriptors. 0, or -1. */
int enter_open(void);

/** enter_ready(): Tell the broker that requests may come. 0, or -1. */
int enter_ready(void);

/**
 * enter_wait():
 * Wait for a request and keep it. 0, or -1 when the broker is gone.
 * Errors: a malformed request is answered and the next one awaited.
 */
int enter_wait(void);

/** enter_language(): The language that the request names. */
const char *enter_language(void);

/**
 * enter_fork():
 * Fork for the request that enter_wait() took, by the C library's fork(), so
 * that its handlers run; the interpreter's own are the caller's to run.
 * Returns 1 in the child, which is the sandbox's user then, in its
 * namespaces, cgroups and filters, with no parent but the sandbox's init,
 * and with the descriptors 0 to 3 only; 0 in the zygote, which has answered.
 * A child that cannot enter tells the step and ends: it never returns.
 */
int enter_fork(void);

/**
 * enter_show():
 * As dumpable as what init starts: the child's user sees it in /proc, and
 * writes to its memory. So not before the child has nothing left that is the
 * zygote's, for its user can stop it at any point. 0, or -1.
 */
int enter_show(void);

/**
 * enter_keep(mask):
 * Descriptors, bit N for N, that stay open in children: those of an event
 * loop, which the interpreter closes or makes anew right after. From
 * ENTER_KEEP_MIN to 63; none without this call.
 */
void enter_keep(uint64_t mask);
#define ENTER_KEEP_MIN 5

/**
 * enter_forkable():
 * Let a fork copy all private memory: V8 marks its heap to be left out. To
 * be called when nothing is allocated any more. 0, or -1.
 */
int enter_forkable(void);

/**
 * enter_collapse():
 * Put whole 2 MiB blocks of private memory on huge pages: a fork copies one
 * entry for each instead of 512. Returns how many bytes are so now.
 */
unsigned long enter_collapse(void);

#endif

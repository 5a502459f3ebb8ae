/*
 * Sandboxes whose time has come sleep, stop, are deleted. What is due stands
 * in the rows, so nothing is lost with a worker; one worker sweeps at a time,
 * the next one as soon as that one has ended. Rows that say what is not true
 * (any more) are put right too, some at a time.
 */
#ifndef FCGI_LIFE_SWEEP_H
#define FCGI_LIFE_SWEEP_H

#include "fcgi/route.h"

/** life_sweep_start(w, e): The thread that sweeps. Errors: ERR_IO. */
FALLIBLE enum err life_sweep_start(const struct worker *w, struct errinfo *e);

#endif

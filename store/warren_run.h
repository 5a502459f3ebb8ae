/* Where the service of a data directory runs, whether it does or not. */
#ifndef STORE_WARREN_RUN_H
#define STORE_WARREN_RUN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct warren_run {
	char dir[64];     /* R */
	pid_t broker;     /* 0: none answers on R/broker.sock */
	char domain[256]; /* of the broker that runs, else "localhost" */
	char port[8];     /* likewise, else "" */
};

/**
 * warren_run_find(data, r, e):
 * The run directory as D/run-dir has it, else by the rule; then whom
 * R/broker.sock leads to, and what its command line says.
 * Errors: ERR_ARG (the directory's name is too long).
 */
FALLIBLE enum err warren_run_find(const char *data, struct warren_run *r,
				  struct errinfo *e);

/** warren_run_url(r, out, size): "http://localhost:8080"; false when no
 * service runs. */
bool warren_run_url(const struct warren_run *r, char *out, size_t size);

#endif

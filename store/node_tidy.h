/*
 * What ended long ago goes: rows of executions and processes with their
 * logs, and the answers of calls that nobody will retry. By age, and by count
 * for each sandbox: the oldest that ended first. What runs stays.
 */
#ifndef STORE_NODE_TIDY_H
#define STORE_NODE_TIDY_H

#include <stdbool.h>

#include "base/id.h"
#include "store/db.h"

struct node_tidy {
	int64_t before_ms;  /* unix: what ended before goes; 0: nothing */
	int64_t retry_ms;   /* unix: answers from before go */
	uint32_t rows_max;  /* of each kind in a sandbox; 0: any number */
	id_sandbox_t after; /* how far the count has come; "" to begin with */
	bool again;         /* of that one there are still too many */
};

/**
 * node_tidy(c, t, more, e):
 * One small step. ${more}: there may be more to do.
 */
FALLIBLE enum err node_tidy(struct store_conn *c, struct node_tidy *t,
			    bool *more, struct errinfo *e);

#endif

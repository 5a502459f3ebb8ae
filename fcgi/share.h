/*
 * What one tenant holds of this worker: long waits, and memory for large
 * bodies, files and results. No tenant gets more than its part, so that the
 * others find room, and all together no more than the machine can bear.
 */
#ifndef FCGI_SHARE_H
#define FCGI_SHARE_H

#include "fcgi/pool.h"
#include "fcgi/route.h"

#define SHARE_LONG_MAX (POOL_LONG_MAX / 4)
#define SHARE_BYTES_MAX (1 * GIB)
#define SHARE_BYTES_TENANT_MAX (SHARE_BYTES_MAX / 2)
#define SHARE_STEP (1 * MIB) /* so much each may hold unasked */
#define SHARE_WAIT_MS 10000

/**
 * share_long(rq), share_long_end(rq):
 * Count a long wait of the request's tenant; false when it has its part.
 */
bool share_long(struct request *rq);
void share_long_end(struct request *rq);

/**
 * share_room(rq, total):
 * Whether the request may hold ${total} bytes in all; from then on it does.
 * false: the others need what is left; it goes on with what it had.
 */
bool share_room(struct request *rq, size_t total);

/**
 * share_wait(rq, total, e):
 * The same, but wait for it. Errors: ERR_GONE (client), ERR_IO with 503 noted
 * when there is no room for that long. Blocks: up to SHARE_WAIT_MS.
 */
FALLIBLE enum err share_wait(struct request *rq, size_t total,
			     struct errinfo *e);

/** share_back(rq, total): It holds no more than that any longer. */
void share_back(struct request *rq, size_t total);

/** share_end(rq): At the end of every request. */
void share_end(struct request *rq);

#endif

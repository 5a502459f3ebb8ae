/*
 * Store connections, lent to one request at a time: as many as requests
 * that touch the store at once, not as many as streams.
 */
#ifndef FCGI_STORE_POOL_H
#define FCGI_STORE_POOL_H

#include "store/db.h"

#define STORE_POOL_KEEP 8
#define STORE_POOL_QUIET 2 /* when a burst is over */

/*
 * When so many are lent, wait a little for one to come back before opening
 * another: the work is done by few processors, and each connection has caches.
 */
#define STORE_POOL_MANY 16
#define STORE_POOL_WAIT_MS 50

/** store_pool_init(data_dir): Before all others; keeps ${data_dir}. */
void store_pool_init(const char *data_dir);

/** store_pool_take(c, e): Errors: those of store_open. Threads: any. */
FALLIBLE enum err store_pool_take(struct store_conn **c, struct errinfo *e);

/** store_pool_give(c): Give it back (NULL is fine); ${c} becomes NULL. */
void store_pool_give(struct store_conn **c);

/** store_pool_rest(): A burst is over: close most that nobody has. */
void store_pool_rest(void);

/** store_pool_close(): Close those that nobody has. */
void store_pool_close(void);

#endif

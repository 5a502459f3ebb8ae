/*
 * The threads that serve requests. Threads that hold a long wait (streams,
 * runs) are counted apart from those that serve short calls, so that no
 * number of idle readers blocks a status call.
 */
#ifndef FCGI_POOL_H
#define FCGI_POOL_H

#include <stdbool.h>

#include "fcgi/route.h"

#define POOL_CALLS_MAX 128
#define POOL_LONG_MAX 4096
#define POOL_SPARE_MIN 4
#define POOL_SPARE_MS 10000

/**
 * pool_long(rq, e):
 * This call is a long wait from here on until the request ends; a second
 * call is nothing. Errors: ERR_LIMIT with 429 noted when its tenant has its
 * part of them (share.h), ERR_IO with 503 when there are too many.
 */
FALLIBLE enum err pool_long(struct request *rq, struct errinfo *e);

/**
 * pool_rest(rq):
 * This thread will be quiet for a while: give back the memory that it had in
 * use and has not now, of its stack and of ${rq}'s empty output buffer, and
 * now and then what of the heap is free. Cheap enough for once a second.
 */
void pool_rest(struct request *rq);

/** pool_long_end(rq): At the end of every request. */
void pool_long_end(struct request *rq);

/**
 * pool_give(fd, came_us):
 * Have a thread call accept_serve(fd, came_us) soon. Threads: any.
 */
void pool_give(int fd, int64_t came_us);

/** pool_busy(): How many requests are waiting or being served. */
unsigned pool_busy(void);

#endif

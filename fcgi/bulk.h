/*
 * Memory for megabytes that come and go: bodies and files. What was just given
 * back is taken again: fresh memory costs a fault for each of its pages, which
 * was more than all that is done with it.
 */
#ifndef FCGI_BULK_H
#define FCGI_BULK_H

#include "base/buf.h"

/**
 * bulk_take(b, n):
 * Memory for about ${n} bytes for ${b}, which has none, if some was kept; else
 * none. What ${b} needs beyond it takes as usual. Threads: any.
 */
void bulk_take(struct buf *b, size_t n);

/** bulk_give(b): For OWN: as buf_free(), but some is kept. */
void bulk_give(struct buf *b);

/** bulk_rest(): Nobody needs it for now: nothing is kept. */
void bulk_rest(void);

#endif

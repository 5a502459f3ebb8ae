/*
 * What frees the bytes of logs: those that were removed, and chunks that are
 * too old. A small step at a time, so that nobody waits for long.
 */
#ifndef STORE_LOG_TIDY_H
#define STORE_LOG_TIDY_H

#include <stdbool.h>
#include <stdint.h>

#include "store/db.h"

/**
 * log_tidy(c, before_ms, more, e):
 * One step: some chunks of a removed log, else some that are older than
 * ${before_ms} (unix; 0: none is), which are counted as dropped. ${more}:
 * there may be more to do.
 */
FALLIBLE enum err log_tidy(struct store_conn *c, int64_t before_ms, bool *more,
			   struct errinfo *e);

#endif

/*
 * How long what has been is kept: [history] in D/warren.ini, all optional:
 *
 *   logs = 7d      output is dropped, and counted, when it is that old
 *   rows = 30d     executions and processes that ended, and their logs
 *   count = 10000  and of each kind at most so many in a sandbox
 *
 * Times in s, m, h or d; 0 keeps for ever.
 */
#ifndef STORE_HISTORY_CONF_H
#define STORE_HISTORY_CONF_H

#include <stdint.h>

#include "base/err.h"

struct history_conf {
	int64_t logs_ms; /* 0: for ever, as all here */
	int64_t rows_ms;
	uint32_t count;
};

#define HISTORY_DAY_MS (INT64_C(24) * 3600 * 1000)
#define HISTORY_CONF_INIT                                                      \
	{                                                                      \
		.logs_ms = 7 * HISTORY_DAY_MS, .rows_ms = 30 * HISTORY_DAY_MS, \
		.count = 10000                                                 \
	}

/**
 * history_conf_read(data_dir, c, e):
 * What the file of ${data_dir} says; what it does not say stays as it is.
 * Errors: those of conf_read(); ${c} is as it was.
 */
FALLIBLE enum err history_conf_read(const char *data_dir,
				    struct history_conf *c, struct errinfo *e);

#endif

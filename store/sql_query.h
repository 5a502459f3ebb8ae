/*
 * SQL for the operator: read-only, over views of the three files. Its own
 * handle, never the request path's: a bad query costs its asker only.
 */
#ifndef STORE_SQL_QUERY_H
#define STORE_SQL_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "store/db.h"

#define SQL_ROWS_MAX 10000
#define SQL_BYTES_MAX (16U << 20)
#define SQL_TIME_MAX_MS 5000
#define SQL_TEXT_MAX 65536

enum sql_type { SQL_NULL, SQL_INT, SQL_REAL, SQL_TEXT, SQL_BLOB };

struct sql_value {
	enum sql_type type;
	int64_t i;
	double real;
	const char *data; /* text and blob; text may be invalid UTF-8 */
	size_t len;
};

struct sql_caps {
	uint64_t rows_max;
	uint64_t bytes_max;
	int64_t time_max_ms;
};

/* Where rows go: head once, then each row. A failure ends the query. */
struct sql_sink {
	void *arg;
	enum err (*head)(void *arg, const char *const *names, size_t n,
			 struct errinfo *e);
	enum err (*row)(void *arg, const struct sql_value *values, size_t n,
			struct errinfo *e);
};

#define SQL_CAPS_DEFAULT                                                       \
	{                                                                      \
		.rows_max = SQL_ROWS_MAX, .bytes_max = SQL_BYTES_MAX,          \
		.time_max_ms = SQL_TIME_MAX_MS                                 \
	}

/**
 * sql_query_run(data_dir, text, caps, sink, e):
 * Run one SELECT, over the views of sql_views.def.
 * Errors: ERR_ARG (not one SELECT, or SQL that does not compile; the text is
 * SQLite's and may be shown), ERR_DENIED (something not allowed), ERR_LIMIT
 * (rows or bytes; what came before was given out), ERR_TIMEOUT.
 */
FALLIBLE enum err sql_query_run(const char *data_dir, const char *text,
				const struct sql_caps *caps,
				const struct sql_sink *sink, struct errinfo *e);

/**
 * sql_query_views(data_dir, sink, e):
 * A row for each view: its name, and its columns by commas.
 * Errors: as sql_query_run().
 */
FALLIBLE enum err sql_query_views(const char *data_dir,
				  const struct sql_sink *sink,
				  struct errinfo *e);

#endif

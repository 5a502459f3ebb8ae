/* Inside store/ only: rows of logs.db. */
#ifndef STORE_LOG_ROW_H
#define STORE_LOG_ROW_H

#include "base/id.h"
#include "store/ctl_tenant.h"
#include "store/log_chunk.h"
#include "store/stmt.h"

/* A row of logs as its writer needs it. */
struct log_row {
	int64_t id; /* 0: there is none */
	struct log_state s;
	int64_t first_at; /* time of the oldest chunk; 0: none */
	bool gone;
	char tenant[CTL_TENANT_ID_LEN + 1];
	char sandbox[ID_SANDBOX_LEN + 1];
};

/** log_row_read(q, row): The LOG_COLS of the present row. */
void log_row_read(struct stmt *q, struct log_row *row);

/** log_row_get(c, sandbox, exec, row, e): Also one that was removed. */
FALLIBLE enum err log_row_get(struct store_conn *c, const char *sandbox,
			      const char *exec, struct log_row *row,
			      struct errinfo *e);

/** log_row_set(c, row, e): Write what changes of it. */
FALLIBLE enum err log_row_set(struct store_conn *c, const struct log_row *row,
			      struct errinfo *e);

/* What is counted beside the rows, within a transaction. */
struct log_sums {
	uint64_t sandbox;
	uint64_t tenant;
};

/** log_sums_get(c, row, sums, e): Of the sandbox and tenant of ${row}. */
FALLIBLE enum err log_sums_get(struct store_conn *c, const struct log_row *row,
			       struct log_sums *sums, struct errinfo *e);
FALLIBLE enum err log_sums_set(struct store_conn *c, const struct log_row *row,
			       const struct log_sums *sums, struct errinfo *e);

/** log_less(a, b): A counter in a damaged file must not wrap. */
static inline uint64_t log_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* How much of a log is to be dropped, from its beginning. */
struct log_drop {
	uint64_t bytes;     /* at least so many, if there are */
	int64_t before;     /* and all that is older */
	unsigned rows_max;  /* but at most so many chunks */
	uint64_t bytes_max; /* and about so many bytes */
	uint64_t freed;     /* what was: overhead included */
};

#define LOG_DROP_INIT                                                          \
	{                                                                      \
		.before = INT64_MIN, .rows_max = UINT32_MAX,                   \
		.bytes_max = UINT64_MAX                                        \
	}

/** log_drop(c, row, d, e): Drop chunks and count them in ${row}, which the
 * caller writes; sums are the caller's, too. */
FALLIBLE enum err log_drop(struct store_conn *c, struct log_row *row,
			   struct log_drop *d, struct errinfo *e);

#endif

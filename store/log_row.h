/* Inside store/ only: rows of logs.db. */
#ifndef STORE_LOG_ROW_H
#define STORE_LOG_ROW_H

#include "store/log_chunk.h"
#include "store/stmt.h"

/** log_row_read(q, log, s): The LOG_COLS of the present row. */
void log_row_read(struct stmt *q, int64_t *log, struct log_state *s);

/** log_row_get(c, sandbox, exec, log, s, e): ${log} is 0 if there is none. */
FALLIBLE enum err log_row_get(struct store_conn *c, const char *sandbox,
			      const char *exec, int64_t *log,
			      struct log_state *s, struct errinfo *e);

#endif

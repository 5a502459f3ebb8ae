/* Inside store/ only: what reading node.db's rows has in common. */
#ifndef STORE_NODE_ROW_H
#define STORE_NODE_ROW_H

#include "store/node.h"
#include "store/stmt.h"

/** node_row_state(text): NODE_ENDED for all that is not "running". */
enum node_state node_row_state(const char *text);

/** node_row_kind_name(kind), node_row_kind(text): "exec", "run", …. */
const char *node_row_kind_name(enum exec_kind kind);
enum exec_kind node_row_kind(const char *text);

/** node_row_end(q, i, end): The END_COLS from column ${i} on. */
void node_row_end(struct stmt *q, int i, struct node_end *end);

/**
 * node_row_do(c, stmt, sandbox, id, changes, e):
 * Run a writing statement with :sandbox and :id (NULL: it has none).
 */
FALLIBLE enum err node_row_do(struct store_conn *c, enum stmt_id stmt,
			      const char *sandbox, const char *id,
			      uint64_t *changes, struct errinfo *e);

/** node_row_pid(c, stmt, sandbox, id, pid, e): The same with :pid. */
FALLIBLE enum err node_row_pid(struct store_conn *c, enum stmt_id stmt,
			       const char *sandbox, const char *id,
			       uint32_t pid, struct errinfo *e);

#endif

/* Inside store/ only: the columns of limits that three tables have. */
#ifndef STORE_LIMIT_ROW_H
#define STORE_LIMIT_ROW_H

#include "store/ctl_limit.h"
#include "store/stmt.h"

#define LIMIT_ROW_COLS (LIMIT_ALL + 3)

/** limit_row_read(q, i, limits, net): From column ${i} on, in the order of
 * enum ctl_limit, then the network's. NULLs are 0 and "". */
void limit_row_read(struct stmt *q, int i, struct ctl_limits *limits,
		    struct ctl_net *net);

/** limit_row_bind(q, n, limits, net): Parameters of the columns' names, for
 * the first ${n} limits: LIMIT_ALL, or LIMIT_COUNT where a sandbox's are. */
void limit_row_bind(struct stmt *q, int n, const struct ctl_limits *limits,
		    const struct ctl_net *net);

#endif

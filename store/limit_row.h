/* Inside store/ only: the columns of limits that three tables have. */
#ifndef STORE_LIMIT_ROW_H
#define STORE_LIMIT_ROW_H

#include "store/ctl_limit.h"
#include "store/stmt.h"

#define LIMIT_ROW_COLS (LIMIT_COUNT + 3)

/** limit_row_read(q, i, limits, net): From column ${i} on, in the order of
 * CTL_LIMITS, then the network's. NULLs are 0 and "". */
void limit_row_read(struct stmt *q, int i, struct ctl_limits *limits,
		    struct ctl_net *net);

/** limit_row_bind(q, limits, net): Parameters of the columns' names. */
void limit_row_bind(struct stmt *q, const struct ctl_limits *limits,
		    const struct ctl_net *net);

#endif

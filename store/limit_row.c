#include "store/limit_row.h"

void limit_row_read(struct stmt *q, int i, struct ctl_limits *limits,
		    struct ctl_net *net)
{
	for (int k = 0; k < LIMIT_ALL; k++)
		limits->of[k] = stmt_col_int(q, i + k);
	i += LIMIT_ALL;
	stmt_col_copy(q, i, net->policy, sizeof(net->policy));
	stmt_col_copy(q, i + 1, net->allow, sizeof(net->allow));
	stmt_col_copy(q, i + 2, net->deny, sizeof(net->deny));
}

void limit_row_bind(struct stmt *q, int n, const struct ctl_limits *limits,
		    const struct ctl_net *net)
{
	for (int k = 0; k < n; k++)
		stmt_int(q, ctl_limit_table[k].param, limits->of[k]);
	stmt_text(q, ":network", net->policy);
	stmt_text(q, ":net_allow", net->allow);
	stmt_text(q, ":net_deny", net->deny);
}

#include <stdlib.h>

#include "store/node_live.h"
#include "store/node_row.h"

enum err node_live_list(struct store_conn *c, const char *sandbox,
			struct node_live_list *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(node_live_free) struct node_live_list l = {.n = 0};
	enum err r = stmt_use(c, STMT_NODE_LIVE, &q, e);
	bool row;

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	while ((r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		struct node_live *x;

		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r != ERR_NONE)
			return r;
		x = &l.rows[l.n++];
		stmt_col_copy(&q, 0, x->id, sizeof(x->id));
		x->kind = node_row_kind(stmt_col_text(&q, 1));
		x->started_ms = stmt_col_int(&q, 2);
	}
	if (r != ERR_NONE)
		return r;
	*out = (struct node_live_list){STEAL(l.rows), l.n};
	return ERR_NONE;
}

void node_live_free(struct node_live_list *l)
{
	free(l->rows);
	*l = (struct node_live_list){.n = 0};
}

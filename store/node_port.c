#include <stdlib.h>

#include "store/node_port.h"
#include "store/stmt.h"

/* Whatever is told, a sum stays a number. */
#define MORE_MAX (INT64_C(1) << 50)

static int64_t port_more(uint64_t v)
{
	return v < (uint64_t)MORE_MAX ? (int64_t)v : MORE_MAX;
}

enum err node_port_hit(struct store_conn *c, const char *sandbox,
		       const struct node_port *p, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_PORT_HIT, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_int(&q, ":port", p->port);
	stmt_int(&q, ":requests", port_more(p->requests));
	stmt_int(&q, ":in", port_more(p->bytes_in));
	stmt_int(&q, ":out", port_more(p->bytes_out));
	stmt_int(&q, ":errors", port_more(p->errors));
	stmt_int(&q, ":last", p->last_ms);
	return stmt_run(&q, NULL, e);
}

enum err node_port_list(struct store_conn *c, const char *sandbox,
			struct node_port_list *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(node_port_list_free) struct node_port_list l = {.n = 0};
	enum err r = stmt_use(c, STMT_PORT_HITS, &q, e);
	bool row;

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	while ((r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		struct node_port *p;

		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r != ERR_NONE)
			return r;
		p = &l.rows[l.n++];
		p->port = (uint16_t)stmt_col_int(&q, 0);
		p->requests = (uint64_t)stmt_col_int(&q, 1);
		p->bytes_in = (uint64_t)stmt_col_int(&q, 2);
		p->bytes_out = (uint64_t)stmt_col_int(&q, 3);
		p->errors = (uint64_t)stmt_col_int(&q, 4);
		p->last_ms = stmt_col_int(&q, 5);
	}
	if (r != ERR_NONE)
		return r;
	*out = (struct node_port_list){STEAL(l.rows), l.n};
	return ERR_NONE;
}

void node_port_list_free(struct node_port_list *l)
{
	free(l->rows);
	*l = (struct node_port_list){.n = 0};
}

enum err node_port_drop(struct store_conn *c, const char *sandbox,
			uint16_t port, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_PORT_HITS_DROP, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":sandbox", sandbox);
	stmt_int(&q, ":port", port);
	return stmt_run(&q, NULL, e);
}

/* What node.db says is running in one sandbox, for the recorder. */
#ifndef STORE_NODE_LIVE_H
#define STORE_NODE_LIVE_H

#include "store/node.h"

struct node_live {
	id_text_t id; /* as the keeper names it: of a context, its kernel */
	enum exec_kind kind;
	int64_t started_ms;
};

struct node_live_list {
	struct node_live *rows;
	size_t n;
};

/** node_live_list(c, sandbox, out, e): All running rows of ${sandbox}. */
FALLIBLE enum err node_live_list(struct store_conn *c, const char *sandbox,
				 struct node_live_list *out, struct errinfo *e);
void node_live_free(struct node_live_list *l);

#endif

/* Executions: plain calls, code runs, git and file operations. */
#ifndef STORE_NODE_EXECUTION_H
#define STORE_NODE_EXECUTION_H

#include "store/node.h"

struct node_execution {
	id_sandbox_t sandbox;
	id_text_t id;
	enum exec_kind kind;
	id_text_t context; /* of a RUN, else "" */
	enum node_state state;
	char *command; /* of a RUN: its code */
	char *cwd;
	int64_t started_ms;
	struct node_end end; /* when state is NODE_ENDED */
};

struct node_execution_list {
	struct node_execution *rows;
	size_t n;
};

/* What is inserted; borrowed texts, NULL is "". */
struct node_execution_new {
	const char *sandbox;
	const char *id;
	enum exec_kind kind;
	const char *context;
	const char *command;
	const char *cwd;
};

void node_execution_free(struct node_execution *x);
void node_execution_list_free(struct node_execution_list *l);

/**
 * node_execution_add(c, n, e):
 * Insert it as running, started now. Errors: ERR_EXISTS.
 */
FALLIBLE enum err node_execution_add(struct store_conn *c,
				     const struct node_execution_new *n,
				     struct errinfo *e);

/** node_execution_remove(c, sandbox, id, e): Not there: fine. */
FALLIBLE enum err node_execution_remove(struct store_conn *c,
					const char *sandbox, const char *id,
					struct errinfo *e);

/**
 * node_execution_get(c, sandbox, id, out, e):
 * Owns: ${out}, free it by node_execution_free. Errors: ERR_NOT_FOUND.
 */
FALLIBLE enum err node_execution_get(struct store_conn *c, const char *sandbox,
				     const char *id, struct node_execution *out,
				     struct errinfo *e);

/**
 * node_execution_list(c, sandbox, limit, out, e):
 * The newest ${limit} (at most NODE_PAGE_MAX), newest first.
 */
FALLIBLE enum err node_execution_list(struct store_conn *c, const char *sandbox,
				      uint32_t limit,
				      struct node_execution_list *out,
				      struct errinfo *e);

#endif

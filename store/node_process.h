/* Background processes, present and past. */
#ifndef STORE_NODE_PROCESS_H
#define STORE_NODE_PROCESS_H

#include <stdbool.h>

#include "store/node.h"

struct node_process {
	id_sandbox_t sandbox;
	id_text_t id;
	enum node_state state;
	uint32_t pid; /* as seen inside; 0 before it is known */
	bool auto_cleanup;
	char *command;
	char *cwd;
	int64_t started_ms;
	struct node_end end; /* when state is NODE_ENDED */
	id_text_t exec;      /* what its keeper and its log call it */
	id_text_t session;   /* "": none */
	char failure[160];   /* why it did not start; "" */
	bool terminal;       /* its stdin has frames: pty_frame.h */
};

struct node_process_list {
	struct node_process *rows;
	size_t n;
};

/* What is inserted; borrowed texts, NULL is "". */
struct node_process_new {
	const char *sandbox;
	const char *id;
	const char *command;
	const char *cwd;
	bool auto_cleanup;
	const char *exec; /* NULL: as the id */
	const char *session;
	uint32_t max; /* that may run at a time; 0: any number */
	bool terminal;
};

void node_process_free(struct node_process *p);
void node_process_list_free(struct node_process_list *l);

/**
 * node_process_add(c, n, e):
 * As running, started now; takes the place of one that has ended.
 * Errors: ERR_EXISTS; ERR_LIMIT when ${n->max} of the sandbox run already.
 */
FALLIBLE enum err node_process_add(struct store_conn *c,
				   const struct node_process_new *n,
				   struct errinfo *e);

/** node_process_pid(c, sandbox, id, pid, e): After STARTED. */
FALLIBLE enum err node_process_pid(struct store_conn *c, const char *sandbox,
				   const char *id, uint32_t pid,
				   struct errinfo *e);

/** node_process_fail(c, sandbox, id, why, e): It did not start. */
FALLIBLE enum err node_process_fail(struct store_conn *c, const char *sandbox,
				    const char *id, const char *why,
				    struct errinfo *e);

/** node_process_remove(c, sandbox, id, e): Not there: fine. */
FALLIBLE enum err node_process_remove(struct store_conn *c, const char *sandbox,
				      const char *id, struct errinfo *e);

/** node_process_remove_ended(c, sandbox, n, e): ${n}: how many there were. */
FALLIBLE enum err node_process_remove_ended(struct store_conn *c,
					    const char *sandbox, uint64_t *n,
					    struct errinfo *e);

/** node_process_get(c, sandbox, id, out, e): Errors: ERR_NOT_FOUND. */
FALLIBLE enum err node_process_get(struct store_conn *c, const char *sandbox,
				   const char *id, struct node_process *out,
				   struct errinfo *e);

/** node_process_list(c, sandbox, out, e): The newest NODE_PAGE_MAX, oldest
 * first. */
FALLIBLE enum err node_process_list(struct store_conn *c, const char *sandbox,
				    struct node_process_list *out,
				    struct errinfo *e);

#endif

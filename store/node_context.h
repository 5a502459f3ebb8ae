/*
 * Code contexts. A context outlives its kernel: when that is lost, the next
 * run starts a fresh one under a new kernel id (the keeper's execution id).
 */
#ifndef STORE_NODE_CONTEXT_H
#define STORE_NODE_CONTEXT_H

#include "store/node.h"

#define NODE_LANGUAGE_MAX 31

struct node_context {
	id_sandbox_t sandbox;
	id_text_t id;
	id_text_t kernel; /* execution id of its present or last kernel */
	char language[NODE_LANGUAGE_MAX + 1];
	enum node_state state; /* of that kernel */
	uint32_t pid;
	char *cwd;
	char *env; /* JSON object; secret */
	int64_t created_ms;
	int64_t started_ms;  /* of that kernel */
	struct node_end end; /* when state is NODE_ENDED */
};

struct node_context_list {
	struct node_context *rows;
	size_t n;
};

/* What is inserted; borrowed texts, NULL is "". */
struct node_context_new {
	const char *sandbox;
	const char *id;
	const char *kernel;
	const char *language;
	const char *cwd;
	const char *env;
};

void node_context_free(struct node_context *x);
void node_context_list_free(struct node_context_list *l);

/**
 * node_context_add(c, n, max, e):
 * Insert it as running, started now. Errors: ERR_EXISTS; ERR_LIMIT when the
 * sandbox has ${max} contexts already (0: no limit).
 */
FALLIBLE enum err node_context_add(struct store_conn *c,
				   const struct node_context_new *n,
				   uint32_t max, struct errinfo *e);

/** node_context_pid(c, sandbox, id, pid, e): After STARTED. */
FALLIBLE enum err node_context_pid(struct store_conn *c, const char *sandbox,
				   const char *id, uint32_t pid,
				   struct errinfo *e);

/**
 * node_context_restart(c, sandbox, id, from, kernel, e):
 * It gets the fresh kernel ${kernel} instead of ${from} and is running.
 * Errors: ERR_STATE when its kernel is not ${from} any more (somebody else
 * restarted it: get the row again); ERR_NOT_FOUND.
 */
FALLIBLE enum err node_context_restart(struct store_conn *c,
				       const char *sandbox, const char *id,
				       const char *from, const char *kernel,
				       struct errinfo *e);

/** node_context_remove(c, sandbox, id, e): Errors: ERR_NOT_FOUND. */
FALLIBLE enum err node_context_remove(struct store_conn *c, const char *sandbox,
				      const char *id, struct errinfo *e);

/** node_context_get(c, sandbox, id, out, e): Errors: ERR_NOT_FOUND. */
FALLIBLE enum err node_context_get(struct store_conn *c, const char *sandbox,
				   const char *id, struct node_context *out,
				   struct errinfo *e);

/** node_context_list(c, sandbox, out, e): Oldest first. */
FALLIBLE enum err node_context_list(struct store_conn *c, const char *sandbox,
				    struct node_context_list *out,
				    struct errinfo *e);

#endif

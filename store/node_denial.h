/*
 * What was refused to a sandbox: which limit or rule, how often, when last.
 * Whoever sees it counts it: the recorder what ENDs tell, a worker what it
 * refuses itself and what the network's counters say.
 */
#ifndef STORE_NODE_DENIAL_H
#define STORE_NODE_DENIAL_H

#include "store/node.h"

#define NODE_DENIAL_WORD_MAX 47

struct node_denial {
	char what[NODE_DENIAL_WORD_MAX + 1];   /* "out_of_memory", … */
	char policy[NODE_DENIAL_WORD_MAX + 1]; /* "limits.memoryBytes", … */
	uint64_t count;
	int64_t last_ms;
};

struct node_denial_list {
	struct node_denial *rows;
	size_t n;
};

/** node_denial_add(c, sandbox, d, e): ${d->count} more, the last then. */
FALLIBLE enum err node_denial_add(struct store_conn *c, const char *sandbox,
				  const struct node_denial *d,
				  struct errinfo *e);

/** node_denial_hit(c, sandbox, kind, n, at_ms, e): The same for a limit. */
FALLIBLE enum err node_denial_hit(struct store_conn *c, const char *sandbox,
				  enum hit_kind kind, uint64_t n, int64_t at_ms,
				  struct errinfo *e);

/**
 * node_denial_seen(c, sandbox, d, e):
 * A counter that starts anew with each start of the sandbox stands at
 * ${d->count}: what it rose by is added.
 */
FALLIBLE enum err node_denial_seen(struct store_conn *c, const char *sandbox,
				   const struct node_denial *d,
				   struct errinfo *e);

/** node_denial_list(c, sandbox, out, e): Owns: ${out} is the caller's. */
FALLIBLE enum err node_denial_list(struct store_conn *c, const char *sandbox,
				   struct node_denial_list *out,
				   struct errinfo *e);
void node_denial_list_free(struct node_denial_list *l);

#endif

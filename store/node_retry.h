/*
 * Calls with an Idempotency-Key: what each made, and what it was answered, so
 * that a retry makes nothing twice. A row is there before anything is made.
 * Bounded: a day, and the newest NODE_RETRY_MAX of each sandbox.
 */
#ifndef STORE_NODE_RETRY_H
#define STORE_NODE_RETRY_H

#include <stdbool.h>

#include "store/node.h"

#define NODE_RETRY_HASH 32
#define NODE_RETRY_MS (INT64_C(24) * 3600 * 1000)
#define NODE_RETRY_MAX 10000
#define NODE_RETRY_ANSWER_MAX 65536

struct node_retry {
	uint8_t hash[NODE_RETRY_HASH]; /* of route and body */
	id_text_t made;                /* the id of what the call makes */
	char *answer;                  /* "" while there is none */
};

void node_retry_free(struct node_retry *x);

/**
 * node_retry_begin(c, scope, key, x, first, e):
 * The row of ${key} in ${scope} (a sandbox' id, or a tenant's); with none,
 * x->hash and x->made become one and ${first} is true. Else ${x} is what is
 * stored. Owns: ${x}, free it by node_retry_free.
 */
FALLIBLE enum err node_retry_begin(struct store_conn *c, const char *scope,
				   const char *key, struct node_retry *x,
				   bool *first, struct errinfo *e);

/** node_retry_answer(c, scope, key, answer, e): What all retries get. */
FALLIBLE enum err node_retry_answer(struct store_conn *c, const char *scope,
				    const char *key, const char *answer,
				    struct errinfo *e);

/** node_retry_remove(c, scope, key, made, e): It did not make ${made}. The row
 * of another try, which makes something else, stays. */
FALLIBLE enum err node_retry_remove(struct store_conn *c, const char *scope,
				    const char *key, const char *made,
				    struct errinfo *e);

#endif

/* What sessions were made with; whether one lives is its keeper's to say. */
#ifndef STORE_NODE_SESSION_H
#define STORE_NODE_SESSION_H

#include "store/node.h"

struct node_session {
	id_text_t id;
	char *cwd;          /* "": /workspace */
	char *env;          /* a JSON object; secret */
	int64_t timeout_ms; /* of each command; 0: none */
	int64_t created_ms;
};

/* What is stored; borrowed texts, NULL is "" or "{}". */
struct node_session_new {
	const char *sandbox;
	const char *id;
	const char *cwd;
	const char *env;
	int64_t timeout_ms;
};

void node_session_free(struct node_session *s);

/** node_session_set(c, n, e): Made now; takes the place of a former one. */
FALLIBLE enum err node_session_set(struct store_conn *c,
				   const struct node_session_new *n,
				   struct errinfo *e);

/**
 * node_session_get(c, sandbox, id, out, e):
 * Owns: ${out}, free it by node_session_free. Errors: ERR_NOT_FOUND.
 */
FALLIBLE enum err node_session_get(struct store_conn *c, const char *sandbox,
				   const char *id, struct node_session *out,
				   struct errinfo *e);

/** node_session_remove(c, sandbox, id, e): Not there: fine. */
FALLIBLE enum err node_session_remove(struct store_conn *c, const char *sandbox,
				      const char *id, struct errinfo *e);

#endif

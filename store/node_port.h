/*
 * What was asked of exposed ports, counted by nginx and told about once a
 * second: requests, bytes, and those that a program gave no answer to.
 */
#ifndef STORE_NODE_PORT_H
#define STORE_NODE_PORT_H

#include "store/node.h"

struct node_port {
	uint16_t port;
	uint64_t requests;
	uint64_t bytes_in; /* what clients sent, heads included */
	uint64_t bytes_out;
	uint64_t errors; /* no program listened, or it gave no answer */
	int64_t last_ms; /* unix */
};

struct node_port_list {
	struct node_port *rows;
	size_t n;
};

/** node_port_hit(c, sandbox, p, e): So many more. */
FALLIBLE enum err node_port_hit(struct store_conn *c, const char *sandbox,
				const struct node_port *p, struct errinfo *e);

/** node_port_list(c, sandbox, out, e): By port. Owns: the caller frees. */
FALLIBLE enum err node_port_list(struct store_conn *c, const char *sandbox,
				 struct node_port_list *out, struct errinfo *e);
void node_port_list_free(struct node_port_list *l);

/** node_port_drop(c, sandbox, port, e): Count from nothing again. */
FALLIBLE enum err node_port_drop(struct store_conn *c, const char *sandbox,
				 uint16_t port, struct errinfo *e);

#endif

/* Exposed ports: from a preview socket to the sandbox's loopback. */
#ifndef SANDBOX_KEEPER_PORT_H
#define SANDBOX_KEEPER_PORT_H

#include "sandbox/keeper.h"

/* A port that is exposed by a name. */
struct port_spec {
	uint16_t number;
	const char *key;
	uint64_t rate; /* bytes a second, both ways together; 0: no bound */
};

/** port_open(k, spec, fd, e): Serve ${fd} (then ours), a listening socket.
 * The same key again replaces its socket. Errors: ERR_LIMIT, ERR_IO */
FALLIBLE enum err port_open(struct keeper *k, const struct port_spec *spec,
			    int fd, struct errinfo *e);

/** port_close(k, key): Stop listening and cut its connections; false if
 * there is no such key. */
bool port_close(struct keeper *k, const char *key);

#endif

/* Waiting until something on a port of a sandbox answers. */
#ifndef FCGI_PORT_WAIT_H
#define FCGI_PORT_WAIT_H

#include "fcgi/sandbox_link.h"

struct port_wait {
	struct request *rq;
	uint16_t port;
	bool http; /* an answer to GET, not only a connection */
	const char *path;
	int64_t status_min;
	int64_t status_max;
	int64_t interval_ms;
	int64_t until_ms; /* monotonic, or CLOCK_NEVER */
	const char *exec; /* its end ends the waiting; NULL: nothing does */
	/* About once a second; may be NULL. */
	enum err (*idle)(void *ctx, struct errinfo *e);
	void *ctx;
	/* How it ended. */
	enum port_wait_how { PORT_READY = 1, PORT_EXITED, PORT_LATE } how;
	uint16_t status;       /* PORT_READY of an HTTP server */
	struct keeper_end end; /* PORT_EXITED; reason END_NONE: not known */
};

/**
 * port_wait_run(w, e):
 * rq->sandbox is set. A sandbox that does not run has nothing that answers.
 * Errors: ERR_GONE when the client left; what idle() returns.
 */
FALLIBLE enum err port_wait_run(struct port_wait *w, struct errinfo *e);

#endif

/*
 * One thread (the main one) owns the listening socket and the idle kept
 * connections; a connection with something to read goes to the pool.
 */
#ifndef FCGI_ACCEPT_H
#define FCGI_ACCEPT_H

#include <signal.h>

#include "fcgi/route.h"

/* The broker ended (PR_SET_PDEATHSIG). */
#define ACCEPT_ORPHAN SIGHUP

/* After SIGTERM, what still runs may take so long. */
#define ACCEPT_DRAIN_MS 60000

/* No client may block a read or a write for longer. */
#define ACCEPT_SLOW_MS 60000

/**
 * accept_block_signals():
 * Before any thread starts: they are read from a descriptor, so libfcgi's
 * own handlers, which swallow SIGTERM, never run.
 */
void accept_block_signals(void);

/**
 * accept_run(w, listen_fd, e):
 * Serve until SIGTERM or SIGINT, or until a new broker has put its own
 * socket in the place of ours; then finish what is being served and return.
 * Errors: ERR_IO when epoll or the socket cannot be used.
 */
FALLIBLE enum err accept_run(const struct worker *w, int listen_fd,
			     struct errinfo *e);

/** accept_serve(fd, came_us): One request on ${fd}. Threads: the pool's. */
void accept_serve(int fd, int64_t came_us);

#endif

/*
 * The sockets behind preview URLs, R/preview/<port>-<id>-<token>.sock: this
 * side binds them and hands them to the sandbox's keeper, which listens.
 */
#ifndef FCGI_PREVIEW_SOCKET_H
#define FCGI_PREVIEW_SOCKET_H

#include "fcgi/sandbox_link.h"
#include "store/ctl_port.h"

/* "65535-" + 22 + "-" + 16 + NUL */
#define PREVIEW_KEY_MAX 48

/**
 * preview_socket_checked(p):
 * A worker must look at each request: it is private, it expires, or its
 * program gets another Host. Its socket has a name that no host name has.
 */
bool preview_socket_checked(const struct ctl_port *p);

/** preview_socket_key(p, out): "port-id-token". */
void preview_socket_key(const struct ctl_port *p, char out[PREVIEW_KEY_MAX]);

/**
 * preview_socket_open(l, p, e):
 * Bind ${p}'s socket and hand it to the keeper at ${l}. If a socket is there
 * and somebody listens, nothing is done.
 */
FALLIBLE enum err preview_socket_open(struct link *l, const struct ctl_port *p,
				      struct errinfo *e);

/**
 * preview_socket_close(rq, p):
 * Remove the socket and have the keeper, if one lives, close it.
 */
void preview_socket_close(struct request *rq, const struct ctl_port *p);

/**
 * preview_socket_reopen(rq):
 * After a start: open the sockets of all exposed ports. Failures are logged;
 * the first hit of the preview tries again.
 */
void preview_socket_reopen(struct request *rq);

/** preview_socket_forget(rq, sandbox): After a deletion: its lock file. */
void preview_socket_forget(const struct request *rq, const char *sandbox);

/** preview_socket_alive(rq, p): Somebody listens on ${p}'s socket. */
bool preview_socket_alive(const struct request *rq, const struct ctl_port *p);

/**
 * preview_socket_answers(rq, p):
 * Something listens on the port of rq->sandbox, as its keeper finds.
 */
bool preview_socket_answers(struct request *rq, const struct ctl_port *p);

#endif

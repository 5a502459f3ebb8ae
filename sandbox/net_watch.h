/* What changes on the host while sandboxes have a way out: addresses, routes,
 * resolvers, and how many connections there are. */
#ifndef SANDBOX_NET_WATCH_H
#define SANDBOX_NET_WATCH_H

#include "sandbox/net.h"

/** net_watch_open(n, e): Errors: ERR_IO; net_watch_close() follows anyway. */
FALLIBLE enum err net_watch_open(struct net *n, struct errinfo *e);
void net_watch_close(struct net *n);

/** net_watch_refill(n, e): Put what net_host_read() read into the ruleset. */
FALLIBLE enum err net_watch_refill(struct net *n, struct errinfo *e);

#endif

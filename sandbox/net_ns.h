/* Work in another network namespace. The broker has no threads: it goes there
 * and comes back. */
#ifndef SANDBOX_NET_NS_H
#define SANDBOX_NET_NS_H

#include "base/err.h"

/**
 * net_ns_in(own, ns, fn, arg):
 * fn(arg) in the network namespace ${ns}; ${own} is the one to return to,
 * and not returning there ends the program. fn's result, or -1 with errno.
 */
int net_ns_in(int own, int ns, int (*fn)(void *arg), void *arg);

/** net_ns_new(own): A descriptor of a new, empty one, or -1. */
int net_ns_new(int own);

/** net_ns_put(path, text): Write a file of /proc/sys; 0 or -1. */
int net_ns_put(const char *path, const char *text);

#endif

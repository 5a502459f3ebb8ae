/* A file tree of libraries and nothing else, for a program that strangers
 * talk to. */
#ifndef SANDBOX_NET_JAIL_H
#define SANDBOX_NET_JAIL_H

/**
 * net_jail(point):
 * In a child, as root: own mount, IPC and UTS namespaces whose root has
 * /usr, read-only, /dev/null and /dev/urandom; built on ${point}, an empty
 * directory. 0, or -1 with errno: then the child must end.
 */
int net_jail(const char *point);

#endif

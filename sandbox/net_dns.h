/*
 * The resolver of the egress namespace: Debian's dnsmasq, without any
 * privilege, that gives out no private address and refuses internal zones.
 */
#ifndef SANDBOX_NET_DNS_H
#define SANDBOX_NET_DNS_H

#include <sys/types.h>

#include "base/loop.h"

struct net;

struct net_dns {
	struct net *net;
	pid_t pid;
	int pidfd; /* -1: does not run */
	struct loop_watch watch;
	struct loop_timer restart;
	int64_t started_ms;
	int delay_ms;
};

/** net_dns_start(n, e): Start it anew, ending the one of an earlier broker.
 * Errors: ERR_NOT_FOUND (no dnsmasq, nobody to ask), ERR_IO. */
FALLIBLE enum err net_dns_start(struct net *n, struct errinfo *e);

/** net_dns_stop(n): End it and wait until it has. */
void net_dns_stop(struct net *n);

#endif

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/child.h"
#include "sandbox/net.h"
#include "sandbox/net_dns.h"
#include "sandbox/net_ns.h"

#define PROGRAM "/usr/sbin/dnsmasq"
#define NOTE "net/resolver" /* "pid started" */
#define DELAY_MAX_MS 5000
#define LIVED_LONG_MS 10000
#define END_LIMIT_MS 1000
#define READY_LIMIT_MS 3000
#define PROBE_MS 50
#define PROBE_AGAIN_MS 3
/* Behind the keepers' ids: nothing else runs as this, nothing belongs to it. */
#define RESOLVER_UID (BERTH_KEEPER_BASE + BERTH_SLOTS)

static void on_end(void *arg, uint32_t events);

static void note(struct broker *b, pid_t pid)
{
	char text[64];
	OWN(own_fd)
	int fd = openat(b->run, NOTE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0600);
	int n = snprintf(text, sizeof(text), "%d %llu\n", (int)pid,
			 (unsigned long long)child_started_at(pid));

	if (fd < 0 || write(fd, text, (size_t)n) != n)
		log_line(LOG_WARN, "no note of the resolver");
}

static void end(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	child_signal(pidfd, SIGTERM);
	if (poll(&p, 1, END_LIMIT_MS) == 1)
		return;
	child_signal(pidfd, SIGKILL);
	poll(&p, 1, END_LIMIT_MS);
}

/* That of a broker that died. */
static void end_old(struct broker *b)
{
	char text[64];
	unsigned long long started;
	int pid;
	OWN(own_fd)
	int fd = openat(b->run, NOTE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	OWN(own_fd) int pidfd = -1;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return;
	text[n] = '\0';
	unlinkat(b->run, NOTE, 0);
	if (sscanf(text, "%d %llu", &pid, &started) != 2)
		return;
	pidfd = child_open(pid, started);
	if (pidfd >= 0)
		end(pidfd);
}

static enum err run(struct net *n, struct errinfo *e)
{
	char servers[NET_DNS_MAX][32], addr[16], zones[600];
	const char *args[32] = {
	    "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null",
	    "--pid-file=", "--user=", "--log-facility=/dev/null", "--no-hosts",
	    "--no-resolv", "--no-poll", "--no-ident",
	    "--listen-address=" NET_RESOLVER, "--bind-interfaces",
	    "--stop-dns-rebind", "--bogus-priv", "--filter-AAAA",
	    /* Special ranges that --stop-dns-rebind does not know. */
	    "--bogus-nxdomain=100.64.0.0/10", "--bogus-nxdomain=198.18.0.0/15",
	    "--edns-packet-max=1232", "--cache-size=4000",
	    "--dns-forward-max=2000", "--all-servers"};
	int argc = 21;
	OWN(own_fd) int program = open(PROGRAM, O_RDONLY | O_CLOEXEC);
	struct child_spec s = {.program = program,
			       .argv = (char *const *)(uintptr_t)args,
			       .uid = RESOLVER_UID,
			       .gid = RESOLVER_UID,
			       .net_ns = n->ns,
			       .jail = n->broker->point};
	struct net_dns *d = &n->resolver;
	enum err r;

	if (program < 0)
		return err_set(e, ERR_NOT_FOUND, errno,
			       "no " PROGRAM " (package dnsmasq-base)");
	snprintf(zones, sizeof(zones), "--local=%s/", n->conf.dns_refuse);
	args[argc++] = zones;
	for (int i = 0; i < n->ndns; i++) {
		snprintf(servers[i], sizeof(servers[i]), "--server=%s",
			 net_addr_text(n->dns[i], addr));
		args[argc++] = servers[i];
	}
	args[argc] = NULL;
	r = child_start(&s, &d->pid, &d->pidfd, e);
	if (r != ERR_NONE)
		return r;
	d->started_ms = clock_mono_ms();
	note(n->broker, d->pid);
	return loop_add(&n->broker->loop, &d->watch, d->pidfd, EPOLLIN, on_end,
			n, e);
}

static void on_restart(void *arg)
{
	struct net *n = arg;
	struct errinfo e;

	if (run(n, &e) != ERR_NONE)
		log_err("resolver", &e);
}

static void on_end(void *arg, uint32_t events)
{
	struct net *n = arg;
	struct net_dns *d = &n->resolver;
	int status;

	(void)events;
	child_reap(d->pidfd, &status);
	loop_del(&n->broker->loop, &d->watch);
	own_fd(&d->pidfd);
	log_line(LOG_WARN, "the resolver ended with status %#x",
		 (unsigned)status);
	if (clock_mono_ms() - d->started_ms > LIVED_LONG_MS)
		d->delay_ms = 0;
	loop_timer_set(&n->broker->loop, &d->restart,
		       clock_mono_ms() + d->delay_ms, on_restart, n);
	d->delay_ms = d->delay_ms == 0 ? 100 : d->delay_ms * 2;
	if (d->delay_ms > DELAY_MAX_MS)
		d->delay_ms = DELAY_MAX_MS;
}

static int open_probe(void *arg)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(53)};
	int *fd = arg;

	*fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0 || inet_pton(AF_INET, NET_RESOLVER, &a.sin_addr) != 1)
		return -1;
	return connect(*fd, (struct sockaddr *)&a, sizeof(a));
}

/* Ask for the name of a private address: it answers that by itself. */
static bool answers(int fd)
{
	static const uint8_t ask[] =
	    "\0\7\1\0\0\1\0\0\0\0\0\0\0011\0010\0010\00210"
	    "\7in-addr\4arpa\0\0\14\0\1";
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t got[512];

	if (send(fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL) < 0)
		return false;
	return poll(&p, 1, PROBE_MS) == 1 &&
	       recv(fd, got, sizeof(got), MSG_DONTWAIT) > 0;
}

/* Sandboxes are not started towards a resolver that is not there. */
static enum err wait_ready(struct net *n, struct errinfo *e)
{
	OWN(own_fd) int fd = -1;
	int64_t deadline = clock_mono_ms() + READY_LIMIT_MS;
	struct pollfd p = {.fd = n->resolver.pidfd, .events = POLLIN};

	if (net_ns_in(n->own_ns, n->ns, open_probe, &fd) < 0)
		return err_set(e, ERR_IO, errno, "resolver");
	while (clock_left_ms(deadline) > 0) {
		if (answers(fd))
			return ERR_NONE;
		/* What ended is seen to by on_end, or by net_dns_stop. */
		if (poll(&p, 1, PROBE_AGAIN_MS) == 1)
			return err_set(e, ERR_IO, 0, "the resolver ends");
	}
	return err_set(e, ERR_TIMEOUT, 0, "the resolver does not answer");
}

enum err net_dns_start(struct net *n, struct errinfo *e)
{
	enum err r;

	net_dns_stop(n);
	end_old(n->broker);
	if (n->ndns == 0)
		return err_set(e, ERR_NOT_FOUND, 0,
			       "no resolver of the host can be asked: set dns "
			       "in [network] of warren.ini");
	r = run(n, e);
	return r == ERR_NONE ? wait_ready(n, e) : r;
}

void net_dns_stop(struct net *n)
{
	struct net_dns *d = &n->resolver;
	int status;

	loop_timer_del(&n->broker->loop, &d->restart);
	if (d->pidfd < 0)
		return;
	loop_del(&n->broker->loop, &d->watch);
	end(d->pidfd);
	child_reap(d->pidfd, &status);
	own_fd(&d->pidfd);
	unlinkat(n->broker->run, NOTE, 0);
}

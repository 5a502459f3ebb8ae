#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/keeper_port.h"
#include "sandbox/keeper_sleep.h"

#define PORTS_MAX 128
#define LINKS_MAX 1024
#define COPY_BYTES 65536
#define RATE_MAX (UINT64_C(1) << 40)
#define TURN_COPIES 16 /* then others have their turn */
#define DRY_MS 20      /* how long one that moved too much says nothing */

/* One direction of a connection; bytes wait here only while the other side
 * is slow. */
struct flow {
	char *data;
	size_t at, len;
	bool eof;   /* the source has ended */
	bool shut;  /* and the target was told */
	bool moved; /* something came, since link_used() */
};

/* A preview connection and its counterpart on the sandbox's loopback. */
struct link {
	struct port *port;
	struct loop_watch client; /* from nginx */
	struct loop_watch server;
	bool connecting;
	bool tried_v6;
	struct flow up; /* client -> server */
	struct flow down;
	struct link *prev, *next;
};

struct port {
	struct keeper *keeper;
	uint16_t number;
	id_text_t key;
	struct loop_watch listen;
	struct link *links;
	int nlinks;
	uint64_t rate;  /* bytes a second; 0: no bound */
	int64_t credit; /* bytes that it may move; below 0: it moved more */
	int64_t credit_ms;
	struct loop_timer dry; /* armed: nothing is read */
	struct port *next;
};

static void close_watch(struct keeper *k, struct loop_watch *w)
{
	int fd = w->fd;

	loop_del(&k->loop, w);
	own_fd(&fd);
}

static void link_free(struct link *l)
{
	struct port *p = l->port;

	close_watch(p->keeper, &l->client);
	close_watch(p->keeper, &l->server);
	free(l->up.data);
	free(l->down.data);
	if (l->prev != NULL)
		l->prev->next = l->next;
	else
		p->links = l->next;
	if (l->next != NULL)
		l->next->prev = l->prev;
	p->nlinks--;
	free(l);
}

/* Send what waits; -1 when the target is gone. */
static int flow_send(struct flow *f, int to)
{
	while (f->at < f->len) {
		ssize_t n = send(to, f->data + f->at, f->len - f->at,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return -1;
		f->at += (size_t)n;
	}
	free(f->data);
	f->data = NULL;
	f->at = f->len = 0;
	if (f->eof && !f->shut) {
		f->shut = true;
		shutdown(to, SHUT_WR);
	}
	return 0;
}

static void on_dry(void *arg);

/* ${p} may read more. A second's worth may come at once. */
static bool port_may(struct port *p)
{
	int64_t now, rate = (int64_t)p->rate;

	if (p->rate == 0)
		return true;
	if (p->dry.armed)
		return false;
	now = clock_mono_ms();
	if (now - p->credit_ms >= 1000)
		p->credit += rate;
	else
		p->credit += (now - p->credit_ms) * rate / 1000;
	if (p->credit > rate)
		p->credit = rate;
	p->credit_ms = now;
	if (p->credit <= 0)
		loop_timer_set(&p->keeper->loop, &p->dry, now + DRY_MS, on_dry,
			       p);
	return p->credit > 0;
}

/*
 * Copy from one socket to the other until one of them blocks, or ${p}, if not
 * NULL, has moved what it may.
 */
static int flow_copy(struct port *p, struct flow *f, int from, int to)
{
	static char data[COPY_BYTES]; /* one loop, no threads */

	for (int i = 0; i < TURN_COPIES && !f->eof && f->len == 0; i++) {
		ssize_t n, m;

		if (p != NULL && !port_may(p))
			return 0;
		n = recv(from, data, sizeof(data), MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		f->moved = true;
		if (n == 0) {
			f->eof = true;
			return flow_send(f, to);
		}
		if (p != NULL && p->rate > 0)
			p->credit -= n;
		m = send(to, data, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (m < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		if (m < 0)
			m = 0;
		if (m < n) {
			f->len = (size_t)(n - m);
			f->data = malloc(f->len);
			if (f->data == NULL)
				return -1;
			memcpy(f->data, data + m, f->len);
		}
	}
	return 0;
}

static void link_watch(struct link *l)
{
	struct loop *loop = &l->port->keeper->loop;
	bool dry = l->port->dry.armed;
	uint32_t c = 0, s = 0;

	if (!l->up.eof && l->up.len == 0 && !dry)
		c |= EPOLLIN;
	if (l->down.len > 0)
		c |= EPOLLOUT;
	if (!l->down.eof && l->down.len == 0 && !dry)
		s |= EPOLLIN;
	if (l->up.len > 0)
		s |= EPOLLOUT;
	loop_mod(loop, &l->client, c);
	loop_mod(loop, &l->server, s);
}

/*
 * What passes is use. What a client sends wakes the sandbox, and so does its
 * reading on after a pause: the rest is still inside. What comes out of there
 * does not: it was on its way already.
 */
static void link_used(struct link *l, bool reads_on)
{
	struct keeper *k = l->port->keeper;

	if (l->up.moved || reads_on)
		sleep_used(k);
	else if (l->down.moved)
		sleep_mark(k);
	l->up.moved = l->down.moved = false;
}

/* ${p}: its port, or NULL to move what is there whatever it may. */
static void link_move(struct link *l, struct port *p)
{
	int c = l->client.fd, s = l->server.fd;
	bool full = l->down.len > 0;

	if (flow_send(&l->up, s) < 0 || flow_copy(p, &l->up, c, s) < 0 ||
	    flow_send(&l->down, c) < 0 || flow_copy(p, &l->down, s, c) < 0 ||
	    (l->up.shut && l->down.shut)) {
		link_free(l);
		return;
	}
	link_used(l, full && l->down.len == 0);
	link_watch(l);
}

/* Some time has passed: all are looked at again. */
static void on_dry(void *arg)
{
	struct port *p = arg;

	for (struct link *l = p->links; l != NULL; l = l->next)
		if (!l->connecting)
			link_watch(l);
}

static void on_client(void *arg, uint32_t events)
{
	struct link *l = arg;

	if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
		/* Nobody takes an answer; and this would be told for ever. */
		if (!l->connecting && flow_send(&l->up, l->server.fd) == 0)
			(void)!flow_copy(NULL, &l->up, l->client.fd,
					 l->server.fd);
		link_free(l);
		return;
	}
	if (!l->connecting)
		link_move(l, l->port);
}

/* It has said all and hears nothing: what waits for the client is left. */
static void server_gone(struct link *l)
{
	close_watch(l->port->keeper, &l->server);
	free(l->up.data);
	l->up = (struct flow){.eof = true, .shut = true};
	link_move(l, NULL);
}

static int link_connect(struct link *l, bool v6);

static void on_server(void *arg, uint32_t events)
{
	struct link *l = arg;
	int err = 0;
	socklen_t len = sizeof(err);

	if (!l->connecting && l->down.eof &&
	    (events & (EPOLLERR | EPOLLHUP)) != 0) {
		server_gone(l);
		return;
	}
	if (!l->connecting) {
		/* A hang-up is told until it was read, dry or not. */
		link_move(l, (events & (EPOLLERR | EPOLLHUP)) != 0 ? NULL
								   : l->port);
		return;
	}
	if (getsockopt(l->server.fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (err == 0) {
		l->connecting = false;
		link_move(l, l->port);
		return;
	}
	close_watch(l->port->keeper, &l->server);
	if (l->tried_v6 || link_connect(l, true) < 0)
		link_free(l);
}

/* 0: connecting or connected; -1: nobody listens on either family. */
static int link_connect(struct link *l, bool v6)
{
	struct sockaddr_in a4 = {.sin_family = AF_INET,
				 .sin_port = htons(l->port->number),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6,
				  .sin6_port = htons(l->port->number),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	OWN(own_fd)
	int fd = socket(v6 ? AF_INET6 : AF_INET,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r, one = 1;

	l->tried_v6 = v6;
	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	r = v6 ? connect(fd, (struct sockaddr *)&a6, sizeof(a6))
	       : connect(fd, (struct sockaddr *)&a4, sizeof(a4));
	if (r < 0 && errno != EINPROGRESS)
		return v6 ? -1 : link_connect(l, true);
	l->connecting = true; /* writable, or refused: the loop tells */
	if (loop_add(&l->port->keeper->loop, &l->server, fd, EPOLLIN | EPOLLOUT,
		     on_server, l, NULL) != ERR_NONE)
		return -1;
	STEAL_FD(fd);
	return 0;
}

static void on_listen(void *arg, uint32_t events)
{
	struct port *p = arg;
	OWN(own_fd)
	int fd = accept4(p->listen.fd, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct link *l;

	(void)events;
	if (fd < 0 || p->nlinks >= LINKS_MAX)
		return;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return;
	l->port = p;
	l->server.fd = -1;
	if (loop_add(&p->keeper->loop, &l->client, fd, 0, on_client, l, NULL) !=
	    ERR_NONE) {
		free(l);
		return;
	}
	STEAL_FD(fd);
	sleep_used(p->keeper);
	l->next = p->links;
	if (l->next != NULL)
		l->next->prev = l;
	p->links = l;
	p->nlinks++;
	if (link_connect(l, false) < 0)
		link_free(l);
}

bool port_close(struct keeper *k, const char *key)
{
	struct port **at = &k->ports, *p;

	while (*at != NULL && strcmp((*at)->key, key) != 0)
		at = &(*at)->next;
	p = *at;
	if (p == NULL)
		return false;
	*at = p->next;
	while (p->links != NULL)
		link_free(p->links);
	close_watch(k, &p->listen);
	loop_timer_del(&k->loop, &p->dry);
	free(p);
	return true;
}

enum err port_open(struct keeper *k, const struct port_spec *spec, int fd,
		   struct errinfo *e)
{
	OWN(own_fd) int listen_fd = fd;
	struct port *p, **last = &k->ports;
	int n = 0;

	if (!id_text_ok(spec->key) || spec->rate > RATE_MAX)
		return err_set(e, ERR_ARG, 0, "key or rate");
	port_close(k, spec->key);
	for (; *last != NULL; last = &(*last)->next)
		n++;
	if (n >= PORTS_MAX)
		return err_set(e, ERR_LIMIT, 0, "ports");
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return err_set(e, ERR_NOMEM, 0, "port");
	p->keeper = k;
	p->number = spec->number;
	p->rate = spec->rate;
	p->credit_ms = clock_mono_ms();
	p->credit = (int64_t)spec->rate;
	snprintf(p->key, sizeof(p->key), "%s", spec->key);
	if (loop_add(&k->loop, &p->listen, listen_fd, EPOLLIN, on_listen, p,
		     e) != ERR_NONE) {
		free(p);
		return e->code;
	}
	STEAL_FD(listen_fd);
	*last = p;
	return ERR_NONE;
}

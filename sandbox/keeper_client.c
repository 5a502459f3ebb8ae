#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_exec.h"
#include "sandbox/keeper_probe.h"
#include "sandbox/keeper_request.h"
#include "sandbox/keeper_sleep.h"

#define SEND_HIGH (256U << 10) /* events wait in the log, not in here */
#define KILL_GRACE_MS 2000
#define TURN_EVENTS 64

static void client_pump(struct client *c);

static void attach_free(struct attach *a)
{
	struct attach **p = &a->exec->attaches;

	while (*p != a)
		p = &(*p)->exec_next;
	*p = a->exec_next;
	p = &a->client->attaches;
	while (*p != a)
		p = &(*p)->client_next;
	*p = a->client_next;
	free(a);
}

static void client_close(struct client *c)
{
	struct keeper *k = c->keeper;
	struct client **p = &k->clients;
	int fd = c->watch.fd;

	if (c->uses || (c->attaches != NULL && !c->subscribed))
		sleep_mark(k);
	for (struct exec *x = c->starts > 0 ? k->execs : NULL; x != NULL;
	     x = x->next)
		if (x->starter == c)
			x->starter = NULL;
	while (c->attaches != NULL) {
		struct attach *a = c->attaches;
		struct exec *x = a->exec;
		bool kill = a->kill_on_close;

		attach_free(a);
		exec_pause_check(x);
		if (kill) /* which may free one that never began */
			exec_kill(x, END_KILLED, KILL_GRACE_MS);
	}
	if (c->subscribed && --k->nrecorders == 0)
		k->recorder_until_ms = clock_mono_ms() +
				       KEEPER_RECORDER_BACK_MS;
	probe_forget(c);
	loop_del(&k->loop, &c->watch);
	close(fd);
	wire_rx_free(&c->rx);
	wire_tx_free(&c->tx);
	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	free(c);
}

/* Send now what can be sent; a client that fails is closed by the loop. */
static void client_flush(struct client *c)
{
	if (c->broken)
		return;
	if (wire_tx_flush(&c->tx, c->watch.fd, NULL) != ERR_NONE)
		c->broken = true;
	if (c->broken) {
		shutdown(c->watch.fd, SHUT_RDWR); /* the loop sees the end */
		return;
	}
	loop_mod(&c->keeper->loop, &c->watch,
		 c->tx.out.len > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* It goes with the next flush. */
static void client_put(struct client *c, uint16_t type, uint32_t tag,
		       const struct buf *payload)
{
	if (c->broken ||
	    wire_tx_put(&c->tx, type, tag, payload, NULL) == ERR_NONE)
		return;
	c->broken = true;
	shutdown(c->watch.fd, SHUT_RDWR);
}

void client_say(struct client *c, uint16_t type, uint32_t tag,
		const struct buf *payload)
{
	if (c == NULL)
		return;
	client_put(c, type, tag, payload);
	client_flush(c);
}

void client_starts(struct client *c, struct exec *x, uint32_t tag)
{
	x->starter = c;
	x->starter_tag = tag;
	c->starts++;
}

void client_started(struct client *c, uint32_t tag, const struct buf *payload)
{
	client_say(c, KM_STARTED, tag, payload);
	if (c != NULL)
		c->starts--;
}

void client_hand(struct client *c, uint16_t type, uint32_t tag, int *fds, int n)
{
	if (c == NULL || c->broken ||
	    wire_tx_put_fds(&c->tx, type, tag, NULL, fds, n, NULL) !=
		ERR_NONE) {
		for (int i = 0; i < n; i++)
			own_fd(&fds[i]);
		if (c != NULL && !c->broken) {
			c->broken = true;
			shutdown(c->watch.fd, SHUT_RDWR);
		}
		return;
	}
	client_flush(c);
}

void client_refuse(struct client *c, uint32_t tag, enum err code,
		   const char *what)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);

	wire_u32(&b, (uint32_t)code);
	wire_str(&b, what);
	client_say(c, KM_REFUSED, tag, &b);
}

/* ---- events ---- */

static bool put_event(struct client *c, const struct attach *a,
		      const struct ring_event *ev)
{
	OWN(buf_free) struct buf b = BUF_INIT(ev->len + 64);

	wire_u64(&b, ev->seq);
	wire_u8(&b, (uint8_t)ev->kind);
	wire_i64(&b, ev->unix_ms);
	wire_bytes(&b, ev->data, ev->len);
	return wire_tx_put(&c->tx, KM_EVENT, a->tag, &b, NULL) == ERR_NONE;
}

static bool put_gap(struct client *c, const struct attach *a)
{
	OWN(buf_free) struct buf b = BUF_INIT(16);

	wire_u64(&b, a->exec->ring.first);
	return wire_tx_put(&c->tx, KM_GAP, a->tag, &b, NULL) == ERR_NONE;
}

/*
 * Queue some events of one attachment; false when it is done and freed, or
 * the client is broken.
 */
static bool attach_pump(struct attach *a)
{
	struct client *c = a->client;
	struct exec *x = a->exec;

	if (x->state == EXEC_STARTING)
		return true; /* STARTED comes first */
	for (int i = 0; i < TURN_EVENTS && c->tx.out.len < SEND_HIGH; i++) {
		const struct ring_event *ev;
		bool last;

		if (a->next < x->ring.first) {
			if (!put_gap(c, a))
				goto broken;
			a->next = x->ring.first;
		}
		ev = ring_get(&x->ring, a->next);
		if (ev == NULL)
			break;
		last = ev->kind == EVENT_END;
		if (!put_event(c, a, ev))
			goto broken;
		a->next++;
		if (last) {
			attach_free(a);
			return false;
		}
	}
	if (a->next < x->ring.next || a->follow)
		return true;
	if (wire_tx_put(&c->tx, KM_REPLAYED, a->tag, NULL, NULL) != ERR_NONE)
		goto broken;
	attach_free(a);
	return false;
broken:
	c->broken = true;
	shutdown(c->watch.fd, SHUT_RDWR);
	return false;
}

static bool attach_waits(const struct attach *a)
{
	return a->exec->state != EXEC_STARTING && a->next < a->exec->ring.next;
}

/* Round after round over its attachments, so that none starves another. */
static void client_pump(struct client *c)
{
	bool more = true;

	while (more && !c->broken && c->tx.out.len < SEND_HIGH) {
		more = false;
		for (struct attach *a = c->attaches, *next; a != NULL;
		     a = next) {
			struct exec *x = a->exec;

			next = a->client_next;
			if (attach_pump(a) && attach_waits(a))
				more = true;
			if (c->broken)
				return;
			if (x->paused)
				exec_pause_check(x);
		}
		client_flush(c);
	}
}

void client_wake(struct exec *x)
{
	for (struct attach *a = x->attaches, *next; a != NULL; a = next) {
		struct client *c = a->client;

		next = a->exec_next;
		if (c->broken || c->tx.out.len >= SEND_HIGH)
			continue;
		attach_pump(a);
		client_flush(c);
	}
}

struct attach *client_attach(struct client *c, struct exec *x, uint32_t tag,
			     uint64_t after)
{
	struct attach *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	*a = (struct attach){.client = c,
			     .exec = x,
			     .tag = tag,
			     .next = after + 1,
			     .exec_next = x->attaches,
			     .client_next = c->attaches};
	x->attaches = a;
	c->attaches = a;
	return a;
}

void client_detach_all(struct exec *x)
{
	while (x->attaches != NULL)
		attach_free(x->attaches);
}

void client_announce(struct exec *x)
{
	struct keeper_item item;
	OWN(buf_free) struct buf b = BUF_INIT(1024);

	exec_item(x, &item);
	keeper_put_item(&b, &item);
	for (struct client *c = x->keeper->clients; c != NULL; c = c->next)
		if (c->subscribed)
			client_put(c, KM_ITEM, c->subscribe_tag, &b);
}

void client_announced(struct keeper *k)
{
	for (struct client *c = k->clients; c != NULL; c = c->next)
		if (c->subscribed)
			client_flush(c);
}

bool client_flush_all(struct keeper *k)
{
	bool done = true;

	for (struct client *c = k->clients; c != NULL; c = c->next) {
		client_pump(c);
		client_flush(c);
		if (!c->broken && (c->tx.out.len > 0 || c->attaches != NULL))
			done = false;
	}
	return done;
}

/* ---- the connection ---- */

static void on_client(void *arg, uint32_t events)
{
	struct client *c = arg;
	struct wire_msg *msg;
	struct errinfo e;
	bool more;

	if ((events & EPOLLOUT) != 0) {
		client_flush(c);
		client_pump(c);
	}
	if ((events & ~(uint32_t)EPOLLOUT) == 0)
		return;
	if (wire_rx_fill(&c->rx, c->watch.fd, &more, &e) != ERR_NONE) {
		client_close(c);
		return;
	}
	for (;;) {
		if (wire_rx_next(&c->rx, &msg, &e) != ERR_NONE ||
		    (msg != NULL && !request_handle(c, msg))) {
			log_line(LOG_WARN, "client dropped: malformed frame");
			client_close(c);
			return;
		}
		if (msg == NULL)
			break;
	}
	if (c->attaches != NULL)
		client_pump(c);
	wire_rx_rest(&c->rx);
}

static bool client_allowed(const struct keeper *k, int fd)
{
	struct ucred u;
	socklen_t len = sizeof(u);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &len) == 0 &&
	       (u.uid == 0 || u.uid == k->warren_uid);
}

void client_accept(struct keeper *k)
{
	OWN(own_fd)
	int fd = accept4(k->listen.fd, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c;

	if (fd < 0 || !client_allowed(k, fd))
		return;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return;
	c->keeper = k;
	wire_rx_init(&c->rx, KEEPER_PAYLOAD_MAX);
	wire_tx_init(&c->tx, KEEPER_PAYLOAD_MAX * 2);
	if (loop_add(&k->loop, &c->watch, fd, EPOLLIN, on_client, c, NULL) !=
	    ERR_NONE) {
		free(c);
		return;
	}
	STEAL_FD(fd);
	c->next = k->clients;
	k->clients = c;
}

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_probe.h"

#define PATH_BYTES_MAX 2048
#define WAIT_MIN_MS 10U
#define WAIT_MAX_MS 60000U
#define STATUS_LINE_MIN 12 /* "HTTP/1.1 200" */

/* A connection to one of the two families. */
struct side {
	struct probe *probe;
	struct loop_watch watch;
	bool connected;
	size_t sent;
	char head[STATUS_LINE_MIN]; /* of the answer */
	size_t got;
};

struct probe {
	struct keeper *keeper;
	struct client *client;
	uint32_t tag;
	struct buf request; /* empty: a connection is enough */
	struct side sides[2];
	struct loop_timer timer;
	struct probe *next;
};

static struct probe *probes; /* one loop, no threads */

static void side_close(struct side *s)
{
	int fd = s->watch.fd;

	loop_del(&s->probe->keeper->loop, &s->watch);
	own_fd(&fd);
}

static void probe_free(struct probe *p)
{
	struct probe **at = &probes;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	side_close(&p->sides[0]);
	side_close(&p->sides[1]);
	loop_timer_del(&p->keeper->loop, &p->timer);
	buf_free(&p->request);
	free(p);
}

static void probe_tell(struct probe *p, bool open, uint16_t status)
{
	OWN(buf_free) struct buf b = BUF_INIT(16);

	wire_u8(&b, open);
	wire_u16(&b, status);
	client_say(p->client, KM_PORT_IS, p->tag, &b);
	probe_free(p);
}

static void on_probe_timer(void *arg)
{
	struct probe *p = arg;

	probe_tell(p, p->sides[0].connected || p->sides[1].connected, 0);
}

/* This side came to nothing; the other one may yet. */
static void side_fail(struct side *s)
{
	struct probe *p = s->probe;

	side_close(s);
	if (p->sides[0].watch.fd < 0 && p->sides[1].watch.fd < 0)
		on_probe_timer(p);
}

/* The three digits of "HTTP/1.x NNN"; 0: it is no such line. */
static uint16_t status_of(const char *head)
{
	unsigned n = 0;

	if (memcmp(head, "HTTP/1.", 7) != 0 || head[8] != ' ')
		return 0;
	for (int i = 9; i < 12; i++) {
		if (head[i] < '0' || head[i] > '9')
			return 0;
		n = n * 10 + (unsigned)(head[i] - '0');
	}
	return n >= 100 ? (uint16_t)n : 0;
}

/* 1: go on later, 0: done with this step, -1: over. */
static int side_send(struct side *s)
{
	const struct buf *b = &s->probe->request;

	while (s->sent < b->len) {
		ssize_t n = send(s->watch.fd, b->data + s->sent,
				 b->len - s->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 1 : -1;
		s->sent += (size_t)n;
	}
	loop_mod(&s->probe->keeper->loop, &s->watch, EPOLLIN);
	return 0;
}

static void side_read(struct side *s)
{
	ssize_t n = recv(s->watch.fd, s->head + s->got,
			 sizeof(s->head) - s->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		side_fail(s);
		return;
	}
	s->got += (size_t)n;
	if (s->got < sizeof(s->head))
		return;
	if (status_of(s->head) == 0)
		side_fail(s);
	else
		probe_tell(s->probe, true, status_of(s->head));
}

static void on_side(void *arg, uint32_t events)
{
	struct side *s = arg;
	int err = 0;
	socklen_t len = sizeof(err);

	if (!s->connected) {
		if (getsockopt(s->watch.fd, SOL_SOCKET, SO_ERROR, &err, &len) <
			0 ||
		    err != 0) {
			side_fail(s);
			return;
		}
		s->connected = true;
		if (s->probe->request.len == 0) {
			probe_tell(s->probe, true, 0);
			return;
		}
	}
	if ((events & EPOLLOUT) != 0 && side_send(s) < 0)
		side_fail(s);
	else if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
		side_read(s);
}

static void side_connect(struct side *s, uint16_t port, bool v6)
{
	struct sockaddr_in a4 = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6,
				  .sin6_port = htons(port),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	OWN(own_fd)
	int fd = socket(v6 ? AF_INET6 : AF_INET,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return;
	r = v6 ? connect(fd, (struct sockaddr *)&a6, sizeof(a6))
	       : connect(fd, (struct sockaddr *)&a4, sizeof(a4));
	if (r < 0 && errno != EINPROGRESS)
		return;
	if (loop_add(&s->probe->keeper->loop, &s->watch, fd, EPOLLOUT, on_side,
		     s, NULL) == ERR_NONE)
		STEAL_FD(fd);
}

static bool path_ok(const char *path)
{
	if (path[0] != '/' || strlen(path) > PATH_BYTES_MAX)
		return false;
	for (const char *p = path; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return false;
	return true;
}

static struct probe *probe_new(struct client *c, uint32_t tag)
{
	struct probe *p;
	int n = 0;

	for (p = probes; p != NULL; p = p->next)
		n++;
	p = n < PROBES_MAX ? calloc(1, sizeof(*p)) : NULL;
	if (p == NULL)
		return NULL;
	p->keeper = c->keeper;
	p->client = c;
	p->tag = tag;
	p->request = (struct buf)BUF_INIT(PATH_BYTES_MAX + 256);
	for (int i = 0; i < 2; i++) {
		p->sides[i].probe = p;
		p->sides[i].watch.fd = -1;
	}
	p->next = probes;
	probes = p;
	return p;
}

bool probe_check(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	uint16_t port = wire_in_u16(&in);
	bool http = wire_in_u8(&in) != 0;
	uint32_t wait_ms = wire_in_u32(&in);
	const char *path = wire_in_str(&in);
	struct probe *p;

	if (!wire_in_done(&in) || port == 0 || (http && !path_ok(path)))
		return false;
	p = probe_new(c, msg->tag);
	if (p == NULL) {
		client_refuse(c, msg->tag, ERR_LIMIT, "probes");
		return true;
	}
	if (http)
		buf_addf(&p->request,
			 "GET %s HTTP/1.1\r\nHost: localhost:%u\r\n"
			 "User-Agent: warren\r\nAccept: */*\r\n"
			 "Connection: close\r\n\r\n",
			 path, port);
	if (wait_ms < WAIT_MIN_MS)
		wait_ms = WAIT_MIN_MS;
	if (wait_ms > WAIT_MAX_MS)
		wait_ms = WAIT_MAX_MS;
	loop_timer_set(&c->keeper->loop, &p->timer, clock_mono_ms() + wait_ms,
		       on_probe_timer, p);
	side_connect(&p->sides[0], port, false);
	side_connect(&p->sides[1], port, true);
	if (p->sides[0].watch.fd < 0 && p->sides[1].watch.fd < 0)
		probe_tell(p, false, 0);
	return true;
}

void probe_forget(const struct client *c)
{
	for (struct probe *p = probes, *next; p != NULL; p = next) {
		next = p->next;
		if (p->client == c)
			probe_free(p);
	}
}

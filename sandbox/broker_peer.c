/* Requests of workers: who sends them, what they must be, who acts on them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/live.h"
#include "sandbox/live_files.h"
#include "sandbox/net_lists.h"
#include "sandbox/net_slot.h"

#define PEERS_MAX 1024

/* One connection to R/broker.sock. */
struct peer {
	struct broker *broker;
	struct loop_watch watch;
	struct peer *next;
};

/* ---- requests ---- */

void broker_answer(struct peer *peer, const struct broker_req *req,
		   enum err code, uint32_t step)
{
	struct broker_reply r = {.magic = BROKER_MAGIC,
				 .type = req->type,
				 .cookie = req->cookie,
				 .err = code,
				 .step = step};

	if (peer != NULL)
		send(peer->watch.fd, &r, sizeof(r),
		     MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool name_ok(const char *s, size_t size)
{
	size_t n = strnlen(s, size);

	if (n == 0 || n == size ||
	    strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != n)
		return false;
	for (size_t i = n; i < size; i++)
		if (s[i] != '\0')
			return false;
	return true;
}

/* Those that count are ranges of addresses, the others 0. */
static bool lists_ok(const struct broker_req *r)
{
	static const struct broker_cidr zero;

	if (r->ndeny > BROKER_CIDRS_MAX || r->nallow > BROKER_CIDRS_MAX ||
	    r->ndeny + r->nallow > BROKER_CIDRS_MAX)
		return false;
	for (int i = 0; i < BROKER_CIDRS_MAX; i++)
		if (i < r->ndeny + r->nallow
			? !net_cidr_ok(&r->cidrs[i])
			: memcmp(&r->cidrs[i], &zero, sizeof(zero)) != 0)
			return false;
	return true;
}

/* Files in memory leave most of it to the programs: /tmp and /dev/shm may
 * take as much each. */
static bool disk_ok(const struct broker_req *r)
{
	if (r->flags == 0)
		return r->disk_bytes <= DISK_BYTES_MAX;
	return r->flags == BROKER_EPHEMERAL &&
	       r->disk_bytes >= DISK_BYTES_MIN &&
	       r->disk_bytes <= r->memory_bytes / 4;
}

static bool process_limits_ok(const struct broker_req *r)
{
	return r->cpu_weight <= 10000 &&
	       r->open_files <= LIMITS_OPEN_FILES_MAX &&
	       (r->open_files == 0 || r->open_files >= 16) &&
	       r->file_bytes <= (UINT64_C(1) << 44) &&
	       r->tmp_bytes <= r->memory_bytes / 2;
}

/* The whole message, before anything acts on it. */
static bool request_ok(const struct broker_req *r)
{
	if (r->magic != BROKER_MAGIC || !lists_ok(r))
		return false;
	switch ((enum broker_type)r->type) {
	case BROKER_PING:
		return true;
	case BROKER_STOP:
		return name_ok(r->id, sizeof(r->id)) && id_sandbox_ok(r->id) &&
		       (r->flags & ~(uint32_t)BROKER_IF_ASLEEP) == 0;
	case BROKER_DESTROY:
	case BROKER_LISTS:
	case BROKER_DENIALS:
		return name_ok(r->id, sizeof(r->id)) && id_sandbox_ok(r->id) &&
		       (r->flags & BROKER_IF_ASLEEP) == 0;
	case BROKER_START:
		return name_ok(r->id, sizeof(r->id)) && id_sandbox_ok(r->id) &&
		       name_ok(r->image, sizeof(r->image)) &&
		       r->memory_bytes >= (16U << 20) &&
		       r->memory_bytes <= (UINT64_C(1) << 44) &&
		       r->memory_bytes % 4096 == 0 && r->cpu_millis >= 10 &&
		       r->cpu_millis <= 1024 * 1000 && r->pids >= 4 &&
		       r->pids <= 1U << 22 && disk_ok(r) &&
		       r->network <= BROKER_NET_INTERNET &&
		       process_limits_ok(r);
	case BROKER_NONE:
		break;
	}
	return false;
}

static void request_start(struct broker *b, struct peer *peer,
			  const struct broker_req *req)
{
	struct live *l = live_find(b, req->id);
	struct errinfo e = {0};
	enum err r;

	if (b->stopping) {
		broker_answer(peer, req, ERR_STATE, 0);
		return;
	}
	if (l != NULL && l->state == LIVE_RUNNING) {
		broker_answer(peer, req, ERR_NONE, 0);
		return;
	}
	r = l == NULL ? live_start(b, peer, req, &e)
		      : live_wait(l, peer, req, &e);
	if (r == ERR_NONE)
		return;
	log_err(req->id, &e);
	broker_answer(peer, req, r, live_refusal_step(r, req));
}

static void request_stop(struct broker *b, struct peer *peer,
			 const struct broker_req *req)
{
	struct live *l = live_find(b, req->id);
	struct errinfo e;

	if (l == NULL) {
		if (req->type == BROKER_DESTROY)
			live_remove_files(b, req->id);
		broker_answer(peer, req, ERR_NONE, 0);
		return;
	}
	if ((req->flags & BROKER_IF_ASLEEP) != 0 &&
	    !cgroup_asleep(&b->cgroups, req->id)) {
		broker_answer(peer, req, ERR_STATE, 0);
		return;
	}
	if (live_wait(l, peer, req, &e) != ERR_NONE) {
		broker_answer(peer, req, e.code, 0);
		return;
	}
	if (req->type == BROKER_DESTROY)
		l->destroy = true;
	live_end(l);
}

static void request_lists(struct broker *b, struct peer *peer,
			  const struct broker_req *req)
{
	struct live *l = live_find(b, req->id);
	struct errinfo e;
	enum err r = ERR_NOT_FOUND;

	if (l != NULL && l->state == LIVE_RUNNING) {
		r = net_lists_set(&b->net, l->slot, req, &e);
		if (r != ERR_NONE)
			log_err(req->id, &e);
	}
	broker_answer(peer, req, r, 0);
}

static void request_denials(struct broker *b, struct peer *peer,
			    const struct broker_req *req)
{
	struct live *l = live_find(b, req->id);
	struct broker_denials d = {.reply = {.magic = BROKER_MAGIC,
					     .type = req->type,
					     .cookie = req->cookie}};

	if (l == NULL || l->state != LIVE_RUNNING) {
		broker_answer(peer, req, ERR_NOT_FOUND, 0);
		return;
	}
	net_slot_denials(&b->net, l->slot, &d);
	if (peer != NULL)
		send(peer->watch.fd, &d, sizeof(d),
		     MSG_DONTWAIT | MSG_NOSIGNAL);
}

void broker_request(struct broker *b, struct peer *peer,
		    const struct broker_req *req)
{
	switch ((enum broker_type)req->type) {
	case BROKER_START:
		request_start(b, peer, req);
		return;
	case BROKER_STOP:
	case BROKER_DESTROY:
		request_stop(b, peer, req);
		return;
	case BROKER_LISTS:
		request_lists(b, peer, req);
		return;
	case BROKER_DENIALS:
		request_denials(b, peer, req);
		return;
	case BROKER_PING:
		broker_answer(peer, req, ERR_NONE, 0);
		return;
	case BROKER_NONE:
		break;
	}
	must(!"a checked request");
}

/* ---- peers ---- */

static void peer_close(struct peer *p)
{
	struct broker *b = p->broker;
	struct peer **at = &b->peers;
	int fd = p->watch.fd;

	live_forget_peer(b, p);
	loop_del(&b->loop, &p->watch);
	close(fd);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	b->npeers--;
	free(p);
}

/* Whole; or without lists, and then it may not count any. */
static bool size_ok(const struct broker_req *r, ssize_t n)
{
	return n == (ssize_t)sizeof(*r) || (n == (ssize_t)BROKER_REQ_SHORT &&
					    r->ndeny == 0 && r->nallow == 0);
}

static void on_peer(void *arg, uint32_t events)
{
	struct peer *p = arg;
	struct broker_req req = {0}; /* its end may be left out */
	ssize_t n;

	(void)events;
	n = recv(p->watch.fd, &req, sizeof(req), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (!size_ok(&req, n) || !request_ok(&req)) {
		if (n > 0)
			log_line(LOG_WARN, "malformed request refused");
		peer_close(p);
		return;
	}
	broker_request(p->broker, p, &req);
}

static bool peer_allowed(struct broker *b, int fd)
{
	struct ucred c;
	socklen_t len = sizeof(c);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) == 0 &&
	       (c.uid == 0 || c.uid == b->warren_uid);
}

void broker_peer_accept(void *arg, uint32_t events)
{
	struct broker *b = arg;
	OWN(own_fd)
	int fd = accept4(b->listen.fd, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct peer *p;

	(void)events;
	if (fd < 0 || b->npeers >= PEERS_MAX || !peer_allowed(b, fd))
		return;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return;
	p->broker = b;
	if (loop_add(&b->loop, &p->watch, fd, EPOLLIN, on_peer, p, NULL) !=
	    ERR_NONE) {
		free(p);
		return;
	}
	STEAL_FD(fd);
	p->next = b->peers;
	b->peers = p;
	b->npeers++;
}

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/init_msg.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_exec.h"
#include "sandbox/keeper_init.h"
#include "sandbox/keeper_sleep.h"

#define INIT_QUEUE_MAX (64U << 20)
#define INIT_QUEUE_HIGH (1U << 20) /* then programs wait in our own queue */
#define INIT_SAYS_MAX 4096U
#define GOODBYE_MS 1000
#define GOODBYE_STEP_MS 10

/* A program that init is not asked for yet: a link takes only so much. */
struct spawn_wait {
	uint16_t type;
	uint32_t tag;
	struct buf payload;
	int fds[WIRE_FDS_MAX];
	int nfds;
	struct spawn_wait *next;
};

/* Leave as soon as every reader has its goodbye, or when it is too late. */
static void on_goodbye(void *arg)
{
	struct keeper *k = arg;
	int64_t now = clock_mono_ms();

	if ((client_flush_all(k) && !exec_late(k)) || now >= k->goodbye_ms)
		loop_stop(&k->loop);
	else
		loop_timer_set(&k->loop, &k->sweep, now + GOODBYE_STEP_MS,
			       on_goodbye, k);
}

void keeper_gone(struct keeper *k, const char *why)
{
	if (k->gone)
		return;
	log_line(LOG_INFO, "sandbox ended: %s", why);
	k->gone = true;
	loop_del(&k->loop, &k->init);
	loop_del(&k->loop, &k->init_end);
	loop_del(&k->loop, &k->listen);
	exec_announce_all(k);
	for (struct exec *x = k->execs; x != NULL; x = x->next)
		exec_gone(x); /* frees none while gone is set */
	k->goodbye_ms = clock_mono_ms() + GOODBYE_MS;
	loop_timer_set(&k->loop, &k->sweep, clock_mono_ms(), on_goodbye, k);
}

/* Hand over what waits, as far as the link takes it now. */
static bool spawns_put(struct keeper *k)
{
	struct spawn_wait *w = k->spawns;

	if (w == NULL || k->init_tx.nmarks == WIRE_FDS_QUEUE ||
	    k->init_tx.out.len >= INIT_QUEUE_HIGH)
		return false;
	if (wire_tx_put_fds(&k->init_tx, w->type, w->tag, &w->payload, w->fds,
			    w->nfds, NULL) != ERR_NONE) {
		keeper_gone(k, "init is not keeping up");
		return false;
	}
	k->spawns = w->next;
	if (k->spawns == NULL)
		k->spawns_last = NULL;
	buf_free(&w->payload);
	free(w);
	return true;
}

static void init_flush(struct keeper *k)
{
	do {
		if (k->gone)
			return;
		if (wire_tx_flush(&k->init_tx, k->init.fd, NULL) != ERR_NONE) {
			keeper_gone(k, "init does not listen");
			return;
		}
	} while (spawns_put(k));
	if (!k->gone)
		loop_mod(&k->loop, &k->init,
			 k->init_tx.out.len > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static enum err wait_in_line(struct keeper *k, uint16_t type, uint32_t tag,
			     struct buf *payload, const int *fds, int nfds,
			     struct errinfo *e)
{
	struct spawn_wait *w;

	sleep_wake(k);
	if (k->gone)
		return err_set(e, ERR_GONE, 0, "sandbox");
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return err_set(e, ERR_NOMEM, 0, "spawn");
	w->type = type;
	w->tag = tag;
	w->payload = *payload;
	*payload = (struct buf)BUF_INIT(0);
	w->nfds = nfds;
	memcpy(w->fds, fds, sizeof(int) * (size_t)nfds);
	*(k->spawns != NULL ? k->spawns_last : &k->spawns) = w;
	k->spawns_last = &w->next;
	init_flush(k);
	return ERR_NONE;
}

enum err init_link_spawn(struct keeper *k, uint32_t tag, struct buf *payload,
			 const int *fds, int nfds, struct errinfo *e)
{
	return wait_in_line(k, IM_SPAWN, tag, payload, fds, nfds, e);
}

bool init_link_adopt(struct keeper *k, uint32_t tag, uint32_t pid, int *fd)
{
	struct buf b = BUF_INIT(16);
	struct errinfo e;

	wire_u32(&b, pid);
	if (wait_in_line(k, IM_ADOPT, tag, &b, fd, *fd >= 0, &e) == ERR_NONE) {
		*fd = -1;
		return true;
	}
	buf_free(&b);
	return false;
}

void init_link_send(struct keeper *k, uint16_t type, uint32_t tag,
		    const struct buf *payload)
{
	struct errinfo e;

	sleep_wake(k);
	if (k->gone)
		return;
	if (wire_tx_put(&k->init_tx, type, tag, payload, &e) != ERR_NONE) {
		log_err("ask init", &e);
		keeper_gone(k, "init is not keeping up");
		return;
	}
	init_flush(k);
}

static bool on_spawned(struct keeper *k, const struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	uint32_t pid = wire_in_u32(&in);
	struct exec *x = exec_by_tag(k, msg->tag);

	if (!wire_in_done(&in))
		return false;
	if (x != NULL)
		exec_spawned(x, pid);
	return true;
}

static bool on_failed(struct keeper *k, const struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	uint8_t step = wire_in_u8(&in);
	uint32_t sys = wire_in_u32(&in);
	struct exec *x = exec_by_tag(k, msg->tag);

	if (!wire_in_done(&in) || sys > 4096)
		return false;
	if (x != NULL)
		exec_failed(x, step, sys);
	return true;
}

static bool on_exited(struct keeper *k, const struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	bool signalled = wire_in_u8(&in) != 0;
	uint32_t status = wire_in_u32(&in);
	bool empty = wire_in_u8(&in) != 0;
	struct exec *x = exec_by_tag(k, msg->tag);

	if (!wire_in_done(&in) || status > 255)
		return false;
	if (x != NULL)
		exec_exited(x, signalled, status, empty);
	return true;
}

/* They only rise, and when is not init's to say. */
static bool on_calls(struct keeper *k, const struct wire_msg *msg)
{
	struct call_counts c;
	struct errinfo e;

	if (call_counts_get(msg, &c, &e) != ERR_NONE)
		return false;
	for (int i = 0; i < CALL_COUNT; i++)
		if (c.of[i].count > k->calls.of[i].count)
			k->calls.of[i] = (struct call_count){
			    .count = c.of[i].count, .last_ms = clock_unix_ms()};
	return true;
}

static bool init_frame(struct keeper *k, const struct wire_msg *msg)
{
	struct exec *x;

	if (msg->nfds > 0)
		return false;
	switch (msg->type) {
	case IM_HELLO:
		return msg->len == 0;
	case IM_SPAWNED:
		return on_spawned(k, msg);
	case IM_FAILED:
		return on_failed(k, msg);
	case IM_EXITED:
		return on_exited(k, msg);
	case IM_EMPTY:
		x = exec_by_tag(k, msg->tag);
		if (x != NULL)
			exec_emptied(x);
		return msg->len == 0;
	case IM_SIGNALLED:
		x = exec_by_tag(k, msg->tag);
		if (x != NULL)
			exec_signalled(x);
		return msg->len == 0;
	case IM_CALLS:
		return on_calls(k, msg);
	default:
		return false;
	}
}

static void on_init(void *arg, uint32_t events)
{
	struct keeper *k = arg;
	struct wire_msg *msg;
	bool more;

	if ((events & EPOLLOUT) != 0)
		init_flush(k);
	if (k->gone || (events & ~(uint32_t)EPOLLOUT) == 0)
		return;
	if (wire_rx_fill(&k->init_rx, k->init.fd, &more, NULL) != ERR_NONE) {
		keeper_gone(k, "init closed");
		return;
	}
	k->init_said_ms = clock_mono_ms();
	while (!k->gone) {
		if (wire_rx_next(&k->init_rx, &msg, NULL) != ERR_NONE ||
		    (msg != NULL && !init_frame(k, msg))) {
			keeper_gone(k, "init sent a malformed frame");
			return;
		}
		if (msg == NULL)
			return;
	}
}

static void on_init_end(void *arg, uint32_t events)
{
	(void)events;
	keeper_gone(arg, "init ended");
}

enum err init_link_open(struct keeper *k, int fd, int pidfd, struct errinfo *e)
{
	enum err r;

	int off = 0;

	/* Closing a socket of the sandbox can block; kernels before 6.16 do
	 * not know the option. */
	setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
	k->init_said_ms = clock_mono_ms();
	wire_rx_init(&k->init_rx, INIT_SAYS_MAX);
	wire_tx_init(&k->init_tx, INIT_QUEUE_MAX);
	r = loop_add(&k->loop, &k->init, fd, EPOLLIN, on_init, k, e);
	if (r == ERR_NONE)
		r = loop_add(&k->loop, &k->init_end, pidfd, EPOLLIN,
			     on_init_end, k, e);
	return r;
}

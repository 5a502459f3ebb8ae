#include <string.h>
#include <time.h>

#include "base/broker_msg.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/life.h"
#include "fcgi/preview_socket.h"
#include "fcgi/sandbox_row.h"

#define ASK_MS 2000
#define STOP_MS 30000
/* Nothing runs any more after a millisecond; a call into the kernel that
 * cannot be interrupted ends some time, and then that has stopped too. */
#define FROZEN_MS 1000
#define FROZEN_STEP_MS 1
#define SETTLE_TRIES 16

enum err life_ask(const char *run_dir, const char *id, enum keeper_msg type,
		  const struct buf *payload, struct keeper_state *out,
		  struct errinfo *e)
{
	OWN(own_fd) int fd = -1;
	OWN(wire_rx_free) struct wire_rx rx;
	int64_t deadline = clock_mono_ms() + ASK_MS;
	struct wire_msg *m = NULL;
	enum err r;

	wire_rx_init(&rx, 4096);
	r = keeper_connect(run_dir, id, &fd, e);
	if (r == ERR_NONE)
		r = wire_send(fd, (uint16_t)type, 1, payload, deadline, e);
	if (r == ERR_NONE)
		r = wire_recv(&rx, fd, -1, deadline, &m, e);
	if (r == ERR_PEER)
		return err_set(e, ERR_NOT_FOUND, e->sys, "keeper ended");
	if (r != ERR_NONE)
		return r;
	return m->type == KM_REFUSED ? keeper_refused(m, e)
				     : keeper_get_state(m, out, e);
}

/* ---- what is true ---- */

void life_look(const struct request *rq, const struct ctl_sandbox *s,
	       struct life *out)
{
	struct keeper_state now = {0};
	struct errinfo e;
	enum err r;

	*out = (struct life){.state = s->state, .used_ms = s->last_active_ms};
	if (s->state != SANDBOX_RUNNING && s->state != SANDBOX_SLEEPING)
		return;
	r = life_ask(rq->worker->run_dir, s->id, KM_STATE, NULL, &now, &e);
	if (r == ERR_NOT_FOUND)
		out->state = SANDBOX_STOPPED;
	if (r != ERR_NONE)
		return;
	out->state = now.asleep ? SANDBOX_SLEEPING : SANDBOX_RUNNING;
	out->in_use = now.in_use;
	if (now.in_use)
		now.used_ms = clock_unix_ms();
	if (now.used_ms > out->used_ms)
		out->used_ms = now.used_ms;
}

enum err life_reread(struct request *rq, struct errinfo *e)
{
	struct ctl_sandbox s;
	enum err r = ctl_sandbox_get(rq->store, rq->auth.tenant, rq->sandbox.id,
				     &s, e);

	if (r != ERR_NONE)
		return r;
	ctl_sandbox_free(&rq->sandbox);
	rq->sandbox = s;
	return ERR_NONE;
}

/* A sandbox that never sits still is right some time later: it is swept. */
enum err life_settle(struct request *rq, struct errinfo *e)
{
	struct ctl_sandbox *s = &rq->sandbox;
	enum err r = ERR_NONE;

	for (int i = 0; r == ERR_NONE && i < SETTLE_TRIES; i++) {
		struct life now;

		life_look(rq, s, &now);
		if (now.state == s->state)
			return ERR_NONE;
		r = ctl_sandbox_move(rq->store, s->id, s->state, now.state, e);
		if (r == ERR_NONE)
			s->state = now.state;
		else if (r == ERR_STATE)
			r = life_reread(rq, e);
	}
	return r;
}

/* Others may have written it since it was read. */
static enum err life_settle_anew(struct request *rq, struct errinfo *e)
{
	enum err r = life_reread(rq, e);

	return r == ERR_NONE ? life_settle(rq, e) : r;
}

/* ---- sleep ---- */

static void life_await(const struct request *rq, const char *id,
		       struct keeper_state *now)
{
	const struct timespec step = {.tv_nsec = FROZEN_STEP_MS * 1000000L};
	int64_t until = clock_mono_ms() + FROZEN_MS;
	struct errinfo e;

	while (now->asleep && !now->frozen && clock_mono_ms() < until) {
		nanosleep(&step, NULL);
		if (life_ask(rq->worker->run_dir, id, KM_STATE, NULL, now,
			     &e) != ERR_NONE)
			return;
	}
}

enum err life_sleep(struct request *rq, enum keeper_sleep which,
		    struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(64);
	struct keeper_state now = {0};
	enum err r;

	wire_u8(&b, (uint8_t)which);
	wire_i64(&b, rq->sandbox.last_active_ms);
	r = life_ask(rq->worker->run_dir, rq->sandbox.id, KM_SLEEP, &b, &now,
		     e);
	if (r != ERR_NONE && r != ERR_NOT_FOUND)
		return r;
	life_await(rq, rq->sandbox.id, &now);
	/* A first call may be about to confirm it. */
	if (now.asleep && rq->sandbox.state == SANDBOX_CREATING) {
		r = ctl_sandbox_confirm(rq->store, rq->sandbox.id, e);
		if (r != ERR_NONE)
			return r;
	}
	return life_settle_anew(rq, e);
}

/* ---- stop and end ---- */

static enum err life_broker(struct request *rq, enum broker_type type,
			    uint32_t flags, const char *id, const char *what,
			    struct errinfo *e)
{
	struct broker_req req = {.type = type, .flags = flags};
	struct errinfo why = {0};
	enum err r;

	memcpy(req.id, id, ID_SANDBOX_LEN + 1);
	r = broker_call(rq->worker->run_dir, &req, clock_mono_ms() + STOP_MS,
			&why);
	if (r == ERR_NONE)
		return r;
	if (r == ERR_STATE && flags != 0)
		return err_set(e, r, 0, "it does not sleep any more");
	log_line(LOG_ERROR, "%s: %s could not be %s: %s: %s", rq->id, id, what,
		 err_name(r), why.text);
	return err_http_fail(rq, e, HTTP_SANDBOX_UNAVAILABLE,
			     "The sandbox could not be %s", what);
}

enum err life_stop(struct request *rq, bool asleep, struct errinfo *e)
{
	enum err r = life_broker(rq, BROKER_STOP, asleep ? BROKER_IF_ASLEEP : 0,
				 rq->sandbox.id, "stopped", e);

	return r == ERR_NONE ? life_settle_anew(rq, e) : r;
}

void life_close_ports(struct request *rq, const char *id)
{
	OWN(ctl_port_list_free) struct ctl_port_list ports = {0};
	struct errinfo e;

	if (ctl_port_list(rq->store, rq->auth.tenant, id, &ports, &e) !=
	    ERR_NONE) {
		log_err("list ports", &e);
		return;
	}
	for (size_t i = 0; i < ports.n; i++)
		preview_socket_close(rq, &ports.rows[i]);
	preview_socket_forget(rq, id);
}

enum err life_destroy(struct request *rq, const char *id, const char *name,
		      struct errinfo *e)
{
	enum err r = life_broker(rq, BROKER_DESTROY, 0, id, "deleted", e);

	if (r == ERR_NONE)
		r = ctl_sandbox_remove(rq->store, id, e);
	if (r == ERR_NONE)
		sandbox_audit(rq, "sandbox.delete", id, name);
	return r;
}

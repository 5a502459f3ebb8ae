#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/port_wait.h"

#define SLICE_MS 20
#define IDLE_MS 1000
#define ANSWER_MS 10000 /* a server may be slow at first */

static enum err wait_client(struct port_wait *w, struct errinfo *e)
{
	if (answer_gone(w->rq))
		return err_set(e, ERR_GONE, 0, "client");
	return w->idle != NULL ? w->idle(w->ctx, e) : ERR_NONE;
}

/* What the program did until ${deadline}: only its end counts. */
static enum err wait_program(struct port_wait *w, struct link *l,
			     int64_t deadline, struct errinfo *e)
{
	for (;;) {
		struct link_event le;
		enum err r = link_next(l, deadline, &le, e);

		if (r == ERR_PEER) {
			w->how = PORT_EXITED;
			w->end.reason = END_SANDBOX_GONE;
			return ERR_NONE;
		}
		if (r != ERR_NONE || le.got == LINK_TICK)
			return r;
		if (le.got == LINK_EVENT && le.ev.kind == EVENT_END) {
			w->how = PORT_EXITED;
			w->end = le.ev.end;
			return ERR_NONE;
		}
	}
}

/* Until ${deadline}, with or without a program to look at. */
static enum err wait_pause(struct port_wait *w, struct link *program,
			   int64_t deadline, struct errinfo *e)
{
	struct pollfd p = {.fd = w->rq->client_fd, .events = POLLRDHUP};

	if (program != NULL)
		return wait_program(w, program, deadline, e);
	if (poll(&p, 1, clock_left_ms(deadline)) > 0)
		return wait_client(w, e);
	return ERR_NONE;
}

static enum err wait_ask(struct port_wait *w, struct link *l, uint32_t *tag,
			 struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(8192);
	int64_t now = clock_mono_ms(), left = w->until_ms - now;
	enum err r = ERR_NONE;

	if (l->fd < 0)
		r = link_open(w->rq, LINK_LIVE, l, e);
	if (r != ERR_NONE)
		return r;
	*tag = ++l->tag;
	wire_u16(&b, w->port);
	wire_u8(&b, w->http);
	wire_u32(&b, left < ANSWER_MS ? (uint32_t)(left > 0 ? left : 0)
				      : ANSWER_MS);
	wire_str(&b, w->path);
	return wire_send(l->fd, KM_PORT_CHECK, *tag, &b, now + ANSWER_MS, e);
}

static void wait_judge(struct port_wait *w, const struct wire_msg *m)
{
	struct wire_in in = wire_in(m);
	bool open = wire_in_u8(&in) != 0;
	uint16_t status = wire_in_u16(&in);

	if (m->type != KM_PORT_IS || !wire_in_done(&in) || !open)
		return;
	if (w->http && (status < w->status_min || status > w->status_max))
		return;
	w->how = PORT_READY;
	w->status = status;
}

/* One look at the port; the program is watched meanwhile. */
static enum err wait_look(struct port_wait *w, struct link *l,
			  struct link *program, struct errinfo *e)
{
	uint32_t tag = 0;
	enum err r = wait_ask(w, l, &tag, e);

	while (r == ERR_NONE && w->how == 0) {
		struct wire_msg *m = NULL;

		r = wire_recv(&l->rx, l->fd, -1, clock_mono_ms() + SLICE_MS, &m,
			      e);
		if (r == ERR_NONE && m->tag == tag) {
			wait_judge(w, m);
			return ERR_NONE;
		}
		if (r == ERR_TIMEOUT && program != NULL)
			r = wait_program(w, program, clock_mono_ms(), e);
		else if (r == ERR_TIMEOUT)
			r = wait_client(w, e);
	}
	if (w->rq->broken || (r != ERR_GONE && r != ERR_PEER))
		return r;
	link_close(l); /* it does not run, or does not any more */
	return ERR_NONE;
}

static enum err wait_attach(struct port_wait *w, struct link *l,
			    struct errinfo *e)
{
	struct keeper_item item;
	enum err r = link_open(w->rq, LINK_LIVE, l, e);

	if (r == ERR_NONE)
		r = link_status(l, w->exec, &item, e);
	if (r == ERR_NONE && item.state != EXEC_ENDED)
		return link_attach(l, w->exec,
				   item.next > 0 ? item.next - 1 : 0, true, e);
	if (w->rq->broken)
		return r;
	if (r != ERR_NONE && r != ERR_GONE && r != ERR_NOT_FOUND)
		return r;
	w->how = PORT_EXITED;
	if (r == ERR_NONE) {
		w->end.exit_code = item.exit_code;
		w->end.reason = item.reason;
	}
	return ERR_NONE;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

enum err port_wait_run(struct port_wait *w, struct errinfo *e)
{
	OWN(link_close) struct link look = LINK_INIT;
	OWN(link_close) struct link follow = LINK_INIT;
	struct link *program = w->exec != NULL ? &follow : NULL;
	enum err r = ERR_NONE;

	w->how = 0;
	w->end = (struct keeper_end){0};
	if (program != NULL)
		r = wait_attach(w, program, e);
	while (r == ERR_NONE && w->how == 0) {
		int64_t next = clock_mono_ms() + w->interval_ms;

		r = route_unpark(w->rq, e);
		if (r == ERR_NONE)
			r = wait_look(w, &look, program, e);
		route_park(w->rq);
		while (r == ERR_NONE && w->how == 0) {
			int64_t now = clock_mono_ms();

			if (now >= w->until_ms)
				w->how = PORT_LATE;
			if (w->how != 0 || now >= next)
				break;
			r = wait_pause(
			    w, program,
			    sooner(now + IDLE_MS, sooner(next, w->until_ms)),
			    e);
			if (r == ERR_NONE)
				r = wait_client(w, e);
		}
	}
	return r;
}

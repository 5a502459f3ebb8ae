#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/code_spare.h"
#include "fcgi/link_boot.h"
#include "fcgi/pool.h"
#include "fcgi/preview_socket.h"
#include "fcgi/sandbox_link.h"

/* Look at the client once in so many frames, even if the keeper is faster. */
#define LOOK_EVERY 64

/* A name that is about to be free is asked for so often, so long. */
#define FREE_AGAIN_MS 20
#define FREE_PATIENCE_MS 3000

/* A keeper answers much sooner, unless its sandbox holds it up. */
#define SOON_MS 200

/* ---- whose it is ---- */

enum err link_no_sandbox(struct request *rq, const char *name,
			 struct errinfo *e)
{
	err_http_text(rq, "sandbox", name);
	return err_http_fail(rq, e, HTTP_SANDBOX_NOT_FOUND,
			     "Sandbox not found");
}

static enum err link_look(struct request *rq, const char *name,
			  struct errinfo *e)
{
	if (id_sandbox_ok(name))
		return ctl_sandbox_get(rq->store, rq->auth.tenant, name,
				       &rq->sandbox, e);
	if (!id_text_ok(name))
		return err_set(e, ERR_NOT_FOUND, 0, "not a name");
	return ctl_sandbox_find(rq->store, rq->auth.tenant, name, &rq->sandbox,
				e);
}

enum err link_find(struct request *rq, struct errinfo *e)
{
	const char *name;
	enum err r;

	if (rq->sandbox.id[0] != '\0')
		return ERR_NONE;
	name = route_param(rq, "sandbox");
	r = link_look(rq, name, e);
	return r == ERR_NOT_FOUND ? link_no_sandbox(rq, name, e) : r;
}

void link_default(struct ctl_sandbox_spec *spec, const char *name)
{
	*spec = (struct ctl_sandbox_spec){
	    .name = name,
	    .image = "host",
	    .user = "root",
	    .labels = "{}",
	    .env = "{}",
	    .life.sleep_after_ms = 600000,
	};
}

/* As many as the tenant may have: what it has, and may. */
static enum err link_full(struct request *rq, struct errinfo *e)
{
	int64_t used, most;
	enum err r = ctl_sandbox_room(rq->store, rq->auth.tenant, &used, &most,
				      e);

	if (r != ERR_NONE)
		return r;
	err_http_text(rq, "name", ctl_limit_table[LIMIT_SANDBOXES].name);
	json_out_int(err_http_context(rq), "limit", most);
	json_out_int(err_http_context(rq), "used", used);
	err_http_suggest(rq, "Destroy one that is not needed any more");
	return err_http_fail(rq, e, HTTP_LIMIT_EXCEEDED,
			     "This tenant has %lld sandboxes already, and may "
			     "have %lld",
			     (long long)used, (long long)most);
}

enum err link_reserve(struct request *rq, const struct ctl_sandbox_spec *spec,
		      bool *made, struct errinfo *e)
{
	const struct timespec step = {.tv_nsec = FREE_AGAIN_MS * 1000000L};
	int64_t until = clock_mono_ms() + FREE_PATIENCE_MS;
	enum err r = ctl_sandbox_reserve(rq->store, rq->auth.tenant, spec,
					 &rq->sandbox, made, e);

	/* One of that name may be about to be gone. */
	if (r == ERR_STATE && pool_long(rq, e) != ERR_NONE)
		return e->code;
	while (r == ERR_STATE && clock_mono_ms() < until && !answer_gone(rq)) {
		nanosleep(&step, NULL);
		r = ctl_sandbox_reserve(rq->store, rq->auth.tenant, spec,
					&rq->sandbox, made, e);
	}
	if (r == ERR_STATE)
		return err_http_fail(rq, e, HTTP_SANDBOX_UNAVAILABLE,
				     "This sandbox is being deleted");
	return r == ERR_LIMIT ? link_full(rq, e) : r;
}

enum err link_ensure(struct request *rq, struct errinfo *e)
{
	struct ctl_sandbox_spec spec;
	const char *name;
	bool made;
	enum err r;

	if (rq->sandbox.id[0] != '\0')
		return ERR_NONE;
	name = route_param(rq, "sandbox");
	r = link_look(rq, name, e);
	if (r != ERR_NOT_FOUND)
		return r;
	if (id_sandbox_ok(name))
		return link_no_sandbox(rq, name, e);
	if (!id_text_ok(name))
		return err_http_field(rq, e, "sandbox",
				      "must be 1 to 128 of A-Z a-z 0-9 . _ -, "
				      "starting with none of . -");
	link_default(&spec, name);
	spec.actor = rq->auth.prefix;
	return link_reserve(rq, &spec, &made, e);
}

bool link_runs(const struct request *rq, const char *id)
{
	OWN(own_fd) int fd = -1;
	struct errinfo e;

	return keeper_connect(rq->worker->run_dir, id, &fd, &e) == ERR_NONE;
}

/* ---- what a keeper answers ---- */

/* A keeper that went away is the sandbox's end. */
static enum err link_gone(enum err r, struct errinfo *e)
{
	if (r == ERR_PEER)
		return err_set(e, ERR_GONE, e->sys, "keeper ended");
	return r;
}

static int64_t link_deadline(const struct link *l)
{
	return l->patient ? CLOCK_NEVER : clock_mono_ms() + LINK_CALL_MS;
}

/* The next frame; whoever has to wait for it is none of the quick calls. */
static enum err link_recv(struct link *l, int64_t deadline, struct wire_msg **m,
			  struct errinfo *e)
{
	int watch = l->watch ? l->rq->client_fd : -1;
	int64_t soon = clock_mono_ms() + SOON_MS;
	enum err r = wire_recv(&l->rx, l->fd, watch,
			       soon < deadline ? soon : deadline, m, e);

	if (r != ERR_TIMEOUT || clock_left_ms(deadline) == 0)
		return r;
	r = pool_long(l->rq, e);
	return r != ERR_NONE ? r
			     : wire_recv(&l->rx, l->fd, watch, deadline, m, e);
}

static bool link_is_answer(uint16_t type)
{
	return type == KM_STARTED || type == KM_ATTACHED || type == KM_ITEM ||
	       type == KM_OK || type == KM_FDS || type == KM_USAGE_IS ||
	       type == KM_SESSION || type == KM_PORT_IS || type == KM_STRAYS ||
	       type == KM_CALLS_ARE || type == KM_STATE_IS;
}

/* A call that needs something to run, or changes something, wakes it; so does
 * a preview, which has no route. */
static bool link_wakes(const struct request *rq, enum link_mode mode)
{
	return mode != LINK_LIVE || rq->route == NULL ||
	       rq->route->scope == SCOPE_EXEC;
}

/* What link_connect() asked is answered: it slept, and does not any more. */
static void link_told(struct link *l, const struct wire_msg *m)
{
	struct keeper_state before = {0};
	struct errinfo e;

	l->ping = 0;
	l->woke = link_wakes(l->rq, l->mode) &&
		  keeper_get_state(m, &before, &e) == ERR_NONE && before.asleep;
}

/* The answer to what was sent with ${tag}. */
static enum err link_answer(struct link *l, uint32_t tag, int64_t deadline,
			    struct wire_msg **msg, struct errinfo *e)
{
	struct wire_msg *m;

	for (;;) {
		enum err r = link_recv(l, deadline, &m, e);

		if (r == ERR_GONE)
			l->rq->broken = true;
		if (r != ERR_NONE)
			return link_gone(r, e);
		if (m->tag == l->ping)
			link_told(l, m);
		/* Events of what was attached before may come between. */
		if (m->tag == tag)
			break;
	}
	if (m->type == KM_REFUSED)
		return keeper_refused(m, e);
	if (!link_is_answer(m->type))
		return err_set(e, ERR_GONE, 0, "keeper's answer %u", m->type);
	if (msg != NULL)
		*msg = m;
	return ERR_NONE;
}

/* ---- the way into it ---- */

/*
 * A keeper that was killed a moment ago may still take a connection: it is
 * asked whether it is there. If it is to wake, it runs from then on, and as
 * long as ${l} is open it is in use. Errors: ERR_NOT_FOUND: it is not.
 */
static enum err link_connect(struct request *rq, struct link *l,
			     struct errinfo *e)
{
	enum err r;

	link_close(l);
	l->rq = rq;
	wire_rx_init(&l->rx, KEEPER_PAYLOAD_MAX);
	r = keeper_connect(rq->worker->run_dir, rq->sandbox.id, &l->fd, e);
	if (r != ERR_NONE)
		return r;
	l->ping = ++l->tag;
	r = wire_send(l->fd, link_wakes(rq, l->mode) ? KM_WAKE : KM_STATE,
		      l->ping, NULL, link_deadline(l), e);
	if (r == ERR_PEER)
		return err_set(e, ERR_NOT_FOUND, 0, "keeper ended");
	return r;
}

/* What link_connect() asked is answered. Errors: as there. */
static enum err link_pinged(struct link *l, struct errinfo *e)
{
	enum err r;

	if (l->ping == 0)
		return ERR_NONE;
	r = link_answer(l, l->ping, link_deadline(l), NULL, e);
	if (r == ERR_GONE && !l->rq->broken)
		return err_set(e, ERR_NOT_FOUND, 0, "keeper ended");
	return r;
}

/*
 * A keeper lives; a row that says otherwise was left by a crash. One that was
 * woken is about to be written as sleeping, whatever we have read before.
 */
static enum err link_used(struct request *rq, const struct link *l,
			  struct errinfo *e)
{
	enum err r;

	if (!link_wakes(rq, l->mode))
		return ERR_NONE;
	if (rq->sandbox.state == SANDBOX_RUNNING && !l->woke)
		return ctl_sandbox_touch(rq->store, &rq->sandbox, e);
	r = ctl_sandbox_confirm(rq->store, rq->sandbox.id, e);
	if (r == ERR_NOT_FOUND)
		return link_no_sandbox(rq, rq->sandbox.name, e);
	if (r == ERR_NONE)
		rq->sandbox.state = SANDBOX_RUNNING;
	return r;
}

/* There is no keeper: one is started, if it may be. */
static enum err link_new(struct request *rq, enum link_mode mode,
			 struct link *l, struct errinfo *e)
{
	enum err r;

	if (mode == LINK_LIVE)
		return err_set(e, ERR_GONE, 0, "sandbox does not run");
	r = link_boot(rq, e);
	if (r != ERR_NONE)
		return r;
	r = link_connect(rq, l, e);
	if (r == ERR_NONE)
		r = link_pinged(l, e);
	if (r == ERR_NOT_FOUND)
		return err_http_fail(rq, e, HTTP_SANDBOX_UNAVAILABLE,
				     "The sandbox ended at its start");
	l->sure = l->fresh = r == ERR_NONE;
	if (l->sure) {
		preview_socket_reopen(rq);
		code_spare_started(rq);
	}
	return r;
}

enum err link_open_early(struct request *rq, enum link_mode mode,
			 struct link *l, struct errinfo *e)
{
	enum err r = mode == LINK_CREATE ? link_ensure(rq, e)
					 : link_find(rq, e);

	if (r != ERR_NONE)
		return r;
	l->mode = mode;
	r = link_connect(rq, l, e);
	return r == ERR_NOT_FOUND ? link_new(rq, mode, l, e) : r;
}

enum err link_sure(struct link *l, struct errinfo *e)
{
	enum err r;

	if (l->sure)
		return ERR_NONE;
	r = link_pinged(l, e);
	if (r == ERR_NOT_FOUND)
		r = link_new(l->rq, l->mode, l, e);
	else if (r == ERR_NONE)
		r = link_used(l->rq, l, e);
	l->sure = r == ERR_NONE;
	return r;
}

enum err link_open(struct request *rq, enum link_mode mode, struct link *l,
		   struct errinfo *e)
{
	enum err r = link_open_early(rq, mode, l, e);

	return r == ERR_NONE ? link_sure(l, e) : r;
}

void link_close(struct link *l)
{
	own_fd(&l->fd);
	wire_rx_free(&l->rx);
	l->ping = 0;
	l->sure = l->fresh = l->woke = false;
}

void link_watch(struct link *l, bool on)
{
	l->watch = on;
}

/* ---- calls ---- */

enum err link_call(struct link *l, enum keeper_msg type,
		   const struct buf *payload, struct wire_msg **msg,
		   struct errinfo *e)
{
	return link_call_fds(l, type, payload, NULL, 0, msg, e);
}

enum err link_call_fds(struct link *l, enum keeper_msg type,
		       const struct buf *payload, const int *fds, int nfds,
		       struct wire_msg **msg, struct errinfo *e)
{
	int64_t deadline = link_deadline(l);
	uint32_t tag = ++l->tag;
	enum err r = wire_send_fds(l->fd, (uint16_t)type, tag, payload,
				   (struct wire_fds){fds, nfds}, deadline, e);

	return r == ERR_NONE ? link_answer(l, tag, deadline, msg, e)
			     : link_gone(r, e);
}

enum err link_start(struct link *l, const struct keeper_start *s,
		    const int *fds, int nfds, uint32_t *pid, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(KEEPER_PAYLOAD_MAX);
	struct wire_msg *m = NULL;
	struct wire_in in;
	uint32_t n;
	enum err r;

	keeper_put_start(&b, s);
	r = link_call_fds(l, KM_START, &b, fds, nfds, &m, e);
	if (r != ERR_NONE)
		return r;
	in = wire_in(m);
	n = wire_in_u32(&in);
	if (m->type != KM_STARTED || !wire_in_done(&in))
		return err_set(e, ERR_GONE, 0, "keeper's STARTED");
	if (pid != NULL)
		*pid = n;
	return ERR_NONE;
}

enum err link_attach(struct link *l, const char *id, uint64_t after,
		     bool follow, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);
	struct wire_msg *m = NULL;
	struct wire_in in;
	enum err r;

	wire_str(&b, id);
	wire_u64(&b, after);
	wire_u8(&b, follow);
	r = link_call(l, KM_ATTACH, &b, &m, e);
	if (r != ERR_NONE)
		return r;
	in = wire_in(m);
	l->first = wire_in_u64(&in);
	l->next = wire_in_u64(&in);
	l->ended = wire_in_u8(&in) != 0;
	if (m->type != KM_ATTACHED || !wire_in_done(&in))
		return err_set(e, ERR_GONE, 0, "keeper's ATTACHED");
	return ERR_NONE;
}

enum err link_kill(struct link *l, const char *id, uint32_t grace_ms,
		   enum end_reason reason, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);

	wire_str(&b, id);
	wire_u32(&b, grace_ms);
	wire_u8(&b, (uint8_t)reason);
	return link_call(l, KM_KILL, &b, NULL, e);
}

enum err link_status(struct link *l, const char *id, struct keeper_item *item,
		     struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);
	struct wire_msg *m = NULL;
	enum err r;

	wire_str(&b, id);
	r = link_call(l, KM_STATUS, &b, &m, e);
	if (r != ERR_NONE)
		return r;
	if (m->type != KM_ITEM)
		return err_set(e, ERR_GONE, 0, "keeper's STATUS");
	return link_gone(keeper_get_item(m, item, e), e);
}

static enum err link_since(struct link *l, const struct wire_msg *m,
			   struct errinfo *e)
{
	struct wire_in in = wire_in(m);
	int64_t since = wire_in_i64(&in);

	if (!wire_in_done(&in))
		return err_set(e, ERR_GONE, 0, "keeper's LIST");
	l->since_ms = since;
	return ERR_NONE;
}

enum err link_list(struct link *l,
		   enum err (*each)(void *ctx, const struct keeper_item *item,
				    struct errinfo *e),
		   void *ctx, struct errinfo *e)
{
	int64_t deadline = clock_mono_ms() + LINK_CALL_MS;
	uint32_t tag = ++l->tag;
	enum err r = wire_send(l->fd, KM_LIST, tag, NULL, deadline, e);

	while (r == ERR_NONE) {
		struct keeper_item item;
		struct wire_msg *m = NULL;

		r = wire_recv(&l->rx, l->fd, -1, deadline, &m, e);
		if (r != ERR_NONE)
			break;
		if (m->tag != tag)
			continue;
		if (m->type == KM_OK)
			return link_since(l, m, e);
		if (m->type != KM_ITEM)
			return err_set(e, ERR_GONE, 0, "keeper's LIST");
		r = keeper_get_item(m, &item, e);
		if (r == ERR_NONE)
			r = each(ctx, &item, e);
	}
	return link_gone(r, e);
}

/* ---- events ---- */

/* One frame of the stream; ERR_ARG: nothing for the caller. */
static enum err link_frame(const struct wire_msg *m, struct link_event *out,
			   struct errinfo *e)
{
	struct wire_in in;

	switch (m->type) {
	case KM_EVENT:
		out->got = LINK_EVENT;
		return keeper_get_event(m, &out->ev, e);
	case KM_GAP:
		in = wire_in(m);
		out->got = LINK_GAP;
		out->gap_first = wire_in_u64(&in);
		if (!wire_in_done(&in))
			return err_set(e, ERR_PEER, 0, "keeper's GAP");
		return ERR_NONE;
	case KM_REPLAYED:
		out->got = LINK_REPLAYED;
		return ERR_NONE;
	case KM_REFUSED: /* the keeper forgot it before it began */
		return err_set(e, ERR_PEER, 0, "it never began");
	default:
		return err_set(e, ERR_PEER, 0, "keeper's frame %u", m->type);
	}
}

static enum err link_client_left(struct link *l, struct errinfo *e)
{
	l->rq->broken = true;
	return err_set(e, ERR_GONE, 0, "client");
}

enum err link_next(struct link *l, int64_t deadline_ms, struct link_event *out,
		   struct errinfo *e)
{
	struct wire_msg *m = NULL;
	enum err r;

	if (l->watch && ++l->seen % LOOK_EVERY == 0 && answer_gone(l->rq))
		return link_client_left(l, e);
	r = wire_recv(&l->rx, l->fd, l->watch ? l->rq->client_fd : -1,
		      deadline_ms, &m, e);
	if (r == ERR_TIMEOUT) {
		out->got = LINK_TICK;
		return ERR_NONE;
	}
	if (r == ERR_GONE)
		return link_client_left(l, e);
	if (r != ERR_NONE)
		return r;
	return link_frame(m, out, e);
}

bool link_client_gone(const struct errinfo *e)
{
	return e->code == ERR_GONE && strcmp(e->text, "client") == 0;
}

/* One keeper's connection: its frames are checked, then recorded. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/ctl_sandbox.h"
#include "store/recorder_link.h"

/* A buffer that held a large frame is given back after it. */
#define LINK_RX_KEEP (1U << 20)

/* Of a sandbox that was deleted: what it still says goes soon. */
#define LINK_UNKNOWN_BYTES (1 << 20)

struct rec_link *recorder_link_new(struct recorder *r, const char *id)
{
	struct rec_link *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->rec = r;
	l->fd = l->watch.fd = -1;
	l->retry_ms = LINK_RETRY_MIN_MS;
	memcpy(l->id, id, sizeof(l->id));
	HASH_ADD_STR(r->links, id, l);
	return l;
}

void recorder_link_forget(struct rec_link *l, struct rec_exec *x)
{
	recorder_clean(l->rec, x);
	HASH_DELETE(hh, l->by_tag, x);
	HASH_DELETE(hh_id, l->by_id, x);
	free(x);
}

void recorder_link_drop(struct rec_link *l)
{
	struct rec_exec *x, *xt;

	loop_timer_del(&l->rec->loop, &l->timer);
	loop_timer_del(&l->rec->loop, &l->slow);
	loop_del(&l->rec->loop, &l->watch);
	recorder_wide_leave(l);
	if (l->fd >= 0) {
		own_fd(&l->fd);
		wire_rx_free(&l->rx);
		wire_tx_free(&l->tx);
	}
	HASH_ITER(hh, l->by_tag, x, xt)
	{
		recorder_link_forget(l, x);
	}
	l->acks = l->deaf = false;
}

void recorder_link_free(struct rec_link *l)
{
	recorder_link_drop(l);
	HASH_DELETE(hh, l->rec->links, l);
	free(l);
}

/* What it did send stays; what it says next is not heard. */
void recorder_link_fail(struct rec_link *l, const struct errinfo *e)
{
	struct recorder *r = l->rec;

	bool left = e->sys != 0 || strcmp(e->text, "end of stream") == 0;

	if (!left)
		log_line(LOG_WARN, "keeper of %s dropped: %s", l->id, e->text);
	recorder_commit(r);
	/* A commit that failed has dropped it already. */
	if (r->broken)
		return;
	recorder_link_drop(l);
	recorder_find_retry(l, left);
}

void recorder_link_look(struct rec_link *l)
{
	uint32_t in = l->slow.armed || l->held != 0 ? 0 : EPOLLIN;

	loop_mod(&l->rec->loop, &l->watch,
		 l->tx.out.len > 0 ? in | EPOLLOUT : in);
}

static void on_slow(void *arg)
{
	recorder_link_look(arg);
}

/* ${n} bytes were read: enough for now? */
static void link_slow(struct rec_link *l, int64_t n)
{
	int64_t now = clock_mono_ms();

	l->room_bytes += (now - l->room_ms) * LINK_BYTES_A_MS;
	if (l->room_bytes > LINK_BURST_BYTES)
		l->room_bytes = LINK_BURST_BYTES;
	l->room_bytes -= n;
	l->room_ms = now;
	if (l->room_bytes < 0)
		loop_timer_set(&l->rec->loop, &l->slow, now + LINK_SLOW_MS,
			       on_slow, l);
}

void recorder_link_flush(struct rec_link *l)
{
	struct errinfo e;

	if (l->fd < 0)
		return;
	if (wire_tx_flush(&l->tx, l->fd, &e) != ERR_NONE) {
		recorder_commit(l->rec);
		if (l->rec->broken)
			return;
		recorder_link_drop(l);
		recorder_find_retry(l, true);
		return;
	}
	recorder_link_look(l);
}

/* ---- what it says ---- */

static bool link_kept(enum exec_kind kind)
{
	/* Their bytes go to the worker directly and are not logged. */
	return kind != EXEC_FS && kind != EXEC_GIT;
}

static enum err link_attach(struct rec_link *l, struct rec_exec *x,
			    struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);

	wire_str(&b, x->id);
	wire_u64(&b, x->last);
	wire_u8(&b, 1);
	return wire_tx_put(&l->tx, KM_ATTACH, x->tag, &b, e);
}

static enum err link_exec_new(struct rec_link *l,
			      const struct keeper_item *item,
			      struct rec_exec **out, struct errinfo *e)
{
	struct rec_exec *x;

	if (HASH_COUNT(l->by_tag) >= LINK_EXECS_MAX)
		return err_set(e, ERR_PEER, 0, "too many executions");
	x = calloc(1, sizeof(*x));
	if (x == NULL)
		return err_set(e, ERR_NOMEM, 0, "execution");
	x->link = l;
	x->tag = l->next_tag++;
	x->kind = item->kind;
	memcpy(x->id, item->id, strlen(item->id) + 1);
	HASH_ADD(hh, l->by_tag, tag, sizeof(x->tag), x);
	HASH_ADD_KEYPTR(hh_id, l->by_id, x->id, strlen(x->id), x);
	*out = x;
	return ERR_NONE;
}

static void link_item_end(struct rec_link *l, struct rec_exec *x,
			  const struct keeper_item *item)
{
	x->ended = true;
	x->end = (struct node_end){
	    .exit_code = item->exit_code,
	    .reason = item->reason != END_NONE ? item->reason : END_EXITED,
	    .ended_ms = item->ended_ms,
	    .duration_ms = item->ended_ms - item->started_ms,
	    .hits = item->hits,
	};
	recorder_dirty(l, x);
}

static enum err link_item(struct rec_link *l, const struct wire_msg *msg,
			  struct errinfo *e)
{
	struct keeper_item item;
	struct rec_exec *x;
	struct log_state s = {.last = 0};
	enum err r = keeper_get_item(msg, &item, e);

	if (r != ERR_NONE)
		return r;
	if (msg->tag != LINK_TAG_SUBSCRIBE || !id_text_ok(item.id))
		return err_set(e, ERR_PEER, 0, "unexpected execution");
	HASH_FIND(hh_id, l->by_id, item.id, strlen(item.id), x);
	if (x != NULL)
		return ERR_NONE;
	if (link_kept(item.kind))
		r = log_chunk_state(l->rec->store, l->id, item.id, &s, e);
	if (r == ERR_NONE)
		r = link_exec_new(l, &item, &x, e);
	if (r != ERR_NONE)
		return r;
	x->last = s.last;
	if (item.state != EXEC_ENDED || (link_kept(item.kind) && !s.ended))
		return link_attach(l, x, e);
	/* Nothing is missing but, maybe, the row's end. */
	if (!link_kept(item.kind) && item.next > 0)
		x->last = item.next - 1;
	link_item_end(l, x, &item);
	return ERR_NONE;
}

static enum err link_event(struct rec_link *l, const struct wire_msg *msg,
			   struct errinfo *e)
{
	struct keeper_event ev;
	struct rec_exec *x;
	enum err r = keeper_get_event(msg, &ev, e);

	if (r != ERR_NONE)
		return r;
	HASH_FIND(hh, l->by_tag, &msg->tag, sizeof(msg->tag), x);
	if (x == NULL || x->ended)
		return err_set(e, ERR_PEER, 0, "event after the end");
	if (ev.seq <= x->last || ev.seq > INT64_MAX - 1)
		return err_set(e, ERR_PEER, 0, "event out of order");
	x->last = ev.seq;
	if (ev.kind == EVENT_END) {
		x->ended = true;
		x->end = (struct node_end){
		    .exit_code = ev.end.exit_code,
		    .reason = ev.end.reason,
		    .ended_ms = ev.unix_ms,
		    .duration_ms = ev.end.duration_ms,
		    .stdout_bytes = ev.end.stdout_bytes,
		    .stderr_bytes = ev.end.stderr_bytes,
		    .dropped_bytes = ev.end.dropped_bytes,
		    .hits = ev.end.hits,
		};
	}
	if (link_kept(x->kind))
		return recorder_append(l, x, &ev, e);
	if (x->ended)
		recorder_dirty(l, x);
	return ERR_NONE;
}

/* It ended and was swept before we asked: nothing of it will come. */
static enum err link_refused(struct rec_link *l, const struct wire_msg *msg,
			     struct errinfo *e)
{
	struct rec_exec *x;

	if (keeper_refused(msg, e) == ERR_PEER)
		return ERR_PEER;
	HASH_FIND(hh, l->by_tag, &msg->tag, sizeof(msg->tag), x);
	if (x == NULL || x->dirty)
		return err_set(e, ERR_PEER, 0, "unexpected refusal");
	recorder_link_forget(l, x);
	return ERR_NONE;
}

static enum err link_frame(struct rec_link *l, const struct wire_msg *msg,
			   struct errinfo *e)
{
	switch (msg->type) {
	case KM_EVENT:
		return link_event(l, msg, e);
	case KM_ITEM:
		return link_item(l, msg, e);
	case KM_REFUSED:
		return link_refused(l, msg, e);
	case KM_ATTACHED:
	case KM_GAP:
		/* A jump in seq says the same, and is counted. */
		return ERR_NONE;
	case KM_OK:
		if (msg->tag == LINK_TAG_SNAPSHOT)
			recorder_find_settle(l);
		return ERR_NONE;
	default:
		return err_set(e, ERR_PEER, 0, "unexpected frame %u",
			       (unsigned)msg->type);
	}
}

/* One read for each turn of the loop, so that no keeper starves another. */
static enum err link_read(struct rec_link *l, struct errinfo *e)
{
	struct recorder *rec = l->rec;
	size_t had = l->rx.in.len - l->rx.at;
	struct wire_msg *msg;
	bool more;
	enum err r = wire_rx_fill(&l->rx, l->fd, &more, e);

	if (r == ERR_NONE)
		link_slow(l, (int64_t)(l->rx.in.len - had));
	while (r == ERR_NONE) {
		r = wire_rx_next(&l->rx, &msg, e);
		if (r != ERR_NONE || msg == NULL)
			break;
		r = link_frame(l, msg, e);
		if (r != ERR_NONE)
			break;
		if (!recorder_full(rec))
			continue;
		recorder_commit(rec);
		if (l->fd < 0)
			return ERR_NONE;
	}
	if (r == ERR_NONE)
		recorder_wide_look(l);
	if (r == ERR_NONE && l->rx.in.len == 0 && l->rx.in.cap > LINK_RX_KEEP) {
		wire_rx_free(&l->rx);
		wire_rx_init(&l->rx, KEEPER_PAYLOAD_MAX);
	}
	return r;
}

static void on_link(void *arg, uint32_t events)
{
	struct rec_link *l = arg;
	struct errinfo e;
	enum err r = ERR_NONE;

	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
		r = link_read(l, &e);
	if (r == ERR_NONE)
		recorder_link_flush(l);
	else if (r == ERR_PEER)
		recorder_link_fail(l, &e);
	else
		recorder_broken(l->rec, &e);
}

static void link_bound(uint64_t *bound, int64_t limit)
{
	if (*bound > (uint64_t)limit)
		*bound = (uint64_t)limit;
}

/* As the sandbox's limits are when its keeper is found. */
static enum err link_bounds(struct rec_link *l, struct errinfo *e)
{
	struct ctl_limits limits = {
	    .of = {[LIMIT_LOG] = LINK_UNKNOWN_BYTES,
		   [LIMIT_PROCESS_LOG] = LINK_UNKNOWN_BYTES,
		   [LIMIT_TENANT_LOG] = LINK_UNKNOWN_BYTES}};
	enum err r = ctl_sandbox_limits(l->rec->store, l->id, &limits, e);

	if (r == ERR_NONE)
		r = ctl_sandbox_owner(l->rec->store, l->id, l->tenant, e);
	if (r != ERR_NONE && r != ERR_NOT_FOUND)
		return r;
	l->bounds = l->rec->conf.bounds;
	link_bound(&l->bounds.exec_bytes_max, limits.of[LIMIT_PROCESS_LOG]);
	link_bound(&l->bounds.sandbox_bytes_max, limits.of[LIMIT_LOG]);
	link_bound(&l->bounds.tenant_bytes_max, limits.of[LIMIT_TENANT_LOG]);
	return ERR_NONE;
}

enum err recorder_link_begin(struct rec_link *l, int fd, struct errinfo *e)
{
	OWN(own_fd) int own = fd;
	enum err r = link_bounds(l, e);

	if (r == ERR_NONE)
		r = loop_add(&l->rec->loop, &l->watch, fd, EPOLLIN, on_link, l,
			     e);
	if (r != ERR_NONE)
		return r;
	l->fd = STEAL_FD(own);
	l->dead = false;
	l->connected_ms = clock_unix_ms();
	l->room_bytes = LINK_BURST_BYTES;
	l->room_ms = clock_mono_ms();
	l->next_tag = LINK_TAG_FIRST;
	wire_rx_init(&l->rx, KEEPER_PAYLOAD_MAX);
	wire_tx_init(&l->tx, LINK_TX_MAX);
	r = wire_tx_put(&l->tx, KM_SUBSCRIBE, LINK_TAG_SUBSCRIBE, NULL, e);
	/* Answered after all that SUBSCRIBE tells at once. */
	if (r == ERR_NONE)
		r = wire_tx_put(&l->tx, KM_PING, LINK_TAG_SNAPSHOT, NULL, e);
	if (r == ERR_NONE)
		recorder_link_flush(l);
	return r;
}

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/init_msg.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_exec.h"
#include "sandbox/keeper_fork.h"
#include "sandbox/keeper_init.h"
#include "sandbox/keeper_kernel.h"
#include "sandbox/keeper_pipe.h"
#include "sandbox/keeper_request.h"
#include "sandbox/keeper_session.h"

#define RING_BYTES_MAX (64U << 20)
#define STALL_MS 10000
#define ANNOUNCE_MS 25
#define TRIM_BYTES (1U << 20)
#define DRAIN_READS 128 /* 8 MiB: more is a survivor's, not the program's */

/* ---- the table ---- */

struct exec *exec_find(struct keeper *k, const char *id)
{
	/* The newest first: that is who is asked for. */
	for (struct exec *x = k->execs_last; x != NULL; x = x->prev)
		if (strcmp(x->id, id) == 0)
			return x;
	return NULL;
}

struct exec *exec_by_tag(struct keeper *k, uint32_t tag)
{
	for (struct exec *x = k->execs_last; x != NULL; x = x->prev)
		if (x->tag == tag && x->kind != EXEC_RUN)
			return x;
	return NULL;
}

enum err exec_new(struct keeper *k, const char *id, enum exec_kind kind,
		  uint64_t ring_bytes, struct exec **out, struct errinfo *e)
{
	struct exec *x;

	if (!id_text_ok(id))
		return err_set(e, ERR_ARG, 0, "id");
	if (k->gone)
		return err_set(e, ERR_GONE, 0, "sandbox");
	if (exec_find(k, id) != NULL)
		return err_set(e, ERR_EXISTS, 0, "id");
	if (k->nlive >= KEEPER_LIVE_MAX)
		return err_set(e, ERR_LIMIT, 0, "executions");
	if (ring_bytes == 0)
		ring_bytes = RING_BYTES_DEFAULT;
	if (ring_bytes > RING_BYTES_MAX)
		ring_bytes = RING_BYTES_MAX;
	x = calloc(1, sizeof(*x));
	if (x == NULL)
		return err_set(e, ERR_NOMEM, 0, "execution");
	x->keeper = k;
	snprintf(x->id, sizeof(x->id), "%s", id);
	x->tag = ++k->next_tag;
	x->kind = kind;
	x->state = EXEC_STARTING;
	x->out.watch.fd = x->err.watch.fd = x->in.fd = x->in_fd = -1;
	x->in_data = (struct buf)BUF_INIT(0);
	x->turn.state = -1;
	for (int i = 0; i < WIRE_FDS_MAX; i++)
		x->turn.fds[i] = -1;
	x->started_ms = clock_unix_ms();
	x->started_mono = clock_mono_ms();
	usage_counts(&k->usage, &x->from);
	ring_init(&x->ring, ring_bytes);
	x->prev = k->execs_last;
	if (x->prev != NULL)
		x->prev->next = x;
	else
		k->execs = x;
	k->execs_last = x;
	k->nlive++;
	*out = x;
	return ERR_NONE;
}

void exec_free(struct exec *x)
{
	struct keeper *k = x->keeper;

	client_detach_all(x);
	session_leave(x);
	loop_timer_del(&k->loop, &x->timer);
	pipe_close(x);
	kernel_free(x);
	ring_free(&x->ring);
	free(x->run_json);
	free(x->spare);
	while (x->nhand > 0)
		own_fd(&x->hand[--x->nhand]);
	if (x->prev != NULL)
		x->prev->next = x->next;
	else
		k->execs = x->next;
	if (x->next != NULL)
		x->next->prev = x->prev;
	else
		k->execs_last = x->prev;
	if (x->state == EXEC_ENDED)
		k->nended--;
	else
		k->nlive--;
	free(x);
}

void exec_item(const struct exec *x, struct keeper_item *item)
{
	*item = (struct keeper_item){
	    .id = x->id,
	    .kind = x->kind,
	    .state = x->state,
	    .pid = x->pid,
	    .exit_code = x->end.exit_code,
	    .reason = x->end.reason,
	    .first = x->ring.first,
	    .next = x->ring.next,
	    .started_ms = x->started_ms,
	    .ended_ms = x->ended_ms,
	    .hits = x->end.hits,
	};
}

/* It is there, or was a moment ago. */
static bool recorder_lives(const struct keeper *k)
{
	return k->nrecorders > 0 || clock_mono_ms() < k->recorder_until_ms;
}

static bool recorded(const struct exec *x)
{
	return !recorder_lives(x->keeper) || x->acked + 1 >= x->ring.next;
}

/* What a sweep, from the newest to the oldest, has let stay so far. */
struct kept {
	int n;
	int held;
	size_t bytes;
};

static bool sweep_keeps(const struct exec *x, struct kept *kept)
{
	size_t bytes = kept->bytes + x->ring.bytes;

	if (x->kind == EXEC_FS)
		return false;
	if (kept->n < KEEPER_ENDED_KEEP && bytes <= KEEPER_ENDED_BYTES) {
		kept->n++;
		kept->bytes = bytes;
		return true;
	}
	if (recorded(x) || x->keeper->nended >= KEEPER_ENDED_MAX ||
	    bytes > KEEPER_BEHIND_BYTES)
		return false;
	kept->bytes = bytes;
	return true;
}

static bool has_strays(const struct exec *x)
{
	return x->state == EXEC_ENDED && x->exited && !x->empty;
}

/*
 * Ended ones stay for readers who come late, the newest KEEPER_ENDED_KEEP of
 * them; one that the recorder has not committed stays, if there are not very
 * many; one of which something still runs or holds the pipes stays, without its
 * log, as long as that does. True: some stay for a while only.
 */
static bool sweep(struct keeper *k)
{
	struct kept kept = {0};

	for (struct exec *x = k->execs_last, *prev; x != NULL; x = prev) {
		bool held = x->out.watch.fd >= 0 || x->err.watch.fd >= 0 ||
			    has_strays(x);

		prev = x->prev;
		if (x->state != EXEC_ENDED || x->attaches != NULL ||
		    sweep_keeps(x, &kept))
			continue;
		k->swept_bytes += x->ring.bytes;
		if (held && kept.held++ < KEEPER_HELD_MAX)
			ring_trim(&x->ring);
		else
			exec_free(x);
	}
	if (k->swept_bytes > TRIM_BYTES) { /* their pages lie among kept ones */
		malloc_trim(0);
		k->swept_bytes = 0;
	}
	return k->nended > kept.n;
}

static void on_sweep(void *arg)
{
	struct keeper *k = arg;
	bool again = false;

	for (struct exec *x = k->execs; x != NULL; x = x->next) {
		if (x->paused)
			exec_pause_check(x);
		again |= x->paused;
	}
	again |= sweep(k);
	if (again)
		exec_sweep_soon(k, EXEC_SWEEP_MS);
}

void exec_sweep_soon(struct keeper *k, int wait_ms)
{
	int64_t at = clock_mono_ms() + wait_ms;

	if (!k->gone && (!k->sweep.armed || k->sweep.at_ms > at))
		loop_timer_set(&k->loop, &k->sweep, at, on_sweep, k);
}

uint32_t exec_kill_strays(struct keeper *k)
{
	OWN(buf_free) struct buf b = BUF_INIT(64);
	uint32_t n = 0;

	for (const struct exec *x = k->execs; x != NULL; x = x->next)
		n += has_strays(x);
	/* Init also knows those that were swept here. */
	wire_u32(&b, SIGKILL);
	wire_u8(&b, true);
	init_link_send(k, IM_SIGNAL, 0, &b);
	return n;
}

/* ---- what the recorder hears of ---- */

static void announce_now(struct exec *x)
{
	x->unheard = false;
	client_announce(x);
}

void exec_announce_all(struct keeper *k)
{
	loop_timer_del(&k->loop, &k->announce);
	for (struct exec *x = k->execs; x != NULL; x = x->next)
		if (x->unheard) {
			announce_now(x);
			x->late = true;
		}
	client_announced(k);
}

bool exec_late(const struct keeper *k)
{
	for (const struct exec *x = k->execs; x != NULL; x = x->next)
		if (x->late && k->nrecorders > 0)
			return true;
	return false;
}

static void on_announce(void *arg);

static void announce_at(struct keeper *k, int64_t at_ms)
{
	loop_timer_set(&k->loop, &k->announce, at_ms, on_announce, k);
}

/* What has ended, too, so that many short ones are heard of together. */
static void on_announce(void *arg)
{
	struct keeper *k = arg;
	int64_t now = clock_mono_ms(), next = CLOCK_NEVER;

	for (struct exec *x = k->execs; x != NULL; x = x->next) {
		int64_t at = x->announce_ms;

		if (!x->unheard)
			continue;
		if (x->state == EXEC_ENDED || at <= now)
			announce_now(x);
		else if (next == CLOCK_NEVER || at < next)
			next = at;
	}
	client_announced(k);
	if (next != CLOCK_NEVER)
		announce_at(k, next);
}

void exec_announce(struct exec *x)
{
	struct keeper *k = x->keeper;

	x->unheard = true;
	/* Of one that ended, the ITEM does not say how much it printed. */
	if (x->kind == EXEC_GIT) {
		announce_now(x);
		client_announced(k);
		return;
	}
	x->announce_ms = clock_mono_ms() + ANNOUNCE_MS;
	if (!k->announce.armed)
		announce_at(k, x->announce_ms);
}

/* ---- output ---- */

/*
 * What is logged is logged whole: what the recorder has not committed yet is
 * held, and counts as unread, also while it is away for a moment.
 */
static bool recorder_due(const struct exec *x)
{
	return x->kind != EXEC_FS && x->kind != EXEC_GIT && !x->given_up &&
	       recorder_lives(x->keeper);
}

void exec_recorded(struct exec *x, uint64_t seq)
{
	if (seq <= x->acked)
		return;
	x->acked = seq;
	x->given_up = false;
	if (x->paused)
		exec_pause_check(x);
}

void exec_event(struct exec *x, enum event_kind kind, const void *data,
		size_t len)
{
	x->ring.held = recorder_due(x) ? x->acked + 1 : UINT64_MAX;
	if (!ring_add(&x->ring, kind, data, len)) {
		x->ring.dropped_bytes += len;
		log_line(LOG_ERROR, "no memory for an event of %zu bytes", len);
		return;
	}
	client_wake(x);
	if (x->unheard && x->ring.bytes > x->ring.max_bytes / 4) {
		announce_now(x);
		client_announced(x->keeper);
	}
	exec_pause_check(x);
}

/* The most that the recorder or an owner has not got yet. */
static size_t owner_unread(const struct exec *x)
{
	size_t most = recorder_due(x) ? ring_unread(&x->ring, x->acked + 1) : 0;

	for (struct attach *a = x->attaches; a != NULL; a = a->exec_next) {
		size_t n = a->owner ? ring_unread(&x->ring, a->next) : 0;

		if (n > most)
			most = n;
	}
	return most;
}

static void disown_all(struct exec *x)
{
	for (struct attach *a = x->attaches; a != NULL; a = a->exec_next)
		a->owner = false;
}

static void exec_set_paused(struct exec *x, bool paused)
{
	struct exec *from = x->kind == EXEC_RUN ? x->kernel_exec : x;

	if (x->paused == paused)
		return;
	x->paused = paused;
	x->paused_ms = clock_mono_ms();
	if (paused) /* perhaps for ever */
		exec_sweep_soon(x->keeper, EXEC_SWEEP_MS);
	if (from == NULL)
		return;
	pipe_pause(from, paused);
	kernel_pause(from, paused);
}

void exec_unpause(struct exec *x)
{
	exec_set_paused(x, false);
}

void exec_pause_check(struct exec *x)
{
	size_t max = x->ring.max_bytes;
	bool pause = owner_unread(x) > (x->paused ? max / 4 : max / 2);

	if (pause && x->paused && clock_mono_ms() - x->paused_ms > STALL_MS) {
		disown_all(x); /* it does not read: it loses output */
		x->given_up = true;
		pause = false;
	}
	if (x->state != EXEC_ENDED)
		exec_set_paused(x, pause);
}

void exec_drain(struct exec *x)
{
	for (int i = 0; i < DRAIN_READS && pipe_read(&x->out); i++)
		continue;
	for (int i = 0; i < DRAIN_READS && pipe_read(&x->err); i++)
		continue;
}

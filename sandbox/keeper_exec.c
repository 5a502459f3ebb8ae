#include <fcntl.h>
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
#define GRACE_DEFAULT_MS 2000
#define LAST_RESORT_MS 10000
#define STALL_MS 10000
#define TRIM_BYTES (1U << 20)
#define START_LIMIT_MS 30000 /* init says nothing while a start waits */
#define DRAIN_READS 256 /* 8 MiB: more is a survivor's, not the program's */

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

static bool recorded(const struct exec *x)
{
	const struct client *c = x->keeper->clients;

	while (c != NULL && !c->subscribed)
		c = c->next;
	return c == NULL || x->acked + 1 >= x->ring.next;
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
 * log, as long as that does.
 */
void exec_sweep(struct keeper *k)
{
	struct kept kept = {0};
	size_t freed = 0;

	for (struct exec *x = k->execs_last, *prev; x != NULL; x = prev) {
		bool held = x->out.watch.fd >= 0 || x->err.watch.fd >= 0 ||
			    has_strays(x);

		prev = x->prev;
		if (x->state != EXEC_ENDED || x->attaches != NULL ||
		    sweep_keeps(x, &kept))
			continue;
		freed += x->ring.bytes;
		if (held && kept.held++ < KEEPER_HELD_MAX)
			ring_trim(&x->ring);
		else
			exec_free(x);
	}
	if (freed > TRIM_BYTES) /* its own pages would lie among kept ones */
		malloc_trim(0);
}

/* ---- output ---- */

void exec_event(struct exec *x, enum event_kind kind, const void *data,
		size_t len)
{
	if (!ring_add(&x->ring, kind, data, len)) {
		x->ring.dropped_bytes += len;
		log_line(LOG_ERROR, "no memory for an event of %zu bytes", len);
		return;
	}
	client_wake(x);
	exec_pause_check(x);
}

/* The most that an owner has not read yet. */
static size_t owner_unread(const struct exec *x)
{
	size_t most = 0;

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

/* ---- signals and kills ---- */

void exec_signal(struct exec *x, uint32_t sig, bool all)
{
	OWN(buf_free) struct buf b = BUF_INIT(64);

	wire_u32(&b, sig);
	wire_u8(&b, all);
	init_link_send(x->keeper, IM_SIGNAL, x->tag, &b);
}

static void on_kill_step(void *arg)
{
	struct exec *x = arg;

	if (x->kill_stage++ == 0) {
		exec_signal(x, SIGKILL, true);
		loop_timer_set(&x->keeper->loop, &x->timer,
			       clock_mono_ms() + LAST_RESORT_MS, on_kill_step,
			       x);
		return;
	}
	/* Killed, and init does not say so: it is not to be believed. */
	keeper_gone(x->keeper, "an execution cannot be killed");
}

void exec_kill(struct exec *x, enum end_reason reason, uint32_t grace_ms)
{
	int64_t at = clock_mono_ms() + grace_ms;

	if (x->state == EXEC_ENDED)
		return;
	if (x->kill_reason != END_NONE) {
		if (x->kind != EXEC_RUN && x->state == EXEC_RUNNING &&
		    x->kill_stage == 0 && at < x->timer.at_ms)
			loop_timer_set(&x->keeper->loop, &x->timer, at,
				       on_kill_step, x);
		return; /* sooner, if at all */
	}
	if (x->kind == EXEC_RUN) {
		kernel_stop_run(x, reason, grace_ms);
		return;
	}
	x->kill_reason = reason;
	if (session_waits(x)) { /* it never began */
		client_refuse(x->starter, x->starter_tag, ERR_STATE,
			      x->session->ended ? "session" : "killed");
		x->starter = NULL;
		exec_free(x);
		return;
	}
	if (x->state == EXEC_STARTING)
		return; /* as soon as init says that it runs */
	if (!x->exited)
		exec_signal(x, SIGTERM, true);
	else if (!x->empty)
		exec_signal(x, SIGKILL, true);
	loop_timer_set(&x->keeper->loop, &x->timer, at, on_kill_step, x);
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

static void on_start_limit(void *arg)
{
	struct exec *x = arg;
	int64_t at = x->keeper->init_said_ms + START_LIMIT_MS;

	if (clock_mono_ms() >= at)
		keeper_gone(x->keeper, "init does not start what it should");
	else
		loop_timer_set(&x->keeper->loop, &x->timer, at, on_start_limit,
			       x);
}

void exec_start_limit(struct exec *x)
{
	loop_timer_set(&x->keeper->loop, &x->timer,
		       clock_mono_ms() + START_LIMIT_MS, on_start_limit, x);
}

static void on_timeout(void *arg)
{
	struct exec *x = arg;

	exec_kill(x, END_TIMED_OUT,
		  x->grace_ms > 0 ? x->grace_ms : GRACE_DEFAULT_MS);
}

/* ---- endings ---- */

/* The limits that were hit while it ran. What the recorder will not hear of
 * is left for another to tell, and a kernel leaves it to its run. */
static void exec_hits(struct exec *x)
{
	struct keeper *k = x->keeper;
	struct keeper_hits *hits = &x->end.hits;
	bool tells = x->kind != EXEC_FS && kernel_target(x) == x;

	usage_hits(&k->usage, &x->from, tells ? &k->told : NULL, hits);
	if (x->end.reason == END_DISK_LIMIT)
		usage_disk_hit(&k->usage, hits);
	if (x->end.reason == END_TIMED_OUT && x->timeout_ms > 0)
		hits->of[(x->flags & KF_WALL) != 0 ? HIT_WALL : HIT_TIME] =
		    (struct keeper_hit){.limit = x->timeout_ms,
					.used = (uint64_t)x->end.duration_ms,
					.hits = 1,
					.fresh = 1};
}

void exec_finish(struct exec *x, const struct keeper_end *end)
{
	struct keeper *k = x->keeper;
	OWN(buf_free) struct buf b = BUF_INIT(64 + KEEPER_HITS_LEN);

	must(x->state != EXEC_ENDED);
	loop_timer_del(&k->loop, &x->timer);
	x->end = *end;
	x->end.stdout_bytes = x->out.bytes;
	x->end.stderr_bytes = x->err.bytes;
	x->end.dropped_bytes = x->ring.dropped_bytes;
	x->end.duration_ms = clock_mono_ms() - x->started_mono;
	exec_hits(x);
	x->ended_ms = clock_unix_ms();
	x->state = EXEC_ENDED;
	k->nlive--;
	k->nended++;
	exec_unpause(x);
	keeper_put_end(&b, &x->end);
	must(buf_ok(&b));
	session_leave(x); /* who reads the end may call again at once */
	/* Readers wait for it: older events make room, if they must. */
	if (!ring_add(&x->ring, EVENT_END, b.data, b.len)) {
		ring_trim(&x->ring);
		must(ring_add(&x->ring, EVENT_END, b.data, b.len));
	}
	client_wake(x);
	if (x->kernel != NULL)
		kernel_ended(x, &x->end);
	/* Not now: whoever called may still hold one that is to go. */
	if (!k->gone && k->nended > KEEPER_ENDED_KEEP * 2 && k->sweep.armed)
		loop_timer_set(&k->loop, &k->sweep, clock_mono_ms(),
			       k->sweep.fn, k->sweep.arg);
}

/* The verdict over a program that was reaped. */
static void exec_verdict(const struct exec *x, struct keeper_end *end)
{
	const struct usage_fds *u = &x->keeper->usage;
	struct keeper_hits hits = {0};
	int code = x->signalled ? 128 + (int)x->status : (int)x->status;

	usage_hits(u, &x->from, NULL, &hits);
	*end = (struct keeper_end){
	    .exit_code = code,
	    .signal = x->signalled ? (uint8_t)x->status : 0,
	    .reason = x->signalled ? END_SIGNALLED : END_EXITED,
	};
	end->shell_ended = session_shell_ended(x);
	if (x->kill_reason == END_TIMED_OUT)
		end->exit_code = EXIT_TIMED_OUT;
	if (x->kill_reason != END_NONE)
		end->reason = x->kill_reason;
	else if (hits.of[HIT_MEMORY].hits > 0 && code == 128 + SIGKILL)
		end->reason = END_OUT_OF_MEMORY;
	else if ((!x->signalled || code == 128 + SIGBUS) && code != 0 &&
		 usage_disk_full(u))
		end->reason = END_DISK_LIMIT;
}

/* Ended when its main process is gone; killed: when all of it is gone. */
static void exec_maybe_finish(struct exec *x)
{
	struct keeper_end end;

	if (x->state == EXEC_ENDED || !x->exited)
		return;
	if (x->kill_reason != END_NONE && !x->empty)
		return;
	exec_drain(x);
	exec_verdict(x, &end);
	exec_finish(x, &end);
}

void exec_gone(struct exec *x)
{
	struct keeper_end end = {.exit_code = 128 + SIGKILL,
				 .signal = SIGKILL,
				 .reason = END_SANDBOX_GONE,
				 .kernel_lost = true};

	if (x->state == EXEC_ENDED)
		return;
	if (x->kind != EXEC_RUN)
		exec_drain(x);
	if (x->state == EXEC_STARTING && x->starter != NULL) {
		client_refuse(x->starter, x->starter_tag, ERR_GONE, "sandbox");
		x->starter = NULL;
	}
	if (x->state != EXEC_ENDED)
		exec_finish(x, &end);
}

/* ---- answers of init ---- */

void exec_spawned(struct exec *x, uint32_t pid)
{
	OWN(buf_free) struct buf b = BUF_INIT(64);

	if (x->state != EXEC_STARTING || fork_waits(x, pid))
		return;
	loop_timer_del(&x->keeper->loop, &x->timer);
	x->state = EXEC_RUNNING;
	x->pid = pid;
	wire_u32(&b, pid);
	client_say(x->starter, KM_STARTED, x->starter_tag, &b);
	x->starter = NULL;
	client_wake(x);
	if (x->kind != EXEC_FS)
		client_announce(x);
	if (x->kill_reason != END_NONE) {
		enum end_reason reason = x->kill_reason;

		x->kill_reason = END_NONE;
		exec_kill(x, reason, 0);
	} else if (x->timeout_ms > 0) {
		loop_timer_set(&x->keeper->loop, &x->timer,
			       clock_mono_ms() + (int64_t)x->timeout_ms,
			       on_timeout, x);
	}
}

void exec_failed(struct exec *x, uint8_t step, uint32_t sys)
{
	enum err code = ERR_IO;
	const char *what = "start";

	if (x->state != EXEC_STARTING)
		return;
	if (step == INIT_STEP_CWD || step == INIT_STEP_EXEC) {
		code = ERR_NOT_FOUND;
		what = step == INIT_STEP_CWD ? "cwd" : "argv";
	} else if (step == INIT_STEP_CLONE) {
		code = ERR_LIMIT;
		what = "processes";
	}
	log_line(LOG_INFO, "start failed at step %u: %s", step,
		 strerrordesc_np((int)sys));
	client_refuse(x->starter, x->starter_tag, code, what);
	for (struct attach *a = x->attaches; a != NULL; a = a->exec_next)
		if (a->client != x->starter || a->tag != x->starter_tag)
			client_refuse(a->client, a->tag, code, what);
	exec_free(x);
}

void exec_exited(struct exec *x, bool signalled, uint32_t status, bool empty)
{
	if (x->state == EXEC_STARTING) {
		fork_failed(x);
		return;
	}
	if (x->exited || x->state != EXEC_RUNNING)
		return;
	x->exited = true;
	x->empty = empty;
	x->signalled = signalled;
	x->status = status & 0xff;
	exec_maybe_finish(x);
}

void exec_emptied(struct exec *x)
{
	if (!x->exited)
		return;
	x->empty = true;
	exec_maybe_finish(x);
}

/* How executions end: by themselves, by being killed, with their sandbox. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/init_msg.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_exec.h"
#include "sandbox/keeper_fork.h"
#include "sandbox/keeper_init.h"
#include "sandbox/keeper_kernel.h"
#include "sandbox/keeper_session.h"
#include "sandbox/keeper_sleep.h"

#define GRACE_DEFAULT_MS 2000
#define LAST_RESORT_MS 10000
#define START_LIMIT_MS 30000 /* init says nothing while a start waits */

/* ---- signals and kills ---- */

void exec_signal(struct exec *x, uint32_t sig, bool all)
{
	OWN(buf_free) struct buf b = BUF_INIT(64);

	wire_u32(&b, sig);
	wire_u8(&b, all);
	x->signals++;
	init_link_send(x->keeper, IM_SIGNAL, x->tag, &b);
}

void exec_signalled(struct exec *x)
{
	if (x->signals > 0 && --x->signals == 0 && x->kernel != NULL)
		kernel_signalled(x);
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
	if (session_waits(x)) {
		exec_never(x, ERR_STATE,
			   x->session->ended ? "session" : "killed");
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

static uint32_t grace_of(const struct exec *x)
{
	return x->grace_ms > 0 ? x->grace_ms : GRACE_DEFAULT_MS;
}

static void on_timeout(void *arg)
{
	struct exec *x = arg;

	exec_kill(x, END_TIMED_OUT, grace_of(x));
}

/* One that ended by itself, before all of it was read, did just that. */
void exec_output_over(struct exec *x)
{
	if (!x->exited && x->kill_reason == END_NONE)
		exec_kill(x, END_OUTPUT_LIMIT, grace_of(x));
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
	if (x->end.reason == END_OUTPUT_LIMIT)
		hits->of[HIT_OUTPUT] = (struct keeper_hit){
		    .limit = x->output_max,
		    .used = x->end.stdout_bytes + x->end.stderr_bytes,
		    .hits = 1,
		    .fresh = 1};
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
	if (sleep_counts(x))
		sleep_mark(k);
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
	exec_sweep_soon(k,
			k->nended > KEEPER_ENDED_KEEP * 2 ? 0 : EXEC_SWEEP_MS);
}

/* The verdict over a program that was reaped. */
static void exec_verdict(const struct exec *x, struct keeper_end *end)
{
	const struct usage_fds *u = &x->keeper->usage;
	struct keeper_hits hits = {0};
	int code = x->signalled ? 128 + (int)x->status : (int)x->status;

	if (code == 128 + SIGKILL)
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
	else if (hits.of[HIT_MEMORY].hits > 0)
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
	client_started(x->starter, x->starter_tag, &b);
	x->starter = NULL;
	client_wake(x);
	if (x->kind != EXEC_FS)
		exec_announce(x);
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

void exec_never(struct exec *x, enum err code, const char *what)
{
	client_refuse(x->starter, x->starter_tag, code, what);
	for (struct attach *a = x->attaches; a != NULL; a = a->exec_next)
		if (a->client != x->starter || a->tag != x->starter_tag)
			client_refuse(a->client, a->tag, code, what);
	x->starter = NULL;
	exec_free(x);
}

/* It is not there, it is too much, or it is no such thing. */
static enum err start_code(uint32_t sys)
{
	if (sys == ENOENT)
		return ERR_NOT_FOUND;
	return sys == E2BIG ? ERR_LIMIT : ERR_DENIED;
}

void exec_failed(struct exec *x, uint8_t step, uint32_t sys)
{
	enum err code = ERR_IO;
	const char *what = "start";

	if (x->state != EXEC_STARTING)
		return;
	if ((step == INIT_STEP_CWD || step == INIT_STEP_EXEC) &&
	    sys != ENOMEM) {
		code = start_code(sys);
		what = step == INIT_STEP_CWD ? "cwd" : "argv";
	} else if (step == INIT_STEP_CLONE) {
		code = ERR_LIMIT;
		what = "processes";
	}
	log_line(LOG_INFO, "start failed at step %u: %s", step,
		 strerrordesc_np((int)sys));
	exec_never(x, code, what);
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

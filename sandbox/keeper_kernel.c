#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/kernel_msg.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_exec.h"
#include "sandbox/keeper_fork.h"
#include "sandbox/keeper_kernel.h"

#define INTERRUPT_MS 2000 /* between SIGINT, SIGINT and KILL */
#define SIGNALLED_MS 2000 /* init is not waited for any longer */

struct kernel {
	struct exec *exec;
	struct loop_watch ctl;
	struct wire_rx rx;
	struct wire_tx tx;
	bool ready;
	bool paused;
	bool alone;             /* it passes SIGINT on itself */
	bool signal_due;        /* SIGINT, when its INTERRUPT is written */
	struct loop_timer late; /* init does not say that it was sent */
	struct exec *current;
	struct exec *queue; /* runs that wait, the next first */
};

static void kernel_next(struct kernel *kn);

/* The last event of a run; it is no longer the kernel's. */
static void run_finish(struct exec *run, struct keeper_end *end)
{
	if (run->kill_reason != END_NONE)
		end->reason = run->kill_reason;
	if (end->reason == END_TIMED_OUT)
		end->exit_code = EXIT_TIMED_OUT;
	else if (end->reason == END_INTERRUPTED || end->reason == END_KILLED)
		end->exit_code = 128 + SIGINT;
	exec_unpause(run); /* else the next run's output is never read */
	run->kernel_exec = NULL;
	exec_finish(run, end);
}

static void kernel_flush(struct kernel *kn)
{
	uint32_t events = kn->paused ? 0 : EPOLLIN;

	if (kn->ctl.fd < 0)
		return;
	if (wire_tx_flush(&kn->tx, kn->ctl.fd, NULL) != ERR_NONE)
		return; /* its end is seen by the reading side */
	if (kn->tx.out.len > 0) {
		events |= EPOLLOUT;
	} else if (kn->signal_due) {
		kn->signal_due = false;
		exec_signal(kn->exec, SIGINT, !kn->alone);
	}
	loop_mod(&kn->exec->keeper->loop, &kn->ctl, events);
}

static void kernel_say(struct kernel *kn, uint16_t type, uint32_t tag,
		       const struct buf *payload)
{
	if (wire_tx_put(&kn->tx, type, tag, payload, NULL) != ERR_NONE) {
		log_line(LOG_WARN, "kernel does not read: killed");
		exec_signal(kn->exec, SIGKILL, true);
		return;
	}
	kernel_flush(kn);
}

void kernel_begin(struct exec *x, const struct buf *payload)
{
	kernel_say(x->kernel, XM_BEGIN, 0, payload);
}

bool kernel_is_ready(const struct exec *x)
{
	return x->kernel != NULL && x->kernel->ready;
}

static void on_run_timeout(void *arg)
{
	kernel_stop_run(arg, END_TIMED_OUT, 0);
}

static void on_late(void *arg)
{
	struct kernel *kn = arg;

	kn->exec->signals = 0;
	kernel_next(kn);
}

void kernel_signalled(struct exec *x)
{
	kernel_next(x->kernel);
}

static void kernel_next(struct kernel *kn)
{
	struct exec *run = kn->queue;
	struct buf b = {0};

	if (run == NULL || kn->current != NULL || !kn->ready)
		return;
	if (kn->exec->signals > 0) { /* it was for the run before */
		if (!kn->late.armed)
			loop_timer_set(&run->keeper->loop, &kn->late,
				       clock_mono_ms() + SIGNALLED_MS, on_late,
				       kn);
		return;
	}
	loop_timer_del(&run->keeper->loop, &kn->late);
	kn->queue = run->next_run;
	run->next_run = NULL;
	kn->current = run;
	usage_counts(&run->keeper->usage, &run->from);
	if (run->timeout_ms > 0)
		loop_timer_set(&run->keeper->loop, &run->timer,
			       clock_mono_ms() + (int64_t)run->timeout_ms,
			       on_run_timeout, run);
	b.data = run->run_json;
	b.len = run->run_json_len;
	kernel_say(kn, XM_RUN, run->tag, &b);
	free(run->run_json);
	run->run_json = NULL;
}

void kernel_run(struct exec *x, struct exec *run)
{
	struct kernel *kn = x->kernel;
	struct exec **p = &kn->queue;

	run->kernel_exec = x;
	while (*p != NULL)
		p = &(*p)->next_run;
	*p = run;
	kernel_next(kn);
}

struct exec *kernel_target(struct exec *x)
{
	if (x->kernel == NULL || x->kernel->current == NULL)
		return x;
	return x->kernel->current;
}

/* ---- interrupts ---- */

/* Also what has not read its RUN yet must learn whom the signal is for. */
static void kernel_interrupt(struct kernel *kn, const struct exec *run)
{
	kn->signal_due = true;
	kernel_say(kn, XM_INTERRUPT, run->tag, NULL);
}

static void on_stop_step(void *arg)
{
	struct exec *run = arg, *kernel = run->kernel_exec;

	if (kernel == NULL)
		return;
	if (run->kill_stage++ == 0) {
		kernel_interrupt(kernel->kernel, run);
		if (kernel->kernel->signal_due) /* it does not read */
			exec_signal(kernel, SIGINT, !kernel->kernel->alone);
		kernel->kernel->signal_due = false;
		loop_timer_set(&run->keeper->loop, &run->timer,
			       clock_mono_ms() + INTERRUPT_MS, on_stop_step,
			       run);
		return;
	}
	exec_kill(kernel, run->kill_reason, 0);
}

void kernel_stop_run(struct exec *run, enum end_reason reason,
		     uint32_t grace_ms)
{
	struct exec *x = run->kernel_exec, **p;
	struct keeper_end end = {.reason = reason};

	if (run->state == EXEC_ENDED || run->kill_reason != END_NONE ||
	    x == NULL)
		return;
	run->kill_reason = reason;
	if (x->kernel->current == run) {
		kernel_interrupt(x->kernel, run);
		loop_timer_set(&run->keeper->loop, &run->timer,
			       clock_mono_ms() +
				   (grace_ms > 0 ? grace_ms : INTERRUPT_MS),
			       on_stop_step, run);
		return;
	}
	p = &x->kernel->queue;
	while (*p != NULL && *p != run)
		p = &(*p)->next_run;
	if (*p == run)
		*p = run->next_run;
	run->next_run = NULL;
	run_finish(run, &end);
}

/* ---- frames ---- */

static void kernel_done(struct kernel *kn, const struct wire_msg *msg)
{
	struct exec *run = kn->current;
	struct keeper_end end = {.reason = END_EXITED};

	exec_event(run, EVENT_DONE, msg->data, msg->len);
	kn->current = NULL;
	kn->signal_due = false;
	run_finish(run, &end);
	kernel_next(kn);
}

/* False: this kernel broke the protocol. */
static bool kernel_frame(struct kernel *kn, const struct wire_msg *msg)
{
	struct exec *run = kn->current;

	if (msg->nfds > 0)
		return false;
	if (msg->type == XM_READY) {
		kn->ready = true;
		kn->alone = msg->tag == XM_READY_ALONE;
		fork_ready(kn->exec);
		kernel_next(kn);
		return true;
	}
	if (run == NULL || msg->tag != run->tag)
		return msg->type == XM_RESULT || msg->type == XM_ERROR ||
		       msg->type == XM_DONE; /* too late: not this run's */
	if (msg->type == XM_RESULT) {
		exec_event(run, EVENT_RESULT, msg->data, msg->len);
		kernel_say(kn, XM_ACK, msg->tag, NULL);
	} else if (msg->type == XM_ERROR) {
		exec_event(run, EVENT_ERROR, msg->data, msg->len);
	} else if (msg->type == XM_DONE) {
		kernel_done(kn, msg);
	} else {
		return false;
	}
	return true;
}

static void ctl_close(struct kernel *kn)
{
	int fd = kn->ctl.fd;

	loop_del(&kn->exec->keeper->loop, &kn->ctl);
	own_fd(&fd);
}

static void on_ctl(void *arg, uint32_t events)
{
	struct kernel *kn = arg;
	struct wire_msg *msg;
	bool more;

	if ((events & EPOLLOUT) != 0)
		kernel_flush(kn);
	if ((events & ~(uint32_t)EPOLLOUT) == 0)
		return;
	if (wire_rx_fill(&kn->rx, kn->ctl.fd, &more, NULL) != ERR_NONE) {
		ctl_close(kn); /* how it ended is init's to tell */
		exec_signal(kn->exec, SIGKILL, true);
		fork_failed(kn->exec);
		return;
	}
	for (;;) {
		if (wire_rx_next(&kn->rx, &msg, NULL) != ERR_NONE)
			break;
		if (msg == NULL)
			return;
		exec_drain(kn->exec);
		if (!kernel_frame(kn, msg))
			break;
	}
	log_line(LOG_WARN, "kernel broke the protocol: killed");
	ctl_close(kn);
	exec_signal(kn->exec, SIGKILL, true);
	fork_failed(kn->exec);
}

enum err kernel_open(struct exec *x, int fd, struct errinfo *e)
{
	struct kernel *kn = calloc(1, sizeof(*kn));
	enum err r;

	if (kn == NULL) {
		own_fd(&fd);
		return err_set(e, ERR_NOMEM, 0, "kernel");
	}
	kn->exec = x;
	wire_rx_init(&kn->rx, KERNEL_PAYLOAD_MAX);
	wire_tx_init(&kn->tx, KERNEL_PAYLOAD_MAX);
	r = loop_add(&x->keeper->loop, &kn->ctl, fd, EPOLLIN, on_ctl, kn, e);
	if (r != ERR_NONE) {
		own_fd(&fd);
		free(kn);
		return r;
	}
	x->kernel = kn;
	return ERR_NONE;
}

void kernel_pause(struct exec *x, bool paused)
{
	if (x->kernel == NULL)
		return;
	x->kernel->paused = paused;
	kernel_flush(x->kernel);
}

void kernel_ended(struct exec *x, const struct keeper_end *end)
{
	struct kernel *kn = x->kernel;
	struct keeper_end lost = {.exit_code = end->exit_code,
				  .signal = end->signal,
				  .reason = end->reason,
				  .kernel_lost = true};
	struct exec *run = kn->current;

	kn->current = NULL;
	if (kn->ctl.fd >= 0)
		ctl_close(kn);
	while (run != NULL || kn->queue != NULL) {
		struct keeper_end copy = lost;

		if (run == NULL) {
			run = kn->queue;
			kn->queue = run->next_run;
		}
		run_finish(run, &copy);
		run = NULL;
	}
}

void kernel_free(struct exec *x)
{
	struct kernel *kn = x->kernel;
	struct keeper_end end = {.reason = END_KILLED};

	if (kn == NULL)
		return;
	kernel_ended(x, &end);
	loop_timer_del(&x->keeper->loop, &kn->late);
	wire_rx_free(&kn->rx);
	wire_tx_free(&kn->tx);
	free(kn);
	x->kernel = NULL;
}

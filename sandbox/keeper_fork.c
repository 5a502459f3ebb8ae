#include <signal.h>

#include "base/clock.h"
#include "base/init_msg.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_exec.h"
#include "sandbox/keeper_fork.h"
#include "sandbox/keeper_init.h"
#include "sandbox/keeper_kernel.h"

#define FORK_LIMIT_MS 6000 /* for all of it */

static void on_limit(void *arg)
{
	struct exec *x = arg;

	log_line(LOG_WARN, "a forked kernel is not ready in time");
	exec_signal(x, SIGKILL, true);
	fork_failed(x);
}

void fork_hand_out(struct exec *x)
{
	int n = x->nhand;

	x->nhand = 0;
	client_hand(x->starter, KM_FDS, x->starter_tag, x->hand, n);
	x->starter = NULL;
	loop_timer_set(&x->keeper->loop, &x->timer,
		       clock_mono_ms() + FORK_LIMIT_MS, on_limit, x);
}

void fork_told(struct exec *x, struct client *c, uint32_t tag, uint32_t pid)
{
	OWN(buf_free) struct buf b = BUF_INIT(16);

	if (!x->forked || x->state != EXEC_STARTING || x->starter != NULL) {
		client_refuse(c, tag, ERR_STATE, "not to be forked");
		return;
	}
	if (pid == 0) {
		exec_free(x);
		client_say(c, KM_OK, tag, NULL);
		return;
	}
	client_starts(c, x, tag);
	wire_u32(&b, pid);
	init_link_send(x->keeper, IM_ADOPT, x->tag, &b);
}

bool fork_waits(struct exec *x, uint32_t pid)
{
	if (!x->forked || kernel_is_ready(x))
		return false;
	x->adopted = true;
	x->pid = pid;
	return true;
}

void fork_ready(struct exec *x)
{
	if (x->forked && x->adopted)
		exec_spawned(x, x->pid);
}

void fork_failed(struct exec *x)
{
	if (x->forked)
		exec_failed(x, INIT_STEP_CONFINE, 0);
}

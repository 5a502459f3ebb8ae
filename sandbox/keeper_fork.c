#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

void fork_told(struct exec *x, struct client *c, struct wire_msg *msg,
	       uint32_t pid)
{
	if (!x->forked || x->adopted || x->state != EXEC_STARTING ||
	    x->starter != NULL) {
		client_refuse(c, msg->tag, ERR_STATE, "not to be forked");
		return;
	}
	if (pid == 0) {
		exec_never(x, ERR_STATE, "not forked");
		client_say(c, KM_OK, msg->tag, NULL);
		return;
	}
	x->starter = c;
	x->starter_tag = msg->tag;
	if (!init_link_adopt(x->keeper, x->tag, pid, &msg->fds[0]))
		fork_failed(x);
}

bool fork_waits(struct exec *x, uint32_t pid)
{
	OWN(buf_free) struct buf b = BUF_INIT(16);

	if (!x->forked || kernel_is_ready(x))
		return false;
	x->adopted = true;
	x->pid = pid;
	if (x->spare == NULL)
		return true;
	loop_timer_del(&x->keeper->loop, &x->timer);
	wire_u32(&b, pid);
	client_started(x->starter, x->starter_tag, &b);
	x->starter = NULL;
	return true;
}

/* ---- spare ones ---- */

/* The user and all of argv, each ended by a 1; NULL without memory. */
static char *spare_kind(const struct keeper_start *s)
{
	struct buf b = BUF_INIT(KEEPER_PAYLOAD_MAX);

	buf_adds(&b, s->user);
	for (uint32_t i = 0; i < s->argc; i++) {
		buf_addc(&b, '\1');
		buf_adds(&b, s->argv[i]);
	}
	if (buf_ok(&b))
		return b.data;
	buf_free(&b);
	return NULL;
}

enum err fork_spare(struct exec *x, const struct keeper_start *s,
		    struct errinfo *e)
{
	OWN(own_mem) char *kind = spare_kind(s);
	uint32_t n = 0;

	if (kind == NULL)
		return err_set(e, ERR_NOMEM, 0, "spare");
	for (const struct exec *y = x->keeper->execs; y != NULL; y = y->next)
		n += y->spare != NULL && strcmp(y->spare, kind) == 0;
	if (n >= s->grace_ms)
		return err_set(e, ERR_LIMIT, 0, "spare");
	x->spare = STEAL(kind);
	return ERR_NONE;
}

enum err fork_claim(struct keeper *k, const struct keeper_start *s,
		    const struct buf *begin, struct exec **out,
		    struct errinfo *e)
{
	OWN(own_mem) char *kind = spare_kind(s);
	struct exec *x = k->execs;

	if (!id_text_ok(s->id))
		return err_set(e, ERR_ARG, 0, "id");
	if (exec_find(k, s->id) != NULL)
		return err_set(e, ERR_EXISTS, 0, "id");
	while (x != NULL && (kind == NULL || x->spare == NULL || !x->adopted ||
			     strcmp(x->spare, kind) != 0))
		x = x->next;
	if (x == NULL)
		return err_set(e, ERR_NOT_FOUND, 0, "spare");
	free(x->spare);
	x->spare = NULL;
	snprintf(x->id, sizeof(x->id), "%s", s->id);
	x->grace_ms = s->grace_ms;
	x->started_ms = clock_unix_ms();
	x->started_mono = clock_mono_ms();
	usage_counts(&k->usage, &x->from);
	loop_timer_set(&k->loop, &x->timer, clock_mono_ms() + FORK_LIMIT_MS,
		       on_limit, x);
	kernel_begin(x, begin);
	*out = x;
	return ERR_NONE;
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

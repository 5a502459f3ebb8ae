/* The end of a sandbox: all killed, all reaped, then cleaned up. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/live.h"
#include "sandbox/live_files.h"
#include "sandbox/net_slot.h"

#define CLEAN_RETRY_MS 20
#define KEEPER_LIMIT_MS 3000

static void tell_failure(struct live *l)
{
	if (l->refused != ERR_NONE)
		live_answer_starts(l, l->refused,
				   live_refusal_step(l->refused, &l->want));
	else
		live_answer_starts(
		    l, l->failure.step != SPAWN_OK ? ERR_IO : ERR_STATE,
		    l->failure.step);
}

static struct live_wait *oldest_first(struct live_wait *newest)
{
	struct live_wait *list = NULL;

	while (newest != NULL) {
		struct live_wait *w = newest;

		newest = w->next;
		w->next = list;
		list = w;
	}
	return list;
}

/* All processes are reaped: give everything back, then answer who waits. */
static void live_clean(void *arg)
{
	struct live *l = arg;
	struct broker *b = l->broker;
	struct live_wait *waits;

	loop_timer_del(&b->loop, &l->timer); /* a keeper's last moments */
	if (!cgroup_remove(&b->cgroups, l->id)) {
		cgroup_kill(&b->cgroups, l->id);
		loop_timer_set(&b->loop, &l->timer,
			       clock_mono_ms() + CLEAN_RETRY_MS, live_clean, l);
		return;
	}
	maker_release(b, &l->tree, &l->disk, l->destroy);
	live_files_unlink(b, l->id);
	if (l->slot < BERTH_SLOTS)
		net_slot_free(&b->net, l->slot);
	if (l->destroy)
		live_remove_files(b, l->id);
	tell_failure(l);
	live_unlink(l);
	waits = oldest_first(l->waits);
	live_free(l);
	while (waits != NULL) {
		struct live_wait *w = waits;

		waits = w->next;
		broker_request(b, w->peer, &w->req);
		free(w);
	}
}

void live_end_go_on(struct live *l)
{
	if (l->init.pidfd < 0 && l->keeper_pidfd < 0)
		live_clean(l);
}

/* What it takes counts, as a start's does. */
static void end_begins(struct live *l)
{
	int64_t now_us = clock_mono_us();

	l->state = LIVE_ENDING;
	flow_done(&l->turn, now_us);
	flow_begin(&l->turn, now_us);
}

void live_end(struct live *l)
{
	if (l->state == LIVE_ENDING)
		return;
	end_begins(l);
	loop_timer_del(&l->broker->loop, &l->timer);
	loop_del(&l->broker->loop, &l->report_watch);
	own_fd(&l->init.report);
	own_fd(&l->init.go);
	/* Another mount of the same files must not come before its end; that
	 * of an image, which is locked, waits. */
	if (l->destroy || l->disk >= 0)
		live_hold_tree(l);
	loop_del(&l->broker->loop, &l->job_watch);
	disk_job_close(&l->job);
	child_signal(l->init.pidfd, SIGKILL);
	cgroup_kill(&l->broker->cgroups, l->id);
	child_signal(l->keeper_pidfd, SIGKILL);
	live_end_go_on(l);
}

static void on_keeper_limit(void *arg)
{
	struct live *l = arg;

	child_signal(l->keeper_pidfd, SIGKILL);
}

void live_end_without_init(struct live *l)
{
	end_begins(l);
	cgroup_kill(&l->broker->cgroups, l->id);
	loop_timer_set(&l->broker->loop, &l->timer,
		       clock_mono_ms() + KEEPER_LIMIT_MS, on_keeper_limit, l);
	live_end_go_on(l);
}

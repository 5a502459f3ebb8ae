#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/live.h"

#define START_LIMIT_MS 10000

struct live *live_find(struct broker *b, const char *id)
{
	for (struct live *l = b->lives; l != NULL; l = l->next)
		if (strcmp(l->id, id) == 0)
			return l;
	return NULL;
}

uint32_t live_refusal_step(enum err code, const struct broker_req *req)
{
	return code == ERR_STATE && req->network == BROKER_NET_INTERNET
		   ? BROKER_STEP_NETWORK
		   : 0;
}

enum err live_wait(struct live *l, struct peer *peer,
		   const struct broker_req *req, struct errinfo *e)
{
	struct live_wait *w = malloc(sizeof(*w));

	if (w == NULL)
		return err_set(e, ERR_NOMEM, 0, "wait");
	*w = (struct live_wait){.peer = peer,
				.req = *req,
				.late = l->state == LIVE_ENDING,
				.next = l->waits};
	l->waits = w;
	return ERR_NONE;
}

void live_forget_peer(struct broker *b, struct peer *peer)
{
	for (struct live *l = b->lives; l != NULL; l = l->next)
		for (struct live_wait *w = l->waits; w != NULL; w = w->next)
			if (w->peer == peer)
				w->peer = NULL;
}

void live_answer_starts(struct live *l, enum err code, uint32_t step)
{
	struct live_wait **p = &l->waits;

	while (*p != NULL) {
		struct live_wait *w = *p;

		if (w->req.type != BROKER_START || w->late) {
			p = &w->next;
			continue;
		}
		broker_answer(w->peer, &w->req, code, step);
		*p = w->next;
		free(w);
	}
}

struct live *live_new(struct broker *b, const char *id, uint64_t flow)
{
	struct live *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	if (!flow_join(&b->flows, &l->turn, flow)) {
		free(l);
		return NULL;
	}
	l->broker = b;
	l->init = (struct spawn_child)SPAWN_CHILD_NONE;
	l->keeper_pidfd = -1;
	l->disk = -1;
	l->tree = -1;
	l->slot = BERTH_SLOTS;
	l->job = (struct disk_job)DISK_JOB_NONE;
	l->job_watch.fd = -1;
	l->init_watch.fd = l->report_watch.fd = l->keeper_watch.fd = -1;
	must(strlen(id) == ID_SANDBOX_LEN);
	memcpy(l->id, id, sizeof(l->id));
	return l;
}

void live_free(struct live *l)
{
	flow_leave(&l->broker->flows, &l->turn, clock_mono_us());
	live_resume_soon(l->broker);
	free(l);
}

/* Who lets a mount namespace go as the last one unmounts all of it, and that
 * takes longer than all else of an end, or of a start. */
void live_hold_tree(struct live *l)
{
	char path[64];

	if (l->init.pidfd < 0)
		return;
	own_fd(&l->tree);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)l->init.pid);
	l->tree = open(path, O_RDONLY | O_CLOEXEC);
}

void live_unlink(struct live *l)
{
	struct live **p = &l->broker->lives;

	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
}

static void take_report(struct live *l)
{
	struct spawn_report r = {0};
	ssize_t n = read(l->init.report, &r, sizeof(r));

	if (n == 0)
		return;
	if (n != sizeof(r) || r.step == SPAWN_OK)
		r.step = SPAWN_NET;
	l->failure = r;
	log_line(LOG_ERROR, "%s: start failed at step %u: %s", l->id,
		 l->failure.step, strerrordesc_np((int)l->failure.sys));
}

static void on_init_end(void *arg, uint32_t events)
{
	struct live *l = arg;
	int status;

	(void)events;
	child_reap(l->init.pidfd, &status);
	loop_del(&l->broker->loop, &l->init_watch);
	own_fd(&l->init.pidfd);
	if (l->state == LIVE_STARTING) {
		take_report(l);
		live_end(l);
		return;
	}
	if (l->state == LIVE_ENDING) {
		live_end_go_on(l);
		return;
	}
	log_line(LOG_WARN, "%s: init ended (status %#x)", l->id,
		 (unsigned)status);
	live_end_without_init(l);
}

static void on_keeper_end(void *arg, uint32_t events)
{
	struct live *l = arg;
	int status;

	(void)events;
	child_reap(l->keeper_pidfd, &status);
	loop_del(&l->broker->loop, &l->keeper_watch);
	own_fd(&l->keeper_pidfd);
	if (l->state == LIVE_ENDING) {
		live_end_go_on(l);
		return;
	}
	log_line(LOG_WARN, "%s: keeper ended (status %#x)", l->id,
		 (unsigned)status);
	live_end(l);
}

static void on_start_limit(void *arg)
{
	struct live *l = arg;

	log_line(LOG_ERROR, "%s: not started in time", l->id);
	l->failure.step = SPAWN_EXEC;
	live_end(l);
}

/* End of the pipe: init was exec'd. A report: the step that failed. */
static void on_report(void *arg, uint32_t events)
{
	struct live *l = arg;
	struct broker *b = l->broker;
	int none = -1;

	(void)events;
	take_report(l);
	loop_del(&b->loop, &l->report_watch);
	own_fd(&l->init.report);
	if (l->failure.step != SPAWN_OK) {
		live_end(l);
		return;
	}
	loop_timer_del(&b->loop, &l->timer);
	maker_release(b, &l->tree, &none, false);
	l->state = LIVE_RUNNING;
	flow_done(&l->turn, clock_mono_us());
	live_resume_soon(b);
	live_answer_starts(l, ERR_NONE, SPAWN_OK);
}

static void watch(struct live *l, struct loop_watch *w, int fd, loop_fn *fn)
{
	if (fd >= 0)
		must(loop_add(&l->broker->loop, w, fd, EPOLLIN, fn, l, NULL) ==
		     ERR_NONE);
}

/* Whatever could be started is watched, so that its end is seen. */
void live_watch(struct live *l)
{
	watch(l, &l->report_watch, l->init.report, on_report);
	watch(l, &l->init_watch, l->init.pidfd, on_init_end);
	watch(l, &l->keeper_watch, l->keeper_pidfd, on_keeper_end);
	if (l->state == LIVE_STARTING)
		loop_timer_set(&l->broker->loop, &l->timer,
			       clock_mono_ms() + START_LIMIT_MS, on_start_limit,
			       l);
}

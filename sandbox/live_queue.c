/* Starts that wait: for their turn, for what is being made, for an image. */
#include <stddef.h>

#include "base/clock.h"
#include "base/log.h"
#include "sandbox/live.h"

#define IMAGE_RETRY_MS 20
#define DISK_LIMIT_MS 120000 /* e2fsck, once after a crash */

static void on_disk_turn(void *arg);

static void on_job_end(void *arg, uint32_t events)
{
	struct live *l = arg;

	(void)events;
	loop_del(&l->broker->loop, &l->job_watch);
	if (disk_job_end(&l->job)) {
		on_disk_turn(l);
		return;
	}
	log_line(LOG_ERROR, "%s: its image cannot be used", l->id);
	l->failure = (struct spawn_report){.step = SPAWN_MOUNTS};
	live_end(l);
}

/* Until its image can be mounted; then the start goes on. */
static bool disk_turns(struct live *l)
{
	struct loop *loop = &l->broker->loop;

	if (clock_left_ms(l->want_until_ms) == 0)
		return false;
	switch (disk_prepare(&l->broker->disks, l->id, &l->job)) {
	case DISK_NEED_NOTHING:
		return false;
	case DISK_NEED_WAIT:
		loop_timer_set(loop, &l->timer,
			       clock_mono_ms() + IMAGE_RETRY_MS, on_disk_turn,
			       l);
		return true;
	case DISK_NEED_JOB:
		must(loop_add(loop, &l->job_watch, l->job.pidfd, EPOLLIN,
			      on_job_end, l, NULL) == ERR_NONE);
		return true;
	}
	return false;
}

static void on_disk_turn(void *arg)
{
	struct live *l = arg;
	struct errinfo e;

	if (disk_turns(l) || live_start_now(l, &l->want, &e) == ERR_NONE)
		return;
	log_err(l->id, &e);
	l->refused = e.code;
	live_end(l);
}

static struct live *of_turn(struct flow_item *item)
{
	return (struct live *)(void *)((char *)item -
				       offsetof(struct live, turn));
}

/* What it needs is made, or does not come. */
static bool has_all(void *arg, struct flow_item *item)
{
	const struct live *l = of_turn(item);

	return !maker_lacks(arg, l->want.disk_bytes != 0) ||
	       clock_left_ms(l->want_until_ms) == 0;
}

static void on_turns(void *arg)
{
	live_resume(arg);
}

void live_resume(struct broker *b)
{
	for (;;) {
		int64_t now_us = clock_mono_us(), again_us;
		struct flow_item *item = flow_next(&b->flows, now_us, has_all,
						   b, &again_us);

		if (item != NULL) {
			flow_begin(item, now_us);
			on_disk_turn(of_turn(item));
			continue;
		}
		if (again_us == INT64_MAX)
			loop_timer_del(&b->loop, &b->turns);
		else
			loop_timer_set(&b->loop, &b->turns, again_us / 1000 + 1,
				       on_turns, b);
		return;
	}
}

void live_resume_soon(struct broker *b)
{
	loop_timer_set(&b->loop, &b->turns, clock_mono_ms(), on_turns, b);
}

enum err live_start(struct broker *b, struct peer *peer,
		    const struct broker_req *req, struct errinfo *e)
{
	struct live *l = live_new(b, req->id, req->flow);
	enum err r;

	if (l == NULL)
		return err_set(e, ERR_NOMEM, 0, "live");
	r = live_wait(l, peer, req, e);
	if (r != ERR_NONE) {
		live_free(l);
		return r;
	}
	l->want = *req;
	l->want_until_ms = clock_mono_ms() + DISK_LIMIT_MS;
	l->next = b->lives;
	b->lives = l;
	flow_wait(&l->turn);
	live_resume(b);
	return ERR_NONE;
}

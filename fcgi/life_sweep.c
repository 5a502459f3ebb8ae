#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/life.h"
#include "fcgi/life_sweep.h"
#include "fcgi/store_pool.h"

#define STEP_MS 500
#define DUE_MOST 64
#define LOOKS 16 /* rows of a step that are compared with what is true */
#define LATER_MS 10000
#define ACTOR "sweep" /* of the audit: no key */

static struct {
	const struct worker *worker;
	int lock;
	id_sandbox_t looked; /* the last one */
} sweep = {.lock = -1};

/* ---- one that is due ---- */

static enum err sweep_delete(struct request *rq, int64_t now, struct errinfo *e)
{
	enum err r = ctl_sandbox_expire(rq->store, rq->sandbox.id, now, e);

	if (r != ERR_NONE)
		return r;
	life_close_ports(rq, rq->sandbox.id);
	return life_destroy(rq, rq->sandbox.id, rq->sandbox.name, e);
}

/* Asleep first: its keeper lets no call come between. */
static enum err sweep_stop(struct request *rq, struct errinfo *e)
{
	enum err r = life_sleep(rq, KEEPER_SLEEP_UNUSED, e);

	if (r == ERR_NONE && rq->sandbox.state == SANDBOX_SLEEPING)
		r = life_stop(rq, true, e);
	return r;
}

static bool sweep_over(int64_t after_ms, int64_t idle_ms)
{
	return after_ms > 0 && idle_ms >= after_ms;
}

static enum err sweep_due(struct request *rq, struct errinfo *e)
{
	struct ctl_sandbox *s = &rq->sandbox;
	int64_t now = clock_unix_ms(), due, idle;
	struct life life;
	enum err r;

	if (s->state == SANDBOX_DELETING)
		return sweep_delete(rq, now, e);
	life_look(rq, s, &life);
	r = ctl_sandbox_used(rq->store, s, life.used_ms, e);
	if (r == ERR_NONE)
		r = life_settle(rq, e);
	if (r != ERR_NONE)
		return r;
	due = ctl_life_due(&s->life, s->state, s->last_active_ms);
	if (due == 0 || due > now)
		return ERR_NONE;
	idle = now - s->last_active_ms;
	if (sweep_over(s->life.delete_after_ms, idle))
		return sweep_delete(rq, now, e);
	return sweep_over(s->life.stop_after_ms, idle)
		   ? sweep_stop(rq, e)
		   : life_sleep(rq, KEEPER_SLEEP_UNUSED, e);
}

/* ---- all that are ---- */

/* As if its tenant had called. Takes ${o}'s row. */
static void sweep_one(struct store_conn *c, struct ctl_sandbox_owned *o,
		      enum err (*fn)(struct request *, struct errinfo *))
{
	struct request rq = {.worker = sweep.worker,
			     .client_fd = -1,
			     .is_long = true,
			     .store = c,
			     .id = ACTOR,
			     .sandbox = o->row};
	struct errinfo e;
	enum err r;

	o->row.labels = o->row.env = NULL;
	memcpy(rq.auth.tenant, o->tenant, sizeof(rq.auth.tenant));
	snprintf(rq.auth.prefix, sizeof(rq.auth.prefix), ACTOR);
	r = fn(&rq, &e);
	/* Used, or deleted, just now. */
	if (r != ERR_NONE && r != ERR_STATE && r != ERR_NOT_FOUND) {
		log_line(LOG_WARN, "%s: sweep: %s: %s", rq.sandbox.id,
			 err_name(r), e.text);
		if (ctl_sandbox_later(c, rq.sandbox.id,
				      clock_unix_ms() + LATER_MS,
				      &e) != ERR_NONE)
			log_err("sweep", &e);
	}
	ctl_sandbox_free(&rq.sandbox);
	json_out_free(&rq.failure.context);
}

static void sweep_all_due(struct store_conn *c)
{
	OWN(ctl_sandbox_sweep_free) struct ctl_sandbox_sweep due = {.n = 0};
	struct errinfo e;

	if (ctl_sandbox_due(c, clock_unix_ms(), DUE_MOST, &due, &e) !=
	    ERR_NONE) {
		log_err("what is due", &e);
		return;
	}
	for (size_t i = 0; i < due.n; i++)
		sweep_one(c, &due.rows[i], sweep_due);
}

/* A preview's hit woke it, its keeper was killed, the machine had stopped. */
static void sweep_look(struct store_conn *c)
{
	OWN(ctl_sandbox_sweep_free) struct ctl_sandbox_sweep some = {.n = 0};
	struct errinfo e;

	if (ctl_sandbox_awake(c, sweep.looked, LOOKS, &some, &e) != ERR_NONE) {
		log_err("sandboxes that run", &e);
		return;
	}
	sweep.looked[0] = '\0';
	if (some.n == LOOKS)
		memcpy(sweep.looked, some.rows[some.n - 1].row.id,
		       sizeof(sweep.looked));
	for (size_t i = 0; i < some.n; i++)
		sweep_one(c, &some.rows[i], life_settle);
}

/* Another worker does it as long as it lives. */
static bool sweep_mine(void)
{
	char path[PATH_MAX];

	if (sweep.lock >= 0)
		return true;
	snprintf(path, sizeof(path), "%s/preview", sweep.worker->run_dir);
	sweep.lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sweep.lock >= 0 && flock(sweep.lock, LOCK_EX | LOCK_NB) < 0)
		own_fd(&sweep.lock);
	return sweep.lock >= 0;
}

static void *sweep_run(void *arg)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};

	(void)arg;
	for (;; nanosleep(&step, NULL)) {
		struct store_conn *c = NULL;
		struct errinfo e;

		if (!sweep_mine() || store_pool_take(&c, &e) != ERR_NONE)
			continue;
		sweep_all_due(c);
		sweep_look(c);
		store_pool_give(&c);
	}
	return NULL;
}

enum err life_sweep_start(const struct worker *w, struct errinfo *e)
{
	pthread_t t;
	int why;

	sweep.worker = w;
	why = pthread_create(&t, NULL, sweep_run, NULL);
	if (why != 0)
		return err_set(e, ERR_IO, why, "thread");
	pthread_detach(t);
	return ERR_NONE;
}

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_init.h"
#include "sandbox/keeper_sleep.h"

/* Added to the time of a timer that waits until it wakes. */
#define HELD_MS (INT64_C(1) << 50)

static void timer_move(struct keeper *k, struct loop_timer *t, int64_t by_ms)
{
	loop_timer_set(&k->loop, t, t->at_ms + by_ms, t->fn, t->arg);
}

static void timers_hold(struct keeper *k)
{
	for (struct exec *x = k->execs; x != NULL; x = x->next)
		if (x->timer.armed)
			timer_move(k, &x->timer, HELD_MS);
}

static void timers_release(struct keeper *k, int64_t slept_ms)
{
	for (struct exec *x = k->execs; x != NULL; x = x->next)
		if (x->timer.armed && x->timer.at_ms >= HELD_MS)
			timer_move(k, &x->timer, slept_ms - HELD_MS);
}

void sleep_wake(struct keeper *k)
{
	if (!k->asleep || k->gone)
		return;
	k->asleep = false;
	if (!usage_freeze(&k->usage, false)) {
		log_line(LOG_ERROR, "cannot be woken: %s",
			 strerrordesc_np(errno));
		keeper_gone(k, "it cannot be woken");
		return;
	}
	timers_release(k, clock_mono_ms() - k->asleep_ms);
}

void sleep_mark(struct keeper *k)
{
	k->used_ms = clock_unix_ms();
}

void sleep_used(struct keeper *k)
{
	sleep_mark(k);
	sleep_wake(k);
}

/* A watch that is asked by calls runs between them, and reads its input. */
bool sleep_counts(const struct exec *x)
{
	switch (x->kind) {
	case EXEC_CALL:
	case EXEC_GIT:
	case EXEC_RUN:
		return true;
	case EXEC_FS:
		return (x->flags & KF_STDIN_OPEN) == 0;
	case EXEC_PROCESS:
	case EXEC_KERNEL:
		return false;
	}
	return false;
}

static bool has_reader(const struct exec *x)
{
	for (const struct attach *a = x->attaches; a != NULL; a = a->exec_next)
		if (a->follow && !a->client->subscribed)
			return true;
	return false;
}

static bool in_use(const struct keeper *k)
{
	for (const struct client *c = k->clients; c != NULL; c = c->next)
		if (c->uses)
			return true;
	for (const struct exec *x = k->execs; x != NULL; x = x->next)
		if (x->state != EXEC_ENDED &&
		    (sleep_counts(x) || has_reader(x)))
			return true;
	return false;
}

/* What somebody waits for, and would wait for until it wakes. */
static bool has_calls(const struct keeper *k)
{
	for (const struct exec *x = k->execs; x != NULL; x = x->next)
		if (x->state == EXEC_STARTING ||
		    (x->state != EXEC_ENDED && sleep_counts(x)))
			return true;
	return false;
}

static bool may_sleep(const struct keeper *k, enum keeper_sleep which,
		      int64_t unused_ms)
{
	switch (which) {
	case KEEPER_SLEEP_UNUSED:
		return !in_use(k) && k->used_ms <= unused_ms;
	case KEEPER_SLEEP_QUIET:
		return !has_calls(k);
	case KEEPER_SLEEP_ANY:
		return true;
	}
	return false;
}

static enum err sleep_begin(struct keeper *k, enum keeper_sleep which,
			    int64_t unused_ms, struct errinfo *e)
{
	if (k->asleep)
		return ERR_NONE;
	if (k->gone)
		return err_set(e, ERR_GONE, 0, "sandbox");
	if (!may_sleep(k, which, unused_ms))
		return err_set(e, ERR_STATE, 0, "in use");
	if (!usage_freeze(&k->usage, true))
		return err_set(e, ERR_IO, errno, "freezer");
	k->asleep = true;
	k->asleep_ms = clock_mono_ms();
	timers_hold(k);
	return ERR_NONE;
}

static void say_state(struct client *c, uint32_t tag, bool asleep)
{
	struct keeper *k = c->keeper;
	const struct keeper_state s = {
	    .asleep = asleep,
	    .frozen = k->asleep && usage_frozen(&k->usage),
	    .in_use = in_use(k),
	    .used_ms = k->used_ms,
	};
	OWN(buf_free) struct buf b = BUF_INIT(16);

	keeper_put_state(&b, &s);
	client_say(c, KM_STATE_IS, tag, &b);
}

bool sleep_request_state(struct client *c, struct wire_msg *msg)
{
	say_state(c, msg->tag, c->keeper->asleep);
	return msg->len == 0;
}

bool sleep_request_wake(struct client *c, struct wire_msg *msg)
{
	bool asleep = c->keeper->asleep;

	if (msg->len != 0)
		return false;
	c->uses = true;
	sleep_used(c->keeper);
	say_state(c, msg->tag, asleep);
	return true;
}

bool sleep_request_sleep(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	uint8_t which = wire_in_u8(&in);
	int64_t unused_ms = wire_in_i64(&in);
	struct errinfo e;
	enum err r;

	if (!wire_in_done(&in) || which > KEEPER_SLEEP_ANY)
		return false;
	r = sleep_begin(c->keeper, (enum keeper_sleep)which, unused_ms, &e);
	if (r == ERR_NONE)
		say_state(c, msg->tag, c->keeper->asleep);
	else
		client_refuse(c, msg->tag, r, e.text);
	return true;
}

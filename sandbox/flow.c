#include <stdlib.h>

#include "base/err.h"
#include "sandbox/flow.h"

#define SHARE_LEAST 40
#define SHARE_MOST 400
#define SHARE_OF_ONE 20 /* percent for each processor */

struct flow {
	const struct flows *of;
	uint64_t key;
	int members;
	int64_t debt_us; /* of what is done, at … */
	int64_t at_us;
	struct flow_item *waits; /* the oldest first */
	struct flow_item *held;  /* in hand */
	struct flow *next;
};

void flows_init(struct flows *fs, int processors)
{
	int64_t share = (int64_t)processors * SHARE_OF_ONE;

	if (share < SHARE_LEAST)
		share = SHARE_LEAST;
	if (share > SHARE_MOST)
		share = SHARE_MOST;
	*fs = (struct flows){.share_percent = share};
}

static void forget(struct flow **at)
{
	struct flow *f = *at;

	*at = f->next;
	free(f);
}

void flows_close(struct flows *fs)
{
	while (fs->first != NULL)
		forget(&fs->first);
}

static int64_t cost(const struct flow_item *i, int64_t now_us)
{
	int64_t us = now_us - i->begun_us;

	if (i->charged)
		return 0;
	return us < FLOW_MOST_US ? us : FLOW_MOST_US;
}

static void charge(struct flow *f, int64_t us)
{
	f->debt_us += us;
	if (f->debt_us > FLOW_DEBT_MAX_US)
		f->debt_us = FLOW_DEBT_MAX_US;
}

/* As of now: what went away of its debt, and what hangs. */
static void settle(struct flow *f, int64_t now_us)
{
	int64_t paid = (now_us - f->at_us) * f->of->share_percent / 100;

	if (now_us <= f->at_us)
		return;
	f->at_us = now_us;
	f->debt_us = f->debt_us > paid ? f->debt_us - paid : 0;
	for (struct flow_item *i = f->held; i != NULL; i = i->next)
		if (cost(i, now_us) == FLOW_MOST_US) {
			charge(f, FLOW_MOST_US);
			i->charged = true;
		}
}

static int64_t owes(const struct flow *f, int64_t now_us)
{
	int64_t us = f->debt_us;

	for (const struct flow_item *i = f->held; i != NULL; i = i->next) {
		int64_t so_far = cost(i, now_us);

		if (!i->charged)
			us += so_far > FLOW_LEAST_US ? so_far : FLOW_LEAST_US;
	}
	return us;
}

/* ---- who is there ---- */

/* Nothing is known of those that are gone and owe nothing. */
static void forget_old(struct flows *fs, int64_t now_us)
{
	struct flow **p = &fs->first;

	while (*p != NULL) {
		struct flow *f = *p;

		settle(f, now_us);
		if (f->members == 0 && f->debt_us == 0)
			forget(p);
		else
			p = &f->next;
	}
}

static void append(struct flows *fs, struct flow *f)
{
	struct flow **p = &fs->first;

	while (*p != NULL)
		p = &(*p)->next;
	f->next = NULL;
	*p = f;
}

bool flow_join(struct flows *fs, struct flow_item *item, uint64_t key)
{
	struct flow *f = fs->first;

	while (f != NULL && f->key != key)
		f = f->next;
	if (f == NULL) {
		f = calloc(1, sizeof(*f));
		if (f == NULL)
			return false;
		*f = (struct flow){.of = fs, .key = key};
		append(fs, f);
	}
	f->members++;
	*item = (struct flow_item){.flow = f};
	return true;
}

uint64_t flow_key(const struct flow_item *item)
{
	return item->flow->key;
}

static void take_out(struct flow_item **p, struct flow_item *item)
{
	while (*p != item)
		p = &(*p)->next;
	*p = item->next;
	item->next = NULL;
	item->state = FLOW_IDLE;
}

void flow_leave(struct flows *fs, struct flow_item *item, int64_t now_us)
{
	if (item->flow == NULL)
		return;
	if (item->state == FLOW_WAITS)
		take_out(&item->flow->waits, item);
	flow_done(item, now_us);
	item->flow->members--;
	item->flow = NULL;
	forget_old(fs, now_us);
}

/* ---- turns ---- */

void flow_wait(struct flow_item *item)
{
	struct flow_item **p = &item->flow->waits;

	must(item->state == FLOW_IDLE);
	while (*p != NULL)
		p = &(*p)->next;
	*p = item;
	item->next = NULL;
	item->state = FLOW_WAITS;
}

static bool alone(const struct flows *fs, const struct flow *f)
{
	for (const struct flow *g = fs->first; g != NULL; g = g->next)
		if (g != f && g->members > 0)
			return false;
	return true;
}

/* When it may begin something: now, or at some time to ask again. */
static int64_t may_at(const struct flows *fs, struct flow *f, int64_t now_us)
{
	int64_t over;

	settle(f, now_us);
	over = owes(f, now_us) - FLOW_CREDIT_US;
	if (over < 0 || alone(fs, f))
		return now_us;
	return now_us + (over + 1) * 100 / fs->share_percent + 1;
}

static struct flow_item *take_turn(struct flows *fs, struct flow **at)
{
	struct flow *f = *at;
	struct flow_item *item = f->waits;

	take_out(&f->waits, item);
	*at = f->next;
	append(fs, f);
	return item;
}

struct flow_item *flow_next(struct flows *fs, int64_t now_us,
			    bool (*fit)(void *arg, struct flow_item *item),
			    void *arg, int64_t *again_us)
{
	*again_us = INT64_MAX;
	for (struct flow **p = &fs->first; *p != NULL; p = &(*p)->next) {
		struct flow *f = *p;
		int64_t at;

		if (f->waits == NULL)
			continue;
		at = may_at(fs, f, now_us);
		if (at > now_us)
			*again_us = at < *again_us ? at : *again_us;
		else if (fit(arg, f->waits))
			return take_turn(fs, p);
	}
	return NULL;
}

void flow_begin(struct flow_item *item, int64_t now_us)
{
	if (item->state == FLOW_WAITS)
		take_out(&item->flow->waits, item);
	must(item->state == FLOW_IDLE);
	item->begun_us = now_us;
	item->charged = false;
	item->next = item->flow->held;
	item->flow->held = item;
	item->state = FLOW_IN_HAND;
}

void flow_done(struct flow_item *item, int64_t now_us)
{
	struct flow *f = item->flow;

	if (item->state != FLOW_IN_HAND)
		return;
	take_out(&f->held, item);
	settle(f, now_us);
	charge(f, cost(item, now_us));
}

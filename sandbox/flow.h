/*
 * Whose turn it is. A flow is what one tenant starts and ends, told by the
 * number that workers send with START. Flows take turns; and one that has
 * others beside it may have a few things in hand at once, or now and then,
 * but on average no more than its share: what starts and ends take of the
 * processors, and of the kernel's locks, is then left to what others run.
 * One that is alone waits for nothing here.
 *
 * Time in hand is a debt that goes away by itself: in each second as much of
 * it as the share says. A flow's next start waits while it owes more than
 * its credit. No start is dearer than another: what differs shows in how long
 * it takes; but for no more than FLOW_MOST_US, so that also on a machine that
 * is slow, or loaded by others, some are begun in each second. Pure: no clock,
 * no loop.
 */
#ifndef SANDBOX_FLOW_H
#define SANDBOX_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#define FLOW_CREDIT_US 40000
#define FLOW_LEAST_US 10000 /* what is in hand counts as that at least … */
#define FLOW_MOST_US 30000  /* … and one that hangs as no more than this */
#define FLOW_DEBT_MAX_US 200000

struct flow;

/* A part of what takes turns; all 0 at first. */
struct flow_item {
	struct flow *flow; /* NULL: of none */
	struct flow_item *next;
	int64_t begun_us;
	bool charged; /* it hangs, and counts no more */
	enum { FLOW_IDLE, FLOW_WAITS, FLOW_IN_HAND } state;
};

struct flows {
	struct flow *first;    /* the one whose turn is next */
	int64_t share_percent; /* of one thing in hand all the time */
};

/** flows_init(fs, processors): One thing in hand for each five of them on
 * average, but 0.4 of one at least and four at most. */
void flows_init(struct flows *fs, int processors);
void flows_close(struct flows *fs);

/** flow_join(fs, item, key): ${item} is of that flow from now on, until
 * flow_leave(), and must outlive that. False without memory. */
bool flow_join(struct flows *fs, struct flow_item *item, uint64_t key);
void flow_leave(struct flows *fs, struct flow_item *item, int64_t now_us);

/** flow_key(item): Of which flow it is. */
uint64_t flow_key(const struct flow_item *item);

/** flow_wait(item): It waits for its turn, behind those of its flow. */
void flow_wait(struct flow_item *item);

/**
 * flow_next(fs, now_us, fit, arg, again_us):
 * Whose turn it is now: it waits no more, and the next turn is another
 * flow's. An item that does not fit(arg, item) holds up its flow. NULL:
 * nobody's; ${again_us} is when to ask again if nothing else happens
 * (INT64_MAX: no need to).
 */
struct flow_item *flow_next(struct flows *fs, int64_t now_us,
			    bool (*fit)(void *arg, struct flow_item *item),
			    void *arg, int64_t *again_us);

/** flow_begin(item, now_us), flow_done(item, now_us): From when to when it is
 * in hand; one that waits does so no more. Whatever may begin unasked (an
 * end) counts all the same. */
void flow_begin(struct flow_item *item, int64_t now_us);
void flow_done(struct flow_item *item, int64_t now_us);

#endif

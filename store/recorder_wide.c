/*
 * Long frames of keepers: a result may have some 70 MiB, and each of a thousand
 * keepers could say so much at once, or only begin to. One of them at a time
 * may; the others wait where their frame became long.
 */
#include "base/clock.h"
#include "store/recorder_link.h"

static void on_wide_limit(void *arg)
{
	struct recorder *r = arg;
	struct errinfo e;

	err_set(&e, ERR_PEER, 0, "a long frame does not come to its end");
	recorder_link_fail(r->wide, &e);
}

static void wide_begin(struct rec_link *l)
{
	struct recorder *r = l->rec;

	l->held = 0;
	r->wide = l;
	loop_timer_set(&r->loop, &r->wide_timer, clock_mono_ms() + LINK_WIDE_MS,
		       on_wide_limit, r);
}

/* Who has waited longest is next. */
static void wide_end(struct recorder *r)
{
	struct rec_link *l, *lt, *next = NULL;

	r->wide = NULL;
	loop_timer_del(&r->loop, &r->wide_timer);
	HASH_ITER(hh, r->links, l, lt)
	{
		if (l->held != 0 && (next == NULL || l->held < next->held))
			next = l;
	}
	if (next == NULL)
		return;
	wide_begin(next);
	recorder_link_look(next);
}

void recorder_wide_look(struct rec_link *l)
{
	struct recorder *r = l->rec;
	bool is_long = l->rx.in.len - l->rx.at > LINK_NARROW_BYTES;

	if (!is_long && r->wide == l)
		wide_end(r);
	else if (is_long && r->wide == NULL)
		wide_begin(l);
	else if (is_long && r->wide != l && l->held == 0)
		l->held = ++r->held;
}

void recorder_wide_leave(struct rec_link *l)
{
	l->held = 0;
	if (l->rec->wide == l)
		wide_end(l->rec);
}

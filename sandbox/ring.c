#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sandbox/ring.h"

void ring_init(struct ring *r, size_t max_bytes)
{
	*r = (struct ring){
	    .first = 1, .next = 1, .max_bytes = max_bytes, .held = UINT64_MAX};
}

static size_t ring_count(const struct ring *r)
{
	return (size_t)(r->next - r->first);
}

static void ring_drop_first(struct ring *r)
{
	struct ring_event *ev = r->slots[r->head];

	r->bytes -= ev->len + sizeof(*ev);
	r->dropped_bytes += ev->len;
	free(ev);
	r->head = (r->head + 1) % r->cap;
	r->first++;
}

void ring_free(struct ring *r)
{
	uint64_t dropped = r->dropped_bytes;

	while (ring_count(r) > 0)
		ring_drop_first(r);
	r->dropped_bytes = dropped;
	free(r->slots);
	r->slots = NULL;
	r->cap = r->head = 0;
}

/* Room for one more event. */
static bool ring_grow(struct ring *r)
{
	size_t n = ring_count(r), cap = r->cap == 0 ? 8 : r->cap * 2;
	struct ring_event **slots;

	if (n < r->cap)
		return true;
	slots = calloc(cap, sizeof(struct ring_event *));
	if (slots == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		slots[i] = r->slots[(r->head + i) % r->cap];
	free(r->slots);
	r->slots = slots;
	r->cap = cap;
	r->head = 0;
	return true;
}

bool ring_add(struct ring *r, enum event_kind kind, const void *data,
	      size_t len)
{
	size_t one = sizeof(struct ring_event) + len;
	struct ring_event *ev;

	if (!ring_grow(r))
		return false;
	ev = malloc(one);
	if (ev == NULL)
		return false;
	ev->seq = r->next;
	ev->at = r->total;
	ev->unix_ms = clock_unix_ms();
	ev->kind = kind;
	ev->len = len;
	if (len > 0)
		memcpy(ev->data, data, len);
	r->slots[(r->head + ring_count(r)) % r->cap] = ev;
	r->next++;
	r->bytes += one;
	r->total += one;
	while (r->bytes > r->max_bytes && ring_count(r) > 1 &&
	       (r->first < r->held || r->bytes - one > r->max_bytes))
		ring_drop_first(r);
	return true;
}

void ring_trim(struct ring *r)
{
	while (ring_count(r) > 1)
		ring_drop_first(r);
}

const struct ring_event *ring_get(const struct ring *r, uint64_t seq)
{
	if (seq < r->first || seq >= r->next)
		return NULL;
	return r->slots[(r->head + (size_t)(seq - r->first)) % r->cap];
}

size_t ring_unread(const struct ring *r, uint64_t next)
{
	const struct ring_event *ev = ring_get(r, next);

	if (ev != NULL)
		return (size_t)(r->total - ev->at);
	return next < r->first ? r->bytes : 0;
}

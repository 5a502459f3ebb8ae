/* The numbered event log of one execution: bounded, the oldest go first. */
#ifndef SANDBOX_RING_H
#define SANDBOX_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/keeper_msg.h"

struct ring_event {
	uint64_t seq;
	uint64_t at; /* bytes of all events before it */
	int64_t unix_ms;
	enum event_kind kind;
	size_t len;
	char data[];
};

struct ring {
	struct ring_event **slots; /* circular */
	size_t cap;
	size_t head;    /* slot of first */
	uint64_t first; /* oldest seq that is there; next when empty */
	uint64_t next;
	size_t bytes;
	size_t max_bytes;
	uint64_t held;          /* what comes from here on is still needed */
	uint64_t total;         /* bytes of all events so far */
	uint64_t dropped_bytes; /* of data, so far */
};

/** ring_init(r, max_bytes): An empty log whose first event will be 1. */
void ring_init(struct ring *r, size_t max_bytes);
void ring_free(struct ring *r);

/**
 * ring_add(r, kind, data, len):
 * Append an event; the oldest are dropped while the log is over its maximum
 * (the new one always stays). What is still needed stays as well, if all but
 * the new one are within the maximum. False: no memory, nothing changed.
 */
bool ring_add(struct ring *r, enum event_kind kind, const void *data,
	      size_t len);

/** ring_trim(r): Drop all but the newest event. */
void ring_trim(struct ring *r);

/** ring_get(r, seq): That event, or NULL if it is gone or not there yet. */
const struct ring_event *ring_get(const struct ring *r, uint64_t seq);

/** ring_unread(r, next): Bytes that a reader who gets ${next} next has not
 * got yet. */
size_t ring_unread(const struct ring *r, uint64_t next);

#endif

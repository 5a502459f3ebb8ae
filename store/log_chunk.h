/*
 * Logs: every execution's numbered events, as the keeper made them. Only the
 * recorder appends and frees. Bounded by bytes of an execution, a sandbox and
 * a tenant, and by age: the oldest chunks go first, and what went is counted.
 */
#ifndef STORE_LOG_CHUNK_H
#define STORE_LOG_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/keeper_msg.h"
#include "store/db.h"

#define LOG_CHUNK_OVERHEAD 64U /* counted for each chunk besides its data */
#define LOG_PAGE_CHUNKS 512

/* Overhead included. */
struct log_bounds {
	uint64_t exec_bytes_max;
	uint64_t sandbox_bytes_max;
	uint64_t tenant_bytes_max;
};

/* New events of one execution, in order. */
struct log_batch {
	const char *tenant; /* its id */
	const char *sandbox;
	const char *exec;
	const struct log_bounds *bounds;
	const struct keeper_event *events;
	size_t n;
};

/* What is known of one execution's log. */
struct log_state {
	uint64_t first; /* oldest seq still there; last + 1: none */
	uint64_t last;  /* newest seq ever appended; 0: none */
	bool ended;     /* its END was appended */
	uint64_t bytes; /* what is kept, overhead included */
	uint64_t
	    dropped_events; /* by the bounds here or by the keeper's ring */
	uint64_t dropped_bytes;
	uint64_t data_bytes; /* of stdout and stderr, ever */
};

/* Some events in order; data points into the page's buffer. */
struct log_page {
	struct log_state state;
	struct keeper_event *events;
	size_t n;
	struct buf data;
};

/**
 * log_chunk_state(c, sandbox, exec, out, e):
 * An execution without any log: all zero, first = 1.
 */
FALLIBLE enum err log_chunk_state(struct store_conn *c, const char *sandbox,
				  const char *exec, struct log_state *out,
				  struct errinfo *e);

/**
 * log_chunk_read(c, sandbox, exec, after, bytes_max, out, e):
 * The events with seq > ${after}, whole ones, at least one if there is any,
 * then up to ${bytes_max} or LOG_PAGE_CHUNKS. n is 0 at the end. Read the
 * next page with the last event's seq. Events that were dropped show as a
 * first seq greater than ${after} + 1. No transaction stays open.
 * Owns: ${out}, free it by log_page_free.
 */
FALLIBLE enum err log_chunk_read(struct store_conn *c, const char *sandbox,
				 const char *exec, uint64_t after,
				 size_t bytes_max, struct log_page *out,
				 struct errinfo *e);
void log_page_free(struct log_page *p);

/**
 * log_chunk_begin(c, e), log_chunk_commit(c, e), log_chunk_rollback(c):
 * The transaction in which chunks are appended. After a failed commit it is
 * rolled back.
 */
FALLIBLE enum err log_chunk_begin(struct store_conn *c, struct errinfo *e);
FALLIBLE enum err log_chunk_commit(struct store_conn *c, struct errinfo *e);
void log_chunk_rollback(struct store_conn *c);

/**
 * log_chunk_append(c, b, e):
 * Append a batch inside a transaction. A seq that is there already is passed
 * over; a jump in seq is counted as dropped events. An event larger than the
 * bounds is counted, not kept. To a log that was removed nothing is added.
 */
FALLIBLE enum err log_chunk_append(struct store_conn *c,
				   const struct log_batch *b,
				   struct errinfo *e);

/**
 * log_chunk_remove(c, sandbox, exec, e):
 * Nobody can read that execution's log any more, or with ${exec} NULL those
 * of the sandbox. The recorder frees their bytes soon (log_tidy.h).
 */
FALLIBLE enum err log_chunk_remove(struct store_conn *c, const char *sandbox,
				   const char *exec, struct errinfo *e);

#endif

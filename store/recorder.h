/*
 * The recorder: the one writer of logs.db. It keeps one connection to each
 * keeper, pulls every execution's events, commits them in groups, then tells
 * the keeper how far it has them (ACK), and sets the ends of node.db's rows.
 * Between groups it frees what is removed, too old or too much.
 *
 * Nothing is lost and nothing doubled over a restart: what was not committed
 * was not acknowledged, and a new recorder asks for what comes after the
 * last committed seq. Whatever a keeper sends, the worst outcome is that its
 * own connection is dropped.
 */
#ifndef STORE_RECORDER_H
#define STORE_RECORDER_H

#include "store/db.h"
#include "store/history_conf.h"
#include "store/log_chunk.h"

#define RECORDER_GROUP_MS 20
#define RECORDER_GROUP_EVENTS 4096U
#define RECORDER_GROUP_BYTES (256U << 10)
#define RECORDER_SETTLE_MS 5000
#define RECORDER_TIDY_MS 500
#define RECORDER_PRUNE_MS 30000

struct recorder;

struct recorder_conf {
	const char *data_dir;
	const char *run_dir;
	struct log_bounds bounds; /* or less, as a sandbox's limits say */
	struct history_conf history;
	unsigned group_ms;
	unsigned settle_ms; /* until rows that no keeper knows are gone */
	unsigned tidy_ms;   /* how often removed and old logs are looked for */
	unsigned prune_ms;  /* … and rows of what ended long ago */
};

#define RECORDER_CONF_INIT                                                     \
	{                                                                      \
		.bounds = {INT64_MAX, INT64_MAX, INT64_MAX},                   \
		.history = HISTORY_CONF_INIT, .group_ms = RECORDER_GROUP_MS,   \
		.settle_ms = RECORDER_SETTLE_MS, .tidy_ms = RECORDER_TIDY_MS,  \
		.prune_ms = RECORDER_PRUNE_MS                                  \
	}

/**
 * recorder_open(conf, r, e):
 * Open the store, watch R/keepers, connect to all that are there; what ran
 * in sandboxes without a keeper is set to sandbox_gone.
 * Owns: ${conf}'s texts must live as long as ${r}.
 */
FALLIBLE enum err recorder_open(const struct recorder_conf *conf,
				struct recorder **r, struct errinfo *e);

/**
 * recorder_watch_signals(r, e):
 * SIGTERM and SIGINT end recorder_run. Blocks them for this thread: call it
 * before any other thread is started.
 */
FALLIBLE enum err recorder_watch_signals(struct recorder *r, struct errinfo *e);

/**
 * recorder_adopt(r, sandbox, fd, e):
 * Record from the keeper of ${sandbox} on the connection ${fd}.
 * Owns: ${fd}, also on failure.
 */
FALLIBLE enum err recorder_adopt(struct recorder *r, const char *sandbox,
				 int fd, struct errinfo *e);

/** recorder_run(r, e): Record until a signal; everything is committed then. */
FALLIBLE enum err recorder_run(struct recorder *r, struct errinfo *e);

/** recorder_step(r, timeout_ms): Serve what happens within that time. */
void recorder_step(struct recorder *r, int timeout_ms);

/** recorder_close(r): What is not committed is rolled back. */
void recorder_close(struct recorder **r);

#endif

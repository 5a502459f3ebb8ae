/*
 * What node.db's rows have in common. A worker INSERTs a row before it asks
 * the keeper to start, so that the recorder, which sets the end, finds it;
 * when the keeper refuses, the worker removes the row again.
 * Rows are keyed by sandbox id and id: the caller has the sandbox id from
 * its tenant's row in ctl.db.
 */
#ifndef STORE_NODE_H
#define STORE_NODE_H

#include <stdint.h>

#include "base/id.h"
#include "base/keeper_msg.h"
#include "store/db.h"

/* Longer texts are cut at a character when they are stored. */
#define NODE_COMMAND_MAX 65536
#define NODE_CWD_MAX 4096
#define NODE_PAGE_MAX 1000

enum node_state { NODE_RUNNING = 1, NODE_ENDED };

/* How something ended, as the keeper's END or ITEM says. */
struct node_end {
	int32_t exit_code;
	enum end_reason reason;
	int64_t ended_ms;
	int64_t duration_ms;
	uint64_t stdout_bytes;
	uint64_t stderr_bytes;
	uint64_t dropped_bytes;
	struct keeper_hits hits; /* limits that it ran into */
};

/** node_state_name(s): "running", "ended". */
const char *node_state_name(enum node_state s);

/**
 * node_end_set(c, sandbox, id, kind, end, e):
 * The row of ${kind} (contexts: by kernel id) ended so. A row that has ended
 * keeps its end, unless that was sandbox_gone. No such row: fine. What it
 * tells of limits for the first time is counted as the sandbox's denials.
 * In a transaction, so that it is counted once.
 */
FALLIBLE enum err node_end_set(struct store_conn *c, const char *sandbox,
			       const char *id, enum exec_kind kind,
			       const struct node_end *end, struct errinfo *e);

/**
 * node_gone(c, sandbox, ended_ms, e):
 * All that ran in ${sandbox} ended with reason sandbox_gone.
 */
FALLIBLE enum err node_gone(struct store_conn *c, const char *sandbox,
			    int64_t ended_ms, struct errinfo *e);

/** node_forget(c, sandbox, e): Remove all rows of ${sandbox}. */
FALLIBLE enum err node_forget(struct store_conn *c, const char *sandbox,
			      struct errinfo *e);

/**
 * node_running(c, after, sandbox, e):
 * The first sandbox id after ${after} ("" to begin) that has a running row.
 * Errors: ERR_NOT_FOUND at the end.
 */
FALLIBLE enum err node_running(struct store_conn *c, const char *after,
			       id_sandbox_t sandbox, struct errinfo *e);

/**
 * node_begin(c, e), node_commit(c, e), node_rollback(c):
 * A writing transaction round several calls above: one fsync, one lock.
 * After a failed node_commit the transaction is rolled back.
 */
FALLIBLE enum err node_begin(struct store_conn *c, struct errinfo *e);
FALLIBLE enum err node_commit(struct store_conn *c, struct errinfo *e);
void node_rollback(struct store_conn *c);

#endif

/*
 * Connections to the three database files in D/db:
 *
 *   ctl.db   tenants, keys, sandboxes, ports, audit   synchronous FULL
 *   node.db  executions, processes, contexts          synchronous NORMAL
 *   logs.db  output as numbered chunks                synchronous NORMAL
 *
 * A thread that uses the store owns one struct store_conn; connections share
 * nothing but one mutex per file round writing transactions (busy_timeout
 * alone is unfair under load). Statements are prepared once per connection.
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <stdbool.h>

#include "base/err.h"
#include "base/own.h"

enum store_db { STORE_CTL, STORE_NODE, STORE_LOGS };

#define STORE_DBS 3

struct store_conn;
struct store_ckpt;

/**
 * store_open(data_dir, c, e):
 * Open the three files of ${data_dir}/db; they must exist.
 * Errors: ERR_NOT_FOUND (no database there), ERR_STATE (its schema is newer
 * than this program, or older: `warren migrate` was not run), ERR_STORE.
 * Threads: a connection belongs to one thread at a time.
 * Blocks: for disk, and up to 5 s for another process' lock, as all below.
 */
FALLIBLE enum err store_open(const char *data_dir, struct store_conn **c,
			     struct errinfo *e);

/** store_close(c): For OWN(store_close) struct store_conn *c = NULL. */
void store_close(struct store_conn **c);

/**
 * store_ckpt_start(data_dir, logs, k, e):
 * A thread that moves the write-ahead logs into the files, so that no
 * writer ever has to. One in each long-lived program; that of logs.db is its
 * writer's affair (${logs}).
 */
FALLIBLE enum err store_ckpt_start(const char *data_dir, bool logs,
				   struct store_ckpt **k, struct errinfo *e);

/** store_ckpt_soon(k): Even if little waits, so that files get shorter. */
void store_ckpt_soon(struct store_ckpt *k);

/** store_ckpt_stop(k): Checkpoint once more and end the thread. */
void store_ckpt_stop(struct store_ckpt **k);

/**
 * db_shrink(c, db, quiet, more, e):
 * Cut some freed pages off a file, if there are many; ${quiet}: nothing is
 * written at present, so all of them. ${more}: it got somewhere.
 */
FALLIBLE enum err db_shrink(struct store_conn *c, enum store_db db, bool quiet,
			    bool *more, struct errinfo *e);

#endif

/*
 * Inside store/ only: a connection, its prepared statements, transactions.
 *
 *	OWN(stmt_end) struct stmt q = STMT_INIT;
 *	enum err r = stmt_use(c, STMT_TENANT_FIND, &q, e);
 *
 *	if (r != ERR_NONE)
 *		return r;
 *	stmt_text(&q, ":name", name);
 *	r = stmt_row(&q, e);
 *
 * A writing statement outside a transaction takes the file's mutex at its
 * first step and gives it back at stmt_end.
 */
#ifndef STORE_STMT_H
#define STORE_STMT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/ctl_limit.h"
#include "store/db.h"

enum stmt_id {
#define STMT(name, db, role, sql) STMT_##name,
#include "store/stmt.def"
#undef STMT
	STMT_COUNT
};

enum stmt_role { STMT_TENANT, STMT_SANDBOX, STMT_SYSTEM };

struct stmt_info {
	const char *name;
	const char *sql;
	enum store_db db;
	enum stmt_role role;
};

extern const struct stmt_info stmt_table[STMT_COUNT];

struct store_conn {
	sqlite3 *db[STORE_DBS];
	bool in_tx[STORE_DBS];
	sqlite3_stmt *stmts[STMT_COUNT];
};

/* One use of a prepared statement. */
struct stmt {
	struct store_conn *c;
	sqlite3_stmt *s;
	enum store_db db;
	bool locked;
	bool failed; /* a value could not be bound or copied: no memory */
};

#define STMT_INIT                                                              \
	{                                                                      \
		.s = NULL                                                      \
	}

/* ---- db.c ---- */

/** db_path(data_dir, db, suffix, out, size, e): D/db/ctl.db and suffix. */
FALLIBLE enum err db_path(const char *data_dir, enum store_db db,
			  const char *suffix, char *out, size_t size,
			  struct errinfo *e);

/**
 * db_open(data_dir, db, flags, out, e):
 * One configured handle. ${flags}: SQLITE_OPEN_*.
 */
FALLIBLE enum err db_open(const char *data_dir, enum store_db db, int flags,
			  sqlite3 **out, struct errinfo *e);

/** db_fail(h, what, e): The handle's last error as ours. */
enum err db_fail(sqlite3 *h, const char *what, struct errinfo *e);

/** db_exec(h, sql, e): Run constant SQL without rows. */
FALLIBLE enum err db_exec(sqlite3 *h, const char *sql, struct errinfo *e);

/** db_int(h, sql, out, e): The one number that constant SQL answers. */
FALLIBLE enum err db_int(sqlite3 *h, const char *sql, int64_t *out,
			 struct errinfo *e);

/** db_close(h): For OWN(db_close) sqlite3 *h = NULL. */
void db_close(sqlite3 **h);

/** db_lock(db), db_unlock(db): The process' writers, one after another. */
void db_lock(enum store_db db);
void db_unlock(enum store_db db);

/* ---- stmt.c ---- */

/** stmt_use(c, id, q, e): Begin to use a statement; prepares it once. */
FALLIBLE enum err stmt_use(struct store_conn *c, enum stmt_id id,
			   struct stmt *q, struct errinfo *e);

/** stmt_end(q): Done with it; fine when it was never begun. */
void stmt_end(struct stmt *q);

/**
 * stmt_text(q, param, v), …: Bind; a parameter the SQL has not is a bug of
 * ours. Borrowed: ${v} must live until stmt_end. NULL is bound as "".
 */
void stmt_text(struct stmt *q, const char *param, const char *v);
void stmt_int(struct stmt *q, const char *param, int64_t v);
void stmt_blob(struct stmt *q, const char *param, const void *p, size_t n);

/** stmt_cut(q, param, v, max): Bind at most ${max} bytes, whole characters. */
void stmt_cut(struct stmt *q, const char *param, const char *v, size_t max);

/** stmt_step(q, row, e): The next row; ${row} is false at the end. */
FALLIBLE enum err stmt_step(struct stmt *q, bool *row, struct errinfo *e);

/** stmt_row(q, e): A row must come. Errors: ERR_NOT_FOUND. */
FALLIBLE enum err stmt_row(struct stmt *q, struct errinfo *e);

/**
 * stmt_run(q, changes, e):
 * Run a writing statement to its end; rows changed in ${changes} (or NULL).
 * Errors: ERR_EXISTS when a key is taken.
 */
FALLIBLE enum err stmt_run(struct stmt *q, uint64_t *changes,
			   struct errinfo *e);

/** stmt_col_*(q, i): Column ${i} of the present row. */
int64_t stmt_col_int(struct stmt *q, int i);
void stmt_col_copy(struct stmt *q, int i, char *out, size_t size);
const char *stmt_col_text(struct stmt *q, int i);
const void *stmt_col_blob(struct stmt *q, int i, size_t *n);

/** stmt_col_dup(q, i): A copy from malloc; NULL and failed set when there is
 * no memory: check stmt_copied() after the row. */
char *stmt_col_dup(struct stmt *q, int i);

/** stmt_copied(q, e): All columns so far were copied. Errors: ERR_NOMEM. */
FALLIBLE enum err stmt_copied(const struct stmt *q, struct errinfo *e);

/**
 * stmt_grow(rows, n, size, e):
 * Room for row ${n} of an array that grows by doubling.
 */
FALLIBLE enum err stmt_grow(void *rows, size_t n, size_t size,
			    struct errinfo *e);

/* ---- transactions ---- */

struct tx {
	struct store_conn *c; /* NULL: not open */
	enum store_db db;
};

#define TX_INIT                                                                \
	{                                                                      \
		.c = NULL                                                      \
	}

/** tx_begin(t, c, db, e): For OWN(tx_end) struct tx t = TX_INIT. */
FALLIBLE enum err tx_begin(struct tx *t, struct store_conn *c, enum store_db db,
			   struct errinfo *e);
FALLIBLE enum err tx_commit(struct tx *t, struct errinfo *e);

/** tx_end(t): Roll back what was not committed. */
void tx_end(struct tx *t);

#endif

#include <stdlib.h>
#include <string.h>

#include "store/stmt.h"

const struct stmt_info stmt_table[STMT_COUNT] = {
#define STMT(name, db, role, sql) {#name, sql, STORE_##db, STMT_##role},
#include "store/stmt.def"
#undef STMT
};

enum err stmt_use(struct store_conn *c, enum stmt_id id, struct stmt *q,
		  struct errinfo *e)
{
	const struct stmt_info *info = &stmt_table[id];
	sqlite3 *h = c->db[info->db];

	if (c->stmts[id] == NULL &&
	    sqlite3_prepare_v3(h, info->sql, -1, SQLITE_PREPARE_PERSISTENT,
			       &c->stmts[id], NULL) != SQLITE_OK)
		return db_fail(h, info->name, e);
	must(!sqlite3_stmt_busy(c->stmts[id]));
	*q = (struct stmt){.c = c, .s = c->stmts[id], .db = info->db};
	return ERR_NONE;
}

void stmt_end(struct stmt *q)
{
	if (q->s == NULL)
		return;
	sqlite3_reset(q->s);
	sqlite3_clear_bindings(q->s);
	if (q->locked)
		db_unlock(q->db);
	*q = (struct stmt)STMT_INIT;
}

static int stmt_param(struct stmt *q, const char *param)
{
	int i = sqlite3_bind_parameter_index(q->s, param);

	must(i > 0);
	return i;
}

static void stmt_bytes(struct stmt *q, const char *param, const char *v,
		       size_t n)
{
	if (sqlite3_bind_text64(q->s, stmt_param(q, param), v, n, SQLITE_STATIC,
				SQLITE_UTF8) != SQLITE_OK)
		q->failed = true;
}

void stmt_text(struct stmt *q, const char *param, const char *v)
{
	if (v == NULL)
		v = "";
	stmt_bytes(q, param, v, strlen(v));
}

void stmt_cut(struct stmt *q, const char *param, const char *v, size_t max)
{
	size_t n;

	if (v == NULL)
		v = "";
	n = strlen(v);
	if (n > max) {
		n = max;
		while (n > 0 && ((unsigned char)v[n] & 0xc0) == 0x80)
			n--;
	}
	stmt_bytes(q, param, v, n);
}

void stmt_int(struct stmt *q, const char *param, int64_t v)
{
	if (sqlite3_bind_int64(q->s, stmt_param(q, param), v) != SQLITE_OK)
		q->failed = true;
}

void stmt_blob(struct stmt *q, const char *param, const void *p, size_t n)
{
	/* A NULL pointer would bind NULL, not zero bytes. */
	if (n == 0)
		p = "";
	if (sqlite3_bind_blob64(q->s, stmt_param(q, param), p, n,
				SQLITE_STATIC) != SQLITE_OK)
		q->failed = true;
}

enum err stmt_step(struct stmt *q, bool *row, struct errinfo *e)
{
	int code;

	if (q->failed)
		return err_set(e, ERR_NOMEM, 0, "bind");
	if (!q->locked && !q->c->in_tx[q->db] && !sqlite3_stmt_readonly(q->s)) {
		db_lock(q->db);
		q->locked = true;
	}
	code = sqlite3_step(q->s);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return db_fail(q->c->db[q->db], "step", e);
	*row = code == SQLITE_ROW;
	return ERR_NONE;
}

enum err stmt_row(struct stmt *q, struct errinfo *e)
{
	bool row;
	enum err r = stmt_step(q, &row, e);

	if (r == ERR_NONE && !row)
		return err_set(e, ERR_NOT_FOUND, 0, "no such row");
	return r;
}

enum err stmt_run(struct stmt *q, uint64_t *changes, struct errinfo *e)
{
	bool row = true;

	while (row) {
		enum err r = stmt_step(q, &row, e);

		if (r != ERR_NONE)
			return r;
	}
	if (changes != NULL)
		*changes = (uint64_t)sqlite3_changes64(q->c->db[q->db]);
	return ERR_NONE;
}

int64_t stmt_col_int(struct stmt *q, int i)
{
	return sqlite3_column_int64(q->s, i);
}

const char *stmt_col_text(struct stmt *q, int i)
{
	const unsigned char *v = sqlite3_column_text(q->s, i);

	return v != NULL ? (const char *)v : "";
}

const void *stmt_col_blob(struct stmt *q, int i, size_t *n)
{
	const void *p = sqlite3_column_blob(q->s, i);

	*n = (size_t)sqlite3_column_bytes(q->s, i);
	return p != NULL ? p : "";
}

void stmt_col_copy(struct stmt *q, int i, char *out, size_t size)
{
	const char *v = stmt_col_text(q, i);
	size_t n = strnlen(v, size - 1);

	memcpy(out, v, n);
	out[n] = '\0';
}

char *stmt_col_dup(struct stmt *q, int i)
{
	char *v = strdup(stmt_col_text(q, i));

	if (v == NULL)
		q->failed = true;
	return v;
}

enum err stmt_copied(const struct stmt *q, struct errinfo *e)
{
	if (q->failed)
		return err_set(e, ERR_NOMEM, 0, "row");
	return ERR_NONE;
}

enum err stmt_grow(void *rows, size_t n, size_t size, struct errinfo *e)
{
	void **p = rows;
	void *more;

	/* Full at 0 and at each power of two from 8 on. */
	if (n != 0 && (n < 8 || (n & (n - 1)) != 0))
		return ERR_NONE;
	more = reallocarray(*p, n == 0 ? 8 : n * 2, size);
	if (more == NULL)
		return err_set(e, ERR_NOMEM, 0, "rows");
	*p = more;
	return ERR_NONE;
}

/* ---- transactions ---- */

static const enum stmt_id tx_begin_id[STORE_DBS] = {
    STMT_CTL_BEGIN, STMT_NODE_BEGIN, STMT_LOGS_BEGIN};
static const enum stmt_id tx_commit_id[STORE_DBS] = {
    STMT_CTL_COMMIT, STMT_NODE_COMMIT, STMT_LOGS_COMMIT};
static const enum stmt_id tx_rollback_id[STORE_DBS] = {
    STMT_CTL_ROLLBACK, STMT_NODE_ROLLBACK, STMT_LOGS_ROLLBACK};

static enum err tx_do(struct store_conn *c, enum stmt_id id, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, id, &q, e);
	bool row;

	return r == ERR_NONE ? stmt_step(&q, &row, e) : r;
}

/* Prepared before it is needed: giving up must not need memory. */
static enum err tx_prepare(struct store_conn *c, enum store_db db,
			   struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;

	return stmt_use(c, tx_rollback_id[db], &q, e);
}

enum err tx_begin(struct tx *t, struct store_conn *c, enum store_db db,
		  struct errinfo *e)
{
	enum err r = tx_prepare(c, db, e);

	if (r != ERR_NONE)
		return r;
	must(!c->in_tx[db]);
	db_lock(db);
	c->in_tx[db] = true;
	r = tx_do(c, tx_begin_id[db], e);
	if (r != ERR_NONE) {
		c->in_tx[db] = false;
		db_unlock(db);
		return r;
	}
	*t = (struct tx){.c = c, .db = db};
	return ERR_NONE;
}

enum err tx_commit(struct tx *t, struct errinfo *e)
{
	enum err r = tx_do(t->c, tx_commit_id[t->db], e);

	if (r != ERR_NONE)
		return r;
	t->c->in_tx[t->db] = false;
	db_unlock(t->db);
	t->c = NULL;
	return ERR_NONE;
}

void tx_end(struct tx *t)
{
	struct errinfo e;

	if (t->c == NULL)
		return;
	/* Some failures have rolled back already. */
	if (!sqlite3_get_autocommit(t->c->db[t->db]) &&
	    tx_do(t->c, tx_rollback_id[t->db], &e) != ERR_NONE)
		must(sqlite3_get_autocommit(t->c->db[t->db]));
	t->c->in_tx[t->db] = false;
	db_unlock(t->db);
	t->c = NULL;
}

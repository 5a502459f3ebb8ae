#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/db.h"
#include "store/migrate.h"
#include "store/stmt.h"

#define DB_BUSY_MS 5000
#define DB_PIECE_BYTES 512
#define DB_PIECES 48

static const char *const db_names[STORE_DBS] = {
    [STORE_CTL] = "ctl.db",
    [STORE_NODE] = "node.db",
    [STORE_LOGS] = "logs.db",
};

static pthread_mutex_t db_mutex[STORE_DBS] = {
    PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER,
};

static pthread_once_t db_once = PTHREAD_ONCE_INIT;

/*
 * Counting memory would take one lock for all threads at each malloc. Each
 * handle keeps 120 KiB for small pieces unless it is told otherwise, and a
 * worker has many.
 */
static void db_init(void)
{
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	sqlite3_config(SQLITE_CONFIG_LOOKASIDE, DB_PIECE_BYTES, DB_PIECES);
}

void db_lock(enum store_db db)
{
	must(pthread_mutex_lock(&db_mutex[db]) == 0);
}

void db_unlock(enum store_db db)
{
	must(pthread_mutex_unlock(&db_mutex[db]) == 0);
}

enum err db_path(const char *data_dir, enum store_db db, const char *suffix,
		 char *out, size_t size, struct errinfo *e)
{
	int n = snprintf(out, size, "%s/db/%s%s", data_dir, db_names[db],
			 suffix);

	if (n < 0 || (size_t)n >= size)
		return err_set(e, ERR_ARG, 0, "data directory's name too long");
	return ERR_NONE;
}

enum err db_fail(sqlite3 *h, const char *what, struct errinfo *e)
{
	int code = h != NULL ? sqlite3_extended_errcode(h) : SQLITE_NOMEM;
	const char *text = h != NULL ? sqlite3_errmsg(h) : "no memory";

	if ((code & 0xff) == SQLITE_NOMEM)
		return err_set(e, ERR_NOMEM, 0, "%s", what);
	if (code == SQLITE_CONSTRAINT_UNIQUE ||
	    code == SQLITE_CONSTRAINT_PRIMARYKEY)
		return err_set(e, ERR_EXISTS, 0, "%s: %s", what, text);
	return err_set(e, ERR_STORE, 0, "%s: %s (%d)", what, text, code);
}

enum err db_exec(sqlite3 *h, const char *sql, struct errinfo *e)
{
	if (sqlite3_exec(h, sql, NULL, NULL, NULL) != SQLITE_OK)
		return db_fail(h, "exec", e);
	return ERR_NONE;
}

enum err db_int(sqlite3 *h, const char *sql, int64_t *out, struct errinfo *e)
{
	sqlite3_stmt *s = NULL;
	enum err r = ERR_NONE;

	if (sqlite3_prepare_v2(h, sql, -1, &s, NULL) != SQLITE_OK)
		return db_fail(h, "prepare", e);
	if (sqlite3_step(s) == SQLITE_ROW)
		*out = sqlite3_column_int64(s, 0);
	else
		r = db_fail(h, "read", e);
	sqlite3_finalize(s);
	return r;
}

void db_close(sqlite3 **h)
{
	if (*h != NULL)
		must(sqlite3_close(*h) == SQLITE_OK);
	*h = NULL;
}

static enum err db_configure(sqlite3 *h, enum store_db db, struct errinfo *e)
{
	enum err r;

	sqlite3_busy_timeout(h, DB_BUSY_MS);
	sqlite3_db_config(h, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(h, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	r = db_exec(h,
		    "PRAGMA journal_mode = WAL;"
		    "PRAGMA wal_autocheckpoint = 0;"
		    "PRAGMA foreign_keys = ON;",
		    e);
	if (r != ERR_NONE)
		return r;
	return db_exec(h,
		       db == STORE_CTL ? "PRAGMA synchronous = FULL"
				       : "PRAGMA synchronous = NORMAL",
		       e);
}

enum err db_open(const char *data_dir, enum store_db db, int flags,
		 sqlite3 **out, struct errinfo *e)
{
	OWN(db_close) sqlite3 *h = NULL;
	char path[PATH_MAX];
	enum err r = db_path(data_dir, db, "", path, sizeof(path), e);

	if (r != ERR_NONE)
		return r;
	pthread_once(&db_once, db_init);
	flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
		 SQLITE_OPEN_PRIVATECACHE;
	if ((flags & SQLITE_OPEN_CREATE) == 0 && access(path, F_OK) != 0)
		return err_set(e, ERR_NOT_FOUND, 0, "no database %.180s", path);
	if (sqlite3_open_v2(path, &h, flags, NULL) != SQLITE_OK)
		return db_fail(h, path, e);
	/* It counts for a file that is still empty, and only then. */
	if ((flags & SQLITE_OPEN_CREATE) != 0)
		r = db_exec(h, "PRAGMA auto_vacuum = INCREMENTAL", e);
	if (r == ERR_NONE)
		r = db_configure(h, db, e);
	if (r == ERR_NONE)
		*out = STEAL(h);
	return r;
}

static enum err db_version(sqlite3 *h, enum store_db db, struct errinfo *e)
{
	int64_t have = 0;
	int want = migrate_count(db);
	enum err r = db_int(h, "PRAGMA user_version", &have, e);

	if (r != ERR_NONE)
		return r;
	if (have > want)
		return err_set(e, ERR_STATE, 0, "%s is newer than this program",
			       db_names[db]);
	if (have < want)
		return err_set(e, ERR_STATE, 0,
			       "%s is older than this program: run warren "
			       "migrate",
			       db_names[db]);
	return ERR_NONE;
}

enum err store_open(const char *data_dir, struct store_conn **c,
		    struct errinfo *e)
{
	OWN(store_close) struct store_conn *n = calloc(1, sizeof(*n));

	if (n == NULL)
		return err_set(e, ERR_NOMEM, 0, "store connection");
	for (int i = 0; i < STORE_DBS; i++) {
		enum store_db db = (enum store_db)i;
		enum err r = db_open(data_dir, db, SQLITE_OPEN_READWRITE,
				     &n->db[i], e);

		if (r == ERR_NONE)
			r = db_version(n->db[i], db, e);
		if (r != ERR_NONE)
			return r;
	}
	*c = STEAL(n);
	return ERR_NONE;
}

void store_close(struct store_conn **c)
{
	if (*c == NULL)
		return;
	for (int i = 0; i < STMT_COUNT; i++)
		sqlite3_finalize((*c)->stmts[i]);
	for (int i = 0; i < STORE_DBS; i++) {
		must(!(*c)->in_tx[i]);
		db_close(&(*c)->db[i]);
	}
	free(*c);
	*c = NULL;
}

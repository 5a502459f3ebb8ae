#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/migrate.h"
#include "store/stmt.h"

#define MIGRATE_HASH_BYTES 32

static const char *const migrate_prefix[STORE_DBS] = {
    [STORE_CTL] = "ctl_",
    [STORE_NODE] = "node_",
    [STORE_LOGS] = "logs_",
};

static bool migrate_is_of(const struct migration *m, enum store_db db)
{
	return strncmp(m->name, migrate_prefix[db],
		       strlen(migrate_prefix[db])) == 0;
}

/* The nth migration (from 0) of a file, or NULL. */
static const struct migration *migrate_nth(enum store_db db, int64_t n)
{
	for (size_t i = 0; i < migrate_embedded_count; i++)
		if (migrate_is_of(&migrate_embedded[i], db) && n-- == 0)
			return &migrate_embedded[i];
	return NULL;
}

int migrate_count(enum store_db db)
{
	int n = 0;

	while (migrate_nth(db, n) != NULL)
		n++;
	return n;
}

void migrate_hash(const struct migration *m, char out[MIGRATE_HASH_LEN + 1])
{
	unsigned char hash[MIGRATE_HASH_BYTES];

	crypto_generichash(hash, sizeof(hash), (const unsigned char *)m->sql,
			   m->len, NULL, 0);
	sodium_bin2hex(out, MIGRATE_HASH_LEN + 1, hash, sizeof(hash));
}

static void migrate_finalize(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}

/* Are the recorded migrations the first ones that this program knows? */
static enum err migrate_check(sqlite3 *h, enum store_db db, struct errinfo *e)
{
	OWN(migrate_finalize) sqlite3_stmt *s = NULL;
	char hash[MIGRATE_HASH_LEN + 1];
	int64_t n = 0, there = 0;
	int code;
	enum err r = db_int(h,
			    "SELECT count(*) FROM sqlite_schema "
			    "WHERE name = 'schema_migrations'",
			    &there, e);

	if (r != ERR_NONE || there == 0)
		return r;
	if (sqlite3_prepare_v2(h,
			       "SELECT name, hash FROM schema_migrations "
			       "ORDER BY name",
			       -1, &s, NULL) != SQLITE_OK)
		return db_fail(h, "schema_migrations", e);
	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		const struct migration *m = migrate_nth(db, n++);
		const char *name = (const char *)sqlite3_column_text(s, 0);
		const char *had = (const char *)sqlite3_column_text(s, 1);

		if (name == NULL || had == NULL)
			return db_fail(NULL, "schema_migrations", e);
		if (m == NULL || strcmp(m->name, name) != 0)
			return err_set(
			    e, ERR_STATE, 0,
			    "the database has migration %.80s, which "
			    "this program does not know: it was made "
			    "by a newer one",
			    name);
		migrate_hash(m, hash);
		if (strcmp(had, hash) != 0)
			return err_set(
			    e, ERR_STATE, 0,
			    "migration %.80s was another text when it "
			    "was applied",
			    name);
	}
	return code == SQLITE_DONE ? ERR_NONE
				   : db_fail(h, "schema_migrations", e);
}

static enum err migrate_record(sqlite3 *h, const struct migration *m,
			       struct errinfo *e)
{
	OWN(migrate_finalize) sqlite3_stmt *s = NULL;
	char hash[MIGRATE_HASH_LEN + 1];

	migrate_hash(m, hash);
	if (sqlite3_prepare_v2(h,
			       "INSERT INTO schema_migrations VALUES (?1, ?2, "
			       "?3)",
			       -1, &s, NULL) != SQLITE_OK)
		return db_fail(h, m->name, e);
	sqlite3_bind_text(s, 1, m->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, hash, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 3, clock_unix_ms());
	if (sqlite3_step(s) != SQLITE_DONE)
		return db_fail(h, m->name, e);
	return ERR_NONE;
}

/* Inside a transaction: the next migration if it is still missing. */
static enum err migrate_step(sqlite3 *h, enum store_db db, bool *more,
			     struct errinfo *e)
{
	const struct migration *m;
	char version[64];
	int64_t n = 0;
	enum err r = db_int(h, "PRAGMA user_version", &n, e);

	*more = false;
	if (r != ERR_NONE)
		return r;
	m = migrate_nth(db, n);
	if (m == NULL)
		return ERR_NONE;
	r = db_exec(h,
		    "CREATE TABLE IF NOT EXISTS schema_migrations ("
		    "name TEXT NOT NULL PRIMARY KEY, hash TEXT NOT NULL, "
		    "applied_at INTEGER NOT NULL) STRICT",
		    e);
	if (r == ERR_NONE)
		r = db_exec(h, m->sql, e);
	if (r == ERR_NONE)
		r = migrate_record(h, m, e);
	snprintf(version, sizeof(version), "PRAGMA user_version = %lld",
		 (long long)n + 1);
	if (r == ERR_NONE)
		r = db_exec(h, version, e);
	*more = true;
	return r;
}

static enum err migrate_apply(sqlite3 *h, enum store_db db, struct errinfo *e)
{
	bool more = true;

	while (more) {
		enum err r = db_exec(h, "BEGIN IMMEDIATE", e);

		if (r != ERR_NONE)
			return r;
		r = migrate_step(h, db, &more, e);
		if (r == ERR_NONE)
			r = db_exec(h, "COMMIT", e);
		if (r != ERR_NONE) {
			sqlite3_exec(h, "ROLLBACK", NULL, NULL, NULL);
			return r;
		}
	}
	return ERR_NONE;
}

/* A file from before it could give space back is written anew. */
static enum err migrate_vacuum(sqlite3 *h, enum store_db db, struct errinfo *e)
{
	int64_t mode = 0;
	enum err r = db_int(h, "PRAGMA auto_vacuum", &mode, e);

	if (r != ERR_NONE || mode != 0 || db == STORE_CTL)
		return r;
	return db_exec(h, "PRAGMA auto_vacuum = INCREMENTAL; VACUUM", e);
}

static void migrate_close(sqlite3 **h)
{
	for (int i = 0; i < STORE_DBS; i++)
		db_close(&h[i]);
}

static enum err migrate_versions(sqlite3 **h, int64_t *versions,
				 struct errinfo *e)
{
	enum err r = ERR_NONE;

	for (int i = 0; i < STORE_DBS && r == ERR_NONE; i++)
		r = db_int(h[i], "PRAGMA user_version", &versions[i], e);
	return r;
}

static enum err migrate_files(const char *data_dir, sqlite3 **h,
			      struct migrate_done *done, struct errinfo *e)
{
	enum err r = ERR_NONE;

	for (int i = 0; i < STORE_DBS && r == ERR_NONE; i++) {
		r = db_open(data_dir, (enum store_db)i,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &h[i],
			    e);
		if (r == ERR_NONE)
			r = migrate_check(h[i], (enum store_db)i, e);
	}
	if (r == ERR_NONE)
		r = migrate_versions(h, done->before, e);
	for (int i = 0; i < STORE_DBS && r == ERR_NONE; i++)
		r = migrate_apply(h[i], (enum store_db)i, e);
	for (int i = 0; i < STORE_DBS && r == ERR_NONE; i++)
		r = migrate_vacuum(h[i], (enum store_db)i, e);
	return r == ERR_NONE ? migrate_versions(h, done->now, e) : r;
}

enum err migrate_all(const char *data_dir, struct migrate_done *done,
		     struct errinfo *e)
{
	sqlite3 *h[STORE_DBS] = {NULL};
	struct migrate_done n;
	enum err r = migrate_files(data_dir, h, &n, e);

	migrate_close(h);
	if (r == ERR_NONE && done != NULL)
		*done = n;
	return r;
}

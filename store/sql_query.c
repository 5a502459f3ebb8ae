#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "store/sql_query.h"
#include "store/stmt.h"

#define SQL_COLUMNS_MAX 256
#define SQL_VALUE_MAX (8 << 20)
#define SQL_PROGRESS_STEPS 1000

static const struct {
	const char *name;
	const char *sql;
} sql_views[] = {
#define VIEW(name, sql) {#name, "CREATE TEMP VIEW " #name " AS " sql},
#include "store/sql_views.def"
#undef VIEW
};

#define VIEWS (sizeof(sql_views) / sizeof(sql_views[0]))

/* Tables that may be read, by a view or directly; all others may not. */
static const char *const sql_tables[] = {
    "tenants",  "api_keys",      "sandboxes", "ports",        "audit",
    "plans",    "tenant_limits", "denials",   "executions",   "processes",
    "contexts", "logs",          "chunks",    "sandbox_logs", "sessions",
    "backups",  "port_hits"};

#define TABLES (sizeof(sql_tables) / sizeof(sql_tables[0]))

static const char *const sql_secrets[][2] = {
    {"api_keys", "hash"},   {"sandboxes", "env"}, {"ports", "token"},
    {"file_links", "hash"}, {"contexts", "env"},  {"sessions", "env"}};

#define SECRETS (sizeof(sql_secrets) / sizeof(sql_secrets[0]))

static int sql_read_ok(const char *table, const char *column, const char *db)
{
	if (table == NULL || column == NULL)
		return SQLITE_DENY;
	for (size_t i = 0; i < SECRETS; i++)
		if (strcasecmp(table, sql_secrets[i][0]) == 0 &&
		    strcasecmp(column, sql_secrets[i][1]) == 0)
			return SQLITE_DENY;
	/* json_each is a table that makes its rows from its arguments. */
	if (strcmp(table, "json_each") == 0 || strcmp(table, "json_tree") == 0)
		return SQLITE_OK;
	if (db != NULL && strcmp(db, "temp") == 0) {
		for (size_t i = 0; i < VIEWS; i++)
			if (strcmp(table, sql_views[i].name) == 0)
				return SQLITE_OK;
		return SQLITE_DENY;
	}
	for (size_t i = 0; i < TABLES; i++)
		if (strcmp(table, sql_tables[i]) == 0)
			return SQLITE_OK;
	/* A subquery or a common table expression has no database. */
	return db == NULL ? SQLITE_OK : SQLITE_DENY;
}

static int sql_authorize(void *arg, int action, const char *a, const char *b,
			 const char *db, const char *inner)
{
	(void)arg;
	(void)inner;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_READ:
		return sql_read_ok(a, b, db);
	case SQLITE_FUNCTION:
		if (b == NULL || strcasecmp(b, "load_extension") == 0)
			return SQLITE_DENY;
		return SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

static int sql_progress(void *arg)
{
	const int64_t *deadline = arg;

	return clock_mono_ms() >= *deadline;
}

static void sql_finalize(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}

static enum err sql_attach(sqlite3 *h, const char *data_dir, enum store_db db,
			   const char *sql, struct errinfo *e)
{
	OWN(sql_finalize) sqlite3_stmt *s = NULL;
	char path[PATH_MAX];
	enum err r = db_path(data_dir, db, "", path, sizeof(path), e);

	if (r != ERR_NONE)
		return r;
	if (sqlite3_prepare_v2(h, sql, -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_bind_text(s, 1, path, -1, SQLITE_STATIC) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_DONE)
		return db_fail(h, path, e);
	return ERR_NONE;
}

static void sql_limit(sqlite3 *h)
{
	sqlite3_busy_timeout(h, 1000);
	sqlite3_limit(h, SQLITE_LIMIT_LENGTH, SQL_VALUE_MAX);
	sqlite3_limit(h, SQLITE_LIMIT_SQL_LENGTH, SQL_TEXT_MAX);
	sqlite3_limit(h, SQLITE_LIMIT_COLUMN, SQL_COLUMNS_MAX);
	sqlite3_limit(h, SQLITE_LIMIT_COMPOUND_SELECT, 50);
	sqlite3_limit(h, SQLITE_LIMIT_ATTACHED, 2);
	sqlite3_limit(h, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000);
	sqlite3_limit(h, SQLITE_LIMIT_WORKER_THREADS, 0);
	sqlite3_db_config(h, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(h, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	/* "x" that is no column is an error, not the text x. */
	sqlite3_db_config(h, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
}

/* Read-only files; only the views in the handle's own temp schema are made. */
static enum err sql_open(const char *data_dir, sqlite3 **out, struct errinfo *e)
{
	OWN(db_close) sqlite3 *h = NULL;
	char path[PATH_MAX];
	enum err r = db_path(data_dir, STORE_CTL, "", path, sizeof(path), e);
	int code;

	if (r != ERR_NONE)
		return r;
	code = sqlite3_open_v2(path, &h,
			       SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX |
				   SQLITE_OPEN_PRIVATECACHE |
				   SQLITE_OPEN_EXRESCODE,
			       NULL);
	if ((code & 0xff) == SQLITE_CANTOPEN)
		return err_set(e, ERR_NOT_FOUND, 0, "no database %.180s", path);
	if (code != SQLITE_OK)
		return db_fail(h, path, e);
	sql_limit(h);
	r = sql_attach(h, data_dir, STORE_NODE, "ATTACH ?1 AS node", e);
	if (r == ERR_NONE)
		r = sql_attach(h, data_dir, STORE_LOGS, "ATTACH ?1 AS logs", e);
	for (size_t i = 0; i < VIEWS && r == ERR_NONE; i++)
		r = db_exec(h, sql_views[i].sql, e);
	/* These two are declared at their first use, by a CREATE of theirs. */
	if (r == ERR_NONE)
		r = db_exec(h,
			    "SELECT 1 FROM json_each('[]');"
			    "SELECT 1 FROM json_tree('[]');"
			    "PRAGMA query_only = ON",
			    e);
	if (r != ERR_NONE)
		return r;
	sqlite3_set_authorizer(h, sql_authorize, NULL);
	*out = STEAL(h);
	return ERR_NONE;
}

/* SQLite's failure of a stranger's SQL, told so that it helps. */
static enum err sql_fail(sqlite3 *h, struct errinfo *e)
{
	int code = sqlite3_extended_errcode(h);

	switch (code & 0xff) {
	case SQLITE_AUTH:
		return err_set(e, ERR_DENIED, 0, "not allowed: %s",
			       sqlite3_errmsg(h));
	case SQLITE_INTERRUPT:
		return err_set(e, ERR_TIMEOUT, 0, "the query took too long");
	case SQLITE_TOOBIG:
		return err_set(e, ERR_LIMIT, 0, "%s", sqlite3_errmsg(h));
	case SQLITE_ERROR:
	case SQLITE_MISMATCH:
	case SQLITE_RANGE:
		return err_set(e, ERR_ARG, 0, "%s", sqlite3_errmsg(h));
	default:
		return db_fail(h, "query", e);
	}
}

static enum err sql_prepare(sqlite3 *h, const char *text, sqlite3_stmt **out,
			    struct errinfo *e)
{
	OWN(sql_finalize) sqlite3_stmt *s = NULL;
	OWN(sql_finalize) sqlite3_stmt *second = NULL;
	const char *tail = text;

	if (sqlite3_prepare_v2(h, text, -1, &s, &tail) != SQLITE_OK)
		return sql_fail(h, e);
	if (s == NULL)
		return err_set(e, ERR_ARG, 0, "there is no statement");
	if (!sqlite3_stmt_readonly(s))
		return err_set(e, ERR_DENIED, 0, "only SELECT is allowed");
	while (*tail != '\0') {
		if (sqlite3_prepare_v2(h, tail, -1, &second, &tail) !=
			SQLITE_OK ||
		    second != NULL)
			return err_set(e, ERR_ARG, 0,
				       "only one statement is allowed");
	}
	*out = STEAL(s);
	return ERR_NONE;
}

static enum err sql_head(sqlite3_stmt *s, const struct sql_sink *sink,
			 struct errinfo *e)
{
	const char *names[SQL_COLUMNS_MAX];
	int n = sqlite3_column_count(s);

	for (int i = 0; i < n; i++) {
		names[i] = sqlite3_column_name(s, i);
		if (names[i] == NULL)
			return err_set(e, ERR_NOMEM, 0, "column name");
	}
	return sink->head(sink->arg, names, (size_t)n, e);
}

static uint64_t sql_value(sqlite3_stmt *s, int i, struct sql_value *v)
{
	*v = (struct sql_value){.type = SQL_NULL};
	switch (sqlite3_column_type(s, i)) {
	case SQLITE_INTEGER:
		v->type = SQL_INT;
		v->i = sqlite3_column_int64(s, i);
		return sizeof(v->i);
	case SQLITE_FLOAT:
		v->type = SQL_REAL;
		v->real = sqlite3_column_double(s, i);
		return sizeof(v->real);
	case SQLITE_TEXT:
		v->type = SQL_TEXT;
		v->data = (const char *)sqlite3_column_text(s, i);
		break;
	case SQLITE_BLOB:
		v->type = SQL_BLOB;
		v->data = sqlite3_column_blob(s, i);
		break;
	default:
		return 1;
	}
	v->len = (size_t)sqlite3_column_bytes(s, i);
	if (v->data == NULL)
		v->data = "";
	return v->len + 1;
}

static enum err sql_rows(sqlite3 *h, sqlite3_stmt *s,
			 const struct sql_caps *caps,
			 const struct sql_sink *sink, struct errinfo *e)
{
	struct sql_value values[SQL_COLUMNS_MAX];
	uint64_t rows = 0, bytes = 0;
	int n = sqlite3_column_count(s), code;

	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		enum err r;

		if (rows++ == caps->rows_max)
			return err_set(e, ERR_LIMIT, 0,
				       "more than %llu rows; the rest is cut",
				       (unsigned long long)caps->rows_max);
		for (int i = 0; i < n; i++)
			bytes += sql_value(s, i, &values[i]);
		if (bytes > caps->bytes_max)
			return err_set(e, ERR_LIMIT, 0,
				       "more than %llu bytes; the rest is cut",
				       (unsigned long long)caps->bytes_max);
		r = sink->row(sink->arg, values, (size_t)n, e);
		if (r != ERR_NONE)
			return r;
	}
	return code == SQLITE_DONE ? ERR_NONE : sql_fail(h, e);
}

enum err sql_query_run(const char *data_dir, const char *text,
		       const struct sql_caps *caps, const struct sql_sink *sink,
		       struct errinfo *e)
{
	OWN(db_close) sqlite3 *h = NULL;
	OWN(sql_finalize) sqlite3_stmt *s = NULL;
	int64_t deadline = clock_mono_ms() + caps->time_max_ms;
	enum err r;

	if (strnlen(text, SQL_TEXT_MAX) == SQL_TEXT_MAX)
		return err_set(e, ERR_LIMIT, 0, "the statement is too long");
	r = sql_open(data_dir, &h, e);
	if (r != ERR_NONE)
		return r;
	sqlite3_progress_handler(h, SQL_PROGRESS_STEPS, sql_progress,
				 &deadline);
	r = sql_prepare(h, text, &s, e);
	if (r == ERR_NONE)
		r = sql_head(s, sink, e);
	return r == ERR_NONE ? sql_rows(h, s, caps, sink, e) : r;
}

static enum err sql_view(sqlite3 *h, const char *name,
			 const struct sql_sink *sink, struct errinfo *e)
{
	OWN(buf_free) struct buf columns = BUF_INIT(SQL_TEXT_MAX);
	OWN(sql_finalize) sqlite3_stmt *s = NULL;
	struct sql_value row[2];
	char text[128];
	enum err r;

	snprintf(text, sizeof(text), "SELECT * FROM %s", name);
	r = sql_prepare(h, text, &s, e);
	for (int i = 0; r == ERR_NONE && i < sqlite3_column_count(s); i++) {
		buf_adds(&columns, i > 0 ? ", " : "");
		buf_adds(&columns, sqlite3_column_name(s, i));
	}
	if (r != ERR_NONE)
		return r;
	if (!buf_ok(&columns))
		return err_set(e, ERR_NOMEM, 0, "columns");
	row[0] = (struct sql_value){
	    .type = SQL_TEXT, .data = name, .len = strlen(name)};
	row[1] = (struct sql_value){
	    .type = SQL_TEXT, .data = columns.data, .len = columns.len};
	return sink->row(sink->arg, row, 2, e);
}

enum err sql_query_views(const char *data_dir, const struct sql_sink *sink,
			 struct errinfo *e)
{
	static const char *const head[] = {"view", "columns"};
	OWN(db_close) sqlite3 *h = NULL;
	enum err r = sql_open(data_dir, &h, e);

	if (r == ERR_NONE)
		r = sink->head(sink->arg, head, 2, e);
	for (size_t i = 0; i < VIEWS && r == ERR_NONE; i++)
		r = sql_view(h, sql_views[i].name, sink, e);
	return r;
}

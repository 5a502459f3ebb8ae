/* warren doctor: the databases. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/migrate.h"
#include "store/stmt.h"
#include "store/warren_doctor.h"

#define MIGRATE "warren migrate; if it is newer, a Warren as new as it"
#define CHECK_LIMIT_MS 10000
#define PROGRESS_STEPS 10000

static const char *const health_names[STORE_DBS] = {"ctl.db", "node.db",
						    "logs.db"};

static int out_of_time(void *arg)
{
	const int64_t *deadline = arg;

	return clock_left_ms(*deadline) == 0;
}

static void health_finalize(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}

/* What quick_check says first: "ok", or what is broken. */
static int health_ask(sqlite3 *h, char *text, size_t size)
{
	OWN(health_finalize) sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(h, "PRAGMA quick_check(1)", -1, &s, NULL);

	if (code != SQLITE_OK)
		return code;
	code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		snprintf(text, size, "%s",
			 (const char *)sqlite3_column_text(s, 0));
	return code;
}

static void health_one(struct doctor *d, enum store_db db)
{
	static const char restore[] =
	    "stop the service and put a backup in its place";
	OWN(db_close) sqlite3 *h = NULL;
	int64_t deadline = clock_mono_ms() + CHECK_LIMIT_MS;
	const char *name = health_names[db];
	char text[200] = "";
	struct errinfo e;
	int code;

	if (db_open(d->data, db, SQLITE_OPEN_READONLY, &h, &e) != ERR_NONE) {
		check_add(&d->list, CHECK_MISSING, name, MIGRATE, "%s", e.text);
		return;
	}
	sqlite3_progress_handler(h, PROGRESS_STEPS, out_of_time, &deadline);
	code = health_ask(h, text, sizeof(text));
	if (code == SQLITE_INTERRUPT)
		check_add(&d->list, CHECK_WARN, name,
			  "sqlite3 FILE 'PRAGMA quick_check', with time",
			  "too large to be read in %d s",
			  CHECK_LIMIT_MS / 1000);
	else if (code != SQLITE_ROW)
		check_add(&d->list, CHECK_MISSING, name, restore, "%s",
			  sqlite3_errmsg(h));
	else if (strcmp(text, "ok") != 0)
		check_add(&d->list, CHECK_MISSING, name, restore, "%s", text);
	else
		check_add(&d->list, CHECK_OK, name, "", "schema %d, in order",
			  migrate_count(db));
}

void warren_health(struct doctor *d)
{
	OWN(store_close) struct store_conn *c = NULL;
	struct errinfo e;

	if (store_open(d->data, &c, &e) != ERR_NONE) {
		check_add(&d->list, CHECK_MISSING, "schema", MIGRATE, "%s",
			  e.text);
		return;
	}
	for (int i = 0; i < STORE_DBS; i++)
		health_one(d, (enum store_db)i);
}

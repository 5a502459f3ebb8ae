/*
 * Giving space back. Freed pages are used again first; when many are left
 * over they are cut off the file's end, a few at a time, and the file gets
 * shorter at the next checkpoint that moves everything.
 */
#include <stdio.h>

#include "store/db.h"
#include "store/stmt.h"

#define SHRINK_PAGES 256 /* in one step: 1 MiB */
#define SHRINK_SPARE 256 /* not worth it */

enum err db_shrink(struct store_conn *c, enum store_db db, bool quiet,
		   bool *more, struct errinfo *e)
{
	sqlite3 *h = c->db[db];
	int64_t pages = 0, freed = 0, left = 0;
	char sql[64];
	enum err r = db_int(h, "PRAGMA freelist_count", &freed, e);

	*more = false;
	if (r != ERR_NONE || freed <= SHRINK_SPARE)
		return r;
	r = db_int(h, "PRAGMA page_count", &pages, e);
	/* A log that is full drops and adds all the time: leave it its room. */
	if (r != ERR_NONE || (!quiet && freed <= pages / 4))
		return r;
	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)",
		 SHRINK_PAGES);
	db_lock(db);
	r = db_exec(h, sql, e);
	db_unlock(db);
	if (r == ERR_NONE)
		r = db_int(h, "PRAGMA freelist_count", &left, e);
	*more = r == ERR_NONE && left < freed;
	return r;
}

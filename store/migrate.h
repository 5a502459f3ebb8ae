/*
 * The schema: migrations/<file>_NNNN_what.sql, embedded at build time in name
 * order. A released migration never changes; new ones are appended.
 */
#ifndef STORE_MIGRATE_H
#define STORE_MIGRATE_H

#include <stddef.h>

#include "base/err.h"
#include "store/db.h"

#define MIGRATE_HASH_LEN 64 /* hex of 32 bytes */

struct migration {
	const char *name; /* "ctl_0001_init" */
	const char *sql;
	size_t len;
};

/* In name order; made by store/embed.cmake. */
extern const struct migration migrate_embedded[];
extern const size_t migrate_embedded_count;

/* How many migrations a file had had before, and has had now. */
struct migrate_done {
	int64_t before[STORE_DBS];
	int64_t now[STORE_DBS];
};

/**
 * migrate_all(data_dir, done, e):
 * Make the missing files in the existing directory ${data_dir}/db and bring
 * each to this program's schema, each migration in its own transaction.
 * Errors: ERR_STATE when a file was made by a newer program or one of its
 * migrations was another text; nothing is changed then. ERR_STORE. What was
 * done stands in ${done}, which may be NULL.
 */
FALLIBLE enum err migrate_all(const char *data_dir, struct migrate_done *done,
			      struct errinfo *e);

/** migrate_count(db): How many migrations this program knows for ${db}. */
int migrate_count(enum store_db db);

/** migrate_hash(m, out): The hash that is recorded for ${m}, in hex. */
void migrate_hash(const struct migration *m, char out[MIGRATE_HASH_LEN + 1]);

#endif

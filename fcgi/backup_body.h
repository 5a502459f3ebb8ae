/* What calls about backups have in their bodies, and what they are told. */
#ifndef FCGI_BACKUP_BODY_H
#define FCGI_BACKUP_BODY_H

#include "fcgi/json_out.h"
#include "fcgi/route.h"
#include "store/ctl_backup.h"

#define BACKUP_JSON_MAX (64U << 10) /* one of them */

struct backup_create_in {
	const char *dir;
	const char *name; /* "" for none, as the two below */
	const char *archive_path;
	bool gitignore;
	struct json_object *excludes; /* texts; NULL: none */
	int64_t ttl_ms;
};

struct backup_restore_in {
	const char *id; /* or: */
	const char *archive_path;
	const char *dir; /* NULL: where it was made of */
};

/** backup_body_create(rq, in, e), _restore: Read and check. Errors: ERR_ARG
 * with 400 INVALID_BACKUP_CONFIG noted, or what body_json() notes. */
FALLIBLE enum err backup_body_create(struct request *rq,
				     struct backup_create_in *in,
				     struct errinfo *e);
FALLIBLE enum err backup_body_restore(struct request *rq,
				      struct backup_restore_in *in,
				      struct errinfo *e);

/** backup_body_dir(rq, dir, e): An absolute path without "..", not "/". */
FALLIBLE enum err backup_body_dir(struct request *rq, const char *dir,
				  struct errinfo *e);

/** backup_body_none(rq, id, e): Note 404 BACKUP_NOT_FOUND. */
enum err backup_body_none(struct request *rq, const char *id,
			  struct errinfo *e);

/** backup_body_put(o, b): The members that tell of ${b}. */
void backup_body_put(struct json_out *o, const struct ctl_backup *b);

#endif

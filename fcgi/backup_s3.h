/*
 * Backups in an S3-compatible object store: one object each, <prefix><tenant>/
 * <id>.tar.zst. Requests are signed (AWS Signature 4), also the SHA-256 of
 * what is uploaded, so that neither a proxy nor the store can change it
 * unseen. Each call is tried again when the store was only busy. What is above
 * BACKUP_S3_PART goes in parts (backup_s3_parts.h).
 */
#ifndef FCGI_BACKUP_S3_H
#define FCGI_BACKUP_S3_H

#include "fcgi/backup_conf.h"
#include "store/ctl_backup.h"

#define BACKUP_S3_PART (INT64_C(64) << 20)
#define BACKUP_S3_MOST (INT64_C(5) << 40) /* of one object */

/* For all its calls: whether the caller wants to go on. */
struct backup_s3 {
	const struct backup_conf *conf;
	bool (*gone)(void *ctx);
	void *ctx;
};

/** backup_s3_init(): Once, before any other thread. */
void backup_s3_init(void);

/**
 * backup_s3_put(s, b, fd, bytes, e):
 * Store the ${bytes} of ${fd} from its beginning; b->hash is theirs.
 * Errors: ERR_GONE (the caller), ERR_IO (the store did not take it).
 * Blocks: as long as bytes move, a minute without any.
 */
FALLIBLE enum err backup_s3_put(const struct backup_s3 *s,
				const struct ctl_backup *b, int fd,
				int64_t bytes, struct errinfo *e);

/**
 * backup_s3_get(s, b, sink, sink_ctx, e):
 * Give all bytes to ${sink}; whatever it fails with ends it.
 * Errors: those of ${sink}; ERR_NOT_FOUND, ERR_GONE, ERR_IO.
 */
FALLIBLE enum err backup_s3_get(const struct backup_s3 *s,
				const struct ctl_backup *b,
				enum err (*sink)(void *ctx, const void *p,
						 size_t n, struct errinfo *e),
				void *sink_ctx, struct errinfo *e);

/** backup_s3_remove(s, b, e): It is not there any more. Errors: ERR_IO. */
FALLIBLE enum err backup_s3_remove(const struct backup_s3 *s,
				   const struct ctl_backup *b,
				   struct errinfo *e);

#endif

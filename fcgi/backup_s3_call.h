/*
 * One request to the object store, signed (AWS Signature 4); of backup_s3.c
 * and backup_s3_parts.c alone.
 */
#ifndef FCGI_BACKUP_S3_CALL_H
#define FCGI_BACKUP_S3_CALL_H

#include "base/buf.h"
#include "fcgi/backup_s3.h"

#define BACKUP_S3_SAID_MAX (256U << 10)
#define BACKUP_S3_TAG_MAX 128U
#define BACKUP_S3_HEX_LEN (CTL_BACKUP_HASH_BYTES * 2 + 1)
/* The SHA-256 of nothing. */
#define BACKUP_S3_EMPTY                                                        \
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

enum backup_s3_method { S3_GET, S3_PUT, S3_POST, S3_DELETE };

struct backup_s3_call {
	const struct backup_s3 *s;
	const struct ctl_backup *b; /* its object; NULL: the bucket */
	enum backup_s3_method method;
	/* "a=1&b=", as it is signed: names in order, values escaped; or NULL */
	const char *query;
	/* The content, of a PUT from a file, of a POST from memory. */
	const char *sha256;
	int fd;
	int64_t at;
	int64_t bytes;
	const char *text;
	/* What takes the object that a GET answers; NULL: it is in ${said}. */
	enum err (*sink)(void *ctx, const void *p, size_t n, struct errinfo *e);
	void *sink_ctx;
	/* The answer. */
	struct buf said;
	char tag[BACKUP_S3_TAG_MAX + 1]; /* ETag; "" without one */
};

#define BACKUP_S3_CALL_INIT(store, backup)                                     \
	{                                                                      \
		.s = (store), .b = (backup), .sha256 = BACKUP_S3_EMPTY,        \
		.said = BUF_INIT(BACKUP_S3_SAID_MAX)                           \
	}

/** backup_s3_call_free(c): For OWN. */
void backup_s3_call_free(struct backup_s3_call *c);

/**
 * backup_s3_call_run(c, e):
 * Ask, some times if the store is only busy and the sink had nothing yet.
 * Errors: those of the sink; ERR_GONE (the caller), ERR_NOT_FOUND, ERR_IO.
 * Blocks: as long as bytes move, a minute without any.
 */
FALLIBLE enum err backup_s3_call_run(struct backup_s3_call *c,
				     struct errinfo *e);

#endif

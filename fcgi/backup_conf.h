/*
 * Where backups are stored: below D/backups, or in an S3-compatible object
 * store by a section of D/warren.ini:
 *
 *	[backup]
 *	endpoint = https://s3.eu-central-1.amazonaws.com
 *	bucket = warren-backups
 *	region = eu-central-1     ; us-east-1 if left out
 *	keyId = AKIA…
 *	secretFile = backup.key   ; in D, or absolute: one line; warren's alone
 *	pathStyle = yes           ; no: the bucket is a part of the host name
 *	prefix = machine-1/       ; before each object's name
 *
 * The account has to be allowed s3:PutObject, GetObject and DeleteObject, and,
 * as large ones are sent in parts, ListBucketMultipartUploads of the bucket and
 * AbortMultipartUpload.
 *
 * http is taken for addresses of this machine only. What is wrong makes every
 * backup fail rather than be stored elsewhere.
 */
#ifndef FCGI_BACKUP_CONF_H
#define FCGI_BACKUP_CONF_H

#include <stdbool.h>

#include "base/err.h"

#define BACKUP_CONF_TEXT_MAX 256

struct backup_conf {
	bool remote;
	bool wrong; /* nothing can be stored */
	bool host_style;
	char endpoint[BACKUP_CONF_TEXT_MAX]; /* without a slash at its end */
	char bucket[64];
	char region[64];
	char prefix[128];
	char credentials[BACKUP_CONF_TEXT_MAX]; /* "id:secret"; secret */
};

/**
 * backup_conf_read(data_dir, c, e):
 * Errors: ERR_ARG (which line, or what is missing), ERR_IO; c->wrong is set
 * then. Without such a file or section backups are files.
 */
FALLIBLE enum err backup_conf_read(const char *data_dir, struct backup_conf *c,
				   struct errinfo *e);

#endif

/*
 * Objects that are sent in parts, so that one that breaks off is not sent from
 * its beginning and none is too large for a request. Until all parts are there
 * nobody sees an object; what a sender that died left is found by its name.
 */
#ifndef FCGI_BACKUP_S3_PARTS_H
#define FCGI_BACKUP_S3_PARTS_H

#include "fcgi/backup_s3.h"

/**
 * backup_s3_parts_put(s, b, fd, bytes, e):
 * As backup_s3_put(). What was sent of one that fails stays until
 * backup_s3_parts_drop().
 */
FALLIBLE enum err backup_s3_parts_put(const struct backup_s3 *s,
				      const struct ctl_backup *b, int fd,
				      int64_t bytes, struct errinfo *e);

/** backup_s3_parts_drop(s, b, e): Nothing of ${b} is in sending any more.
 * Errors: ERR_IO. */
FALLIBLE enum err backup_s3_parts_drop(const struct backup_s3 *s,
				       const struct ctl_backup *b,
				       struct errinfo *e);

#endif

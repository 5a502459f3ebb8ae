/*
 * Backups as files, D/backups/<tenant>/<id>.tar.zst. One is made as
 * <id>.part, locked (flock) by who makes it as long as he lives, also under
 * its last name: who can lock a file whose row says making knows that nobody
 * makes it any more. A part is there before its row.
 */
#ifndef FCGI_BACKUP_FILE_H
#define FCGI_BACKUP_FILE_H

#include "store/ctl_backup.h"

#define BACKUP_FILE_KEEP_FREE (INT64_C(512) << 20)

struct backup_file {
	int dir; /* the tenant's */
	int fd;
	char id[CTL_BACKUP_ID_LEN + 1];
};

#define BACKUP_FILE_INIT                                                       \
	{                                                                      \
		.dir = -1, .fd = -1                                            \
	}

/** backup_file_make(data_dir, tenant, id, f, e): A new part, locked. */
FALLIBLE enum err backup_file_make(const char *data_dir, const char *tenant,
				   const char *id, struct backup_file *f,
				   struct errinfo *e);

/** backup_file_room(f, bytes): The disk has room for ${bytes} and some left
 * for all else. */
bool backup_file_room(const struct backup_file *f, int64_t bytes);

/** backup_file_write(f, p, n, e): Errors: ERR_LIMIT: the disk is full;
 * ERR_IO. */
FALLIBLE enum err backup_file_write(struct backup_file *f, const void *p,
				    size_t n, struct errinfo *e);

/** backup_file_sync(f, e): What was written is on the disk. */
FALLIBLE enum err backup_file_sync(struct backup_file *f, struct errinfo *e);

/** backup_file_keep(f, e): It has its last name, on the disk. */
FALLIBLE enum err backup_file_keep(struct backup_file *f, struct errinfo *e);

/** backup_file_drop(f): Neither name is there any more. */
void backup_file_drop(struct backup_file *f);

/** backup_file_close(f): For OWN; the lock goes. */
void backup_file_close(struct backup_file *f);

/** backup_file_open(data_dir, b, fd, e): To read it. Errors:
 * ERR_NOT_FOUND. */
FALLIBLE enum err backup_file_open(const char *data_dir,
				   const struct ctl_backup *b, int *fd,
				   struct errinfo *e);

/** backup_file_made(data_dir, b): Somebody is making it. */
bool backup_file_made(const char *data_dir, const struct ctl_backup *b);

/** backup_file_remove(data_dir, b, e): Whatever is there of it. */
FALLIBLE enum err backup_file_remove(const char *data_dir,
				     const struct ctl_backup *b,
				     struct errinfo *e);

/**
 * backup_file_each(data_dir, each, ctx):
 * Call ${each} for every file that nobody is making: the id in its name, and
 * whether it is a part. Those for which it is true are removed.
 */
void backup_file_each(const char *data_dir,
		      bool (*each)(void *ctx, const char *id, bool part),
		      void *ctx);

#endif

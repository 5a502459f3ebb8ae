/*
 * What removes backups: a thread of one of the workers (the one that could
 * lock D/backups). Those whose time is over, those that were deleted, what
 * makers left that died, and files without a row.
 */
#ifndef FCGI_BACKUP_SWEEP_H
#define FCGI_BACKUP_SWEEP_H

#include "fcgi/backup_conf.h"
#include "fcgi/route.h"
#include "store/ctl_backup.h"

/**
 * backup_sweep_start(w, e):
 * Read the configuration and begin; before any request. On an error nothing
 * can be stored or read, and no thread runs.
 * Errors: those of backup_conf_read().
 */
FALLIBLE enum err backup_sweep_start(const struct worker *w, struct errinfo *e);

/** backup_sweep_conf(): What was read. */
const struct backup_conf *backup_sweep_conf(void);

/** backup_sweep_one(data_dir, c, b, e): Remove what is stored of ${b}, and
 * then its row as ctl_backup_removed() does. */
FALLIBLE enum err backup_sweep_one(const char *data_dir, struct store_conn *c,
				   const struct ctl_backup *b,
				   struct errinfo *e);

#endif

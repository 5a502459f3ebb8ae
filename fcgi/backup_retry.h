/*
 * A backup that is asked for again with the same Idempotency-Key. Making one
 * takes long, so a retry waits for the first try as long as that is at it,
 * which the lock of its part says: the part is held before the key is taken,
 * and let go after the answer is stored.
 */
#ifndef FCGI_BACKUP_RETRY_H
#define FCGI_BACKUP_RETRY_H

#include "fcgi/backup_make.h"
#include "fcgi/retry.h"

/**
 * backup_retry_begin(m, again, done, e):
 * Take the key of m->rq, if it has one. Afterwards either retry_answered(), or
 * ${done} is what another try made (its id is not ""), or it is to be made.
 * Owns: ctl_backup_free() ${done}. Errors: those of link_find() and
 * retry_begin(); ERR_GONE (client). Blocks: until another try has ended.
 */
FALLIBLE enum err backup_retry_begin(struct backup_make *m, struct retry *again,
				     struct ctl_backup *done,
				     struct errinfo *e);

#endif

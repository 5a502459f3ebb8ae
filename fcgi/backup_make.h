/*
 * One backup in the making: a row that counts what is written, a file, and a
 * hash over it. However it ends, nothing of one that is not ready stays:
 *
 *	OWN(backup_make_close) struct backup_make m = BACKUP_MAKE_INIT(rq);
 *	r = backup_make_open(&m, &in, e);
 *	r = backup_make_put(&m, p, n, e); …
 *	r = backup_make_done(&m, e);
 */
#ifndef FCGI_BACKUP_MAKE_H
#define FCGI_BACKUP_MAKE_H

#include <sodium.h>

#include "fcgi/backup_body.h"
#include "fcgi/backup_file.h"

struct backup_make {
	struct request *rq;
	struct ctl_backup row; /* id "": none; in making until it is done */
	struct backup_file file;
	crypto_hash_sha256_state hash;
	int64_t written;
	bool sent; /* to the object store */
};

#define BACKUP_MAKE_INIT(request)                                              \
	{                                                                      \
		.rq = (request), .file = BACKUP_FILE_INIT                      \
	}

/**
 * backup_make_hold(m, e):
 * An id, m->file.id, and its part, which others see to be held; no row yet.
 * Errors: with the failure noted.
 */
FALLIBLE enum err backup_make_hold(struct backup_make *m, struct errinfo *e);

/**
 * backup_make_open(m, in, e):
 * File, unless it is held, and row, of rq->sandbox. Errors: with the failure
 * noted: 429 LIMIT_EXCEEDED, 503 when the machine's disk is full.
 */
FALLIBLE enum err backup_make_open(struct backup_make *m,
				   const struct backup_create_in *in,
				   struct errinfo *e);

/** backup_make_put(m, p, n, e): Further bytes of it. Errors: the same. */
FALLIBLE enum err backup_make_put(struct backup_make *m, const void *p,
				  size_t n, struct errinfo *e);

/**
 * backup_make_done(m, e):
 * All is there; entries and content_bytes of m->row are given. It is stored
 * where the configuration says, and ready. Blocks: for the disk or the store.
 * Errors: with the failure noted; ERR_GONE (client).
 */
FALLIBLE enum err backup_make_done(struct backup_make *m, struct errinfo *e);

/** backup_make_close(m): For OWN; what is not done is removed. */
void backup_make_close(struct backup_make *m);

#endif

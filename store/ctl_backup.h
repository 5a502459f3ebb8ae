/*
 * Backups as rows. The life of one:
 *
 *   ctl_backup_add (making) -> ctl_backup_grow … -> ctl_backup_ready
 *   -> ctl_backup_deleting, or its time is over (ctl_backup_expire)
 *   -> what is stored is removed -> ctl_backup_removed
 *
 * What a row counts against its tenant's backupBytes is in the row itself, so
 * that no crash makes the count wrong. A row in making whose maker died, and
 * every other that ctl_backup_open() tells, is taken further by whoever finds
 * it: removing what is stored can be done twice.
 */
#ifndef STORE_CTL_BACKUP_H
#define STORE_CTL_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "store/ctl_sandbox.h"
#include "store/db.h"

#define CTL_BACKUP_ID_LEN 36 /* a random UUID */
#define CTL_BACKUP_HASH_BYTES 32U
#define CTL_BACKUP_NAME_MAX 1024 /* bytes: 256 characters */
#define CTL_BACKUPS_MAX 10000    /* rows of a tenant */
#define CTL_BACKUP_LEAST 4096    /* bytes that each counts for */
#define CTL_BACKUP_PAGE_MAX 1000

#define CTL_BACKUP_STATES(X)                                                   \
	X(MAKING, "making")                                                    \
	X(READY, "ready")                                                      \
	X(DELETING, "deleting")                                                \
	X(EXPIRING, "expiring")                                                \
	X(EXPIRED, "expired")

enum ctl_backup_state {
	BACKUP_NONE = 0,
#define X(name, text) BACKUP_##name,
	CTL_BACKUP_STATES(X)
#undef X
};

struct ctl_backup {
	char id[CTL_BACKUP_ID_LEN + 1];
	ctl_tenant_id_t tenant;
	id_sandbox_t sandbox;
	char sandbox_name[CTL_SANDBOX_NAME_MAX + 1];
	enum ctl_backup_state state;
	bool remote; /* in the object store */
	char *dir;   /* any bytes but NUL */
	char *name;
	char *archive_path;
	int64_t size_bytes;
	int64_t entries;
	int64_t content_bytes;
	unsigned char hash[CTL_BACKUP_HASH_BYTES];
	int64_t created_ms;
	int64_t expires_ms;
};

struct ctl_backup_list {
	struct ctl_backup *rows;
	size_t n;
	bool more;
};

/** ctl_backup_free(b), ctl_backup_list_free(l): What they hold. */
void ctl_backup_free(struct ctl_backup *b);
void ctl_backup_list_free(struct ctl_backup_list *l);

/** ctl_backup_id_ok(s): ${s} has the form of an id. */
bool ctl_backup_id_ok(const char *s);

/**
 * ctl_backup_add(c, b, e):
 * A new row in making, which counts b->size_bytes. id (a UUID),
 * tenant, sandbox, texts, remote and expires_ms are given; created_ms of 0
 * becomes now.
 * Errors: ERR_LIMIT: the tenant has no room for it, or too many.
 */
FALLIBLE enum err ctl_backup_add(struct store_conn *c, struct ctl_backup *b,
				 struct errinfo *e);

/**
 * ctl_backup_grow(c, b, bytes, e):
 * It counts ${bytes} more. Errors: ERR_LIMIT: there is no room for them.
 */
FALLIBLE enum err ctl_backup_grow(struct store_conn *c, struct ctl_backup *b,
				  int64_t bytes, struct errinfo *e);

/** ctl_backup_room(c, tenant, used, most, e): What the tenant has, and may
 * have, in bytes. Errors: ERR_NOT_FOUND. */
FALLIBLE enum err ctl_backup_room(struct store_conn *c, const char *tenant,
				  int64_t *used, int64_t *most,
				  struct errinfo *e);

/**
 * ctl_backup_ready(c, b, bytes, e):
 * It is stored: ${bytes}, not more than it counted, and entries,
 * content_bytes and hash of ${b}. Another of its sandbox with the same
 * archive_path is to be deleted from then on.
 * Errors: ERR_STATE: it is not in making any more.
 */
FALLIBLE enum err ctl_backup_ready(struct store_conn *c, struct ctl_backup *b,
				   int64_t bytes, struct errinfo *e);

/**
 * ctl_backup_get(c, tenant, id, out, e), ctl_backup_at(… archive_path …):
 * One that is or was ready. Owns: ctl_backup_free(). Errors: ERR_NOT_FOUND,
 * also for another tenant's.
 */
FALLIBLE enum err ctl_backup_get(struct store_conn *c, const char *tenant,
				 const char *id, struct ctl_backup *out,
				 struct errinfo *e);
FALLIBLE enum err ctl_backup_at(struct store_conn *c, const char *tenant,
				const char *sandbox, const char *archive_path,
				struct ctl_backup *out, struct errinfo *e);

/**
 * ctl_backup_list(c, tenant, sandbox, after, limit, out, e):
 * Those that are ready, the newest first. ${sandbox}: only of the one with
 * this name or id, "": all. ${after}: the id of the last one before, or "".
 */
FALLIBLE enum err ctl_backup_list(struct store_conn *c, const char *tenant,
				  const char *sandbox, const char *after,
				  int64_t limit, struct ctl_backup_list *out,
				  struct errinfo *e);

/** ctl_backup_deleting(c, tenant, id, e): Nobody finds it any more. Errors:
 * ERR_NOT_FOUND. */
FALLIBLE enum err ctl_backup_deleting(struct store_conn *c, const char *tenant,
				      const char *id, struct errinfo *e);

/** ctl_backup_due(c, now_ms, before_ms, due, e): There is something to do for
 * ctl_backup_expire() or to take from ctl_backup_open(). Writes nothing. */
FALLIBLE enum err ctl_backup_due(struct store_conn *c, int64_t now_ms,
				 int64_t before_ms, bool *due,
				 struct errinfo *e);

/** ctl_backup_expire(c, now_ms, before_ms, e): Those whose time is over are
 * expiring; those that expired before ${before_ms} are forgotten. */
FALLIBLE enum err ctl_backup_expire(struct store_conn *c, int64_t now_ms,
				    int64_t before_ms, struct errinfo *e);

/** ctl_backup_open(c, out, e): Some of those in making, deleting, expiring;
 * out->more: there may be others. */
FALLIBLE enum err ctl_backup_open(struct store_conn *c,
				  struct ctl_backup_list *out,
				  struct errinfo *e);

/** ctl_backup_removed(c, b, e): Nothing is stored for it any more: the row
 * goes, or is expired. Done already: fine. */
FALLIBLE enum err ctl_backup_removed(struct store_conn *c,
				     const struct ctl_backup *b,
				     struct errinfo *e);

/** ctl_backup_state(c, id, out, e): Of any tenant's; BACKUP_NONE: there is no
 * such row. */
FALLIBLE enum err ctl_backup_state(struct store_conn *c, const char *id,
				   enum ctl_backup_state *out,
				   struct errinfo *e);

#endif

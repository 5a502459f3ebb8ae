/*
 * Links to files: a URL with a token, of which only a hash is stored. A row is
 * what makes it valid, so that it can be revoked; it goes with its sandbox,
 * and is worth nothing once the key that made it is revoked.
 */
#ifndef STORE_CTL_LINK_H
#define STORE_CTL_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "store/ctl_key.h"
#include "store/db.h"

#define CTL_LINK_LEN 48 /* the id, and 32 characters of base64url */
#define CTL_LINK_METHOD_MAX 8
#define CTL_LINKS_MAX 1000 /* that a sandbox may have */

struct ctl_link {
	char id[ID_TOKEN_LEN + 1];
	id_sandbox_t sandbox;
	struct ctl_auth auth; /* as the key that made it */
	char method[CTL_LINK_METHOD_MAX];
	char *path; /* any bytes but NUL */
	bool download;
	int64_t created_ms;
	int64_t expires_ms;
};

struct ctl_link_list {
	struct ctl_link *rows;
	size_t n;
};

/** ctl_link_free(l), ctl_link_list_free(l): What they hold. */
void ctl_link_free(struct ctl_link *l);
void ctl_link_list_free(struct ctl_link_list *l);

/**
 * ctl_link_add(c, l, token, e):
 * A new link: sandbox, auth (tenant and prefix), method, path, download and
 * expires_ms are given, id and created_ms are filled in. ${token} is the only
 * copy.
 * Errors: ERR_NOT_FOUND (no such sandbox of this tenant), ERR_LIMIT.
 */
FALLIBLE enum err ctl_link_add(struct store_conn *c, struct ctl_link *l,
			       char token[CTL_LINK_LEN + 1], struct errinfo *e);

/**
 * ctl_link_use(c, token, out, e):
 * What ${token} is for. Owns: ctl_link_free().
 * Errors: ERR_NOT_FOUND, the same for every reason.
 */
FALLIBLE enum err ctl_link_use(struct store_conn *c, const char *token,
			       struct ctl_link *out, struct errinfo *e);

/** ctl_link_list(c, tenant, sandbox, out, e): Those that are valid, the first
 * to expire first. */
FALLIBLE enum err ctl_link_list(struct store_conn *c, const char *tenant,
				const char *sandbox, struct ctl_link_list *out,
				struct errinfo *e);

/** ctl_link_remove(c, tenant, sandbox, id, e): Errors: ERR_NOT_FOUND. */
FALLIBLE enum err ctl_link_remove(struct store_conn *c, const char *tenant,
				  const char *sandbox, const char *id,
				  struct errinfo *e);

#endif

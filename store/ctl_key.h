/*
 * API keys: "wrn_" + 8 characters (public prefix) + "_" + 43 of base64url.
 * Only a hash is stored; the secret has 256 random bits, so a fast hash does.
 */
#ifndef STORE_CTL_KEY_H
#define STORE_CTL_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "store/ctl_tenant.h"
#include "store/db.h"

#define CTL_KEY_PREFIX_LEN 12 /* "wrn_" and the 8 characters */
#define CTL_KEY_LEN 56

/* What a key may do; each allows what those before it allow. */
#define KEY_SCOPES(X)                                                          \
	X(READ, "read")                                                        \
	X(EXEC, "exec")                                                        \
	X(MANAGE, "manage")

enum key_scope {
	KEY_NONE = 0,
#define X(name, text) KEY_##name,
	KEY_SCOPES(X)
#undef X
};

struct ctl_key {
	char prefix[CTL_KEY_PREFIX_LEN + 1];
	char tenant[CTL_TENANT_NAME_MAX + 1]; /* its name */
	enum key_scope scope;
	int64_t created_ms;
	int64_t revoked_ms;   /* 0: valid */
	int64_t last_used_ms; /* 0: never; exact to a minute */
};

struct ctl_key_list {
	struct ctl_key *rows;
	size_t n;
};

/* Who is asking. */
struct ctl_auth {
	ctl_tenant_id_t tenant;
	enum key_scope scope;
	char prefix[CTL_KEY_PREFIX_LEN + 1]; /* for logs and audit */
};

/** ctl_key_scope(text): KEY_NONE when there is no such scope. */
enum key_scope ctl_key_scope(const char *text);

/** ctl_key_scope_name(scope): "read", "exec", "manage". */
const char *ctl_key_scope_name(enum key_scope scope);

/**
 * ctl_key_add(c, tenant, scope, text, e):
 * A new key of the tenant with id ${tenant}. ${text} is the only copy.
 * Errors: ERR_NOT_FOUND.
 */
FALLIBLE enum err ctl_key_add(struct store_conn *c, const char *tenant,
			      enum key_scope scope, char text[CTL_KEY_LEN + 1],
			      struct errinfo *e);

/**
 * ctl_key_check(c, text, out, e):
 * Whose key ${text} is. Compares in constant time.
 * Errors: ERR_DENIED for malformed, unknown and revoked alike.
 */
FALLIBLE enum err ctl_key_check(struct store_conn *c, const char *text,
				struct ctl_auth *out, struct errinfo *e);

/**
 * ctl_key_revoke(c, prefix, e):
 * From the next check on it is refused. ${prefix} is "wrn_" and 8 characters,
 * or those alone. Errors: ERR_NOT_FOUND; ERR_STATE when revoked already.
 */
FALLIBLE enum err ctl_key_revoke(struct store_conn *c, const char *prefix,
				 struct errinfo *e);

/** ctl_key_list(c, out, e): All keys, revoked ones too, oldest first. */
FALLIBLE enum err ctl_key_list(struct store_conn *c, struct ctl_key_list *out,
			       struct errinfo *e);
void ctl_key_list_free(struct ctl_key_list *l);

#endif

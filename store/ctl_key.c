#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "store/ctl_key.h"
#include "store/stmt.h"

#define KEY_HEAD "wrn_"
#define KEY_HEAD_LEN 4U
#define KEY_HASH_BYTES 32U
#define KEY_SECRET_BYTES 32U
#define KEY_TOUCH_MS 60000

static const char *const scope_names[] = {"",
#define X(name, text) text,
					  KEY_SCOPES(X)
#undef X
};

#define SCOPE_COUNT (sizeof(scope_names) / sizeof(scope_names[0]))

enum key_scope ctl_key_scope(const char *text)
{
	for (size_t i = 1; i < SCOPE_COUNT; i++)
		if (strcmp(text, scope_names[i]) == 0)
			return (enum key_scope)i;
	return KEY_NONE;
}

const char *ctl_key_scope_name(enum key_scope scope)
{
	return (size_t)scope < SCOPE_COUNT ? scope_names[scope] : "";
}

/* The secret has 256 random bits, so nobody can guess through a fast hash. */
static void key_hash(const char *text, unsigned char out[KEY_HASH_BYTES])
{
	crypto_generichash(out, KEY_HASH_BYTES, (const unsigned char *)text,
			   CTL_KEY_LEN, NULL, 0);
}

static bool key_form_ok(const char *text)
{
	if (strlen(text) != CTL_KEY_LEN)
		return false;
	return strncmp(text, KEY_HEAD, KEY_HEAD_LEN) == 0 &&
	       text[CTL_KEY_PREFIX_LEN] == '_';
}

static void key_make(char text[CTL_KEY_LEN + 1])
{
	unsigned char secret[KEY_SECRET_BYTES];
	char token[ID_TOKEN_LEN + 1];

	id_token(token);
	memcpy(text, KEY_HEAD, KEY_HEAD_LEN);
	memcpy(text + KEY_HEAD_LEN, token, CTL_KEY_PREFIX_LEN - KEY_HEAD_LEN);
	text[CTL_KEY_PREFIX_LEN] = '_';
	randombytes_buf(secret, sizeof(secret));
	sodium_bin2base64(
	    text + CTL_KEY_PREFIX_LEN + 1, CTL_KEY_LEN - CTL_KEY_PREFIX_LEN,
	    secret, sizeof(secret), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(secret, sizeof(secret));
}

static void key_prefix(const char *text, char prefix[CTL_KEY_PREFIX_LEN + 1])
{
	memcpy(prefix, text, CTL_KEY_PREFIX_LEN);
	prefix[CTL_KEY_PREFIX_LEN] = '\0';
}

enum err ctl_key_add(struct store_conn *c, const char *tenant,
		     enum key_scope scope, char text[CTL_KEY_LEN + 1],
		     struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	unsigned char hash[KEY_HASH_BYTES];
	char prefix[CTL_KEY_PREFIX_LEN + 1];
	char made[CTL_KEY_LEN + 1];
	uint64_t n;
	enum err r;

	must(scope != KEY_NONE);
	key_make(made);
	key_prefix(made, prefix);
	key_hash(made, hash);
	r = stmt_use(c, STMT_KEY_ADD, &q, e);
	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":prefix", prefix);
	stmt_text(&q, ":tenant", tenant);
	stmt_blob(&q, ":hash", hash, sizeof(hash));
	stmt_text(&q, ":scope", ctl_key_scope_name(scope));
	stmt_int(&q, ":now", clock_unix_ms());
	r = stmt_run(&q, &n, e);
	if (r == ERR_NONE && n == 0)
		r = err_set(e, ERR_NOT_FOUND, 0, "no such tenant");
	if (r == ERR_NONE)
		memcpy(text, made, sizeof(made));
	sodium_memzero(made, sizeof(made));
	return r;
}

/* Uses are stamped, but a check never fails because of that. */
static void key_touch(struct store_conn *c, const char *prefix, int64_t last)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	struct errinfo e;
	int64_t now = clock_unix_ms();
	enum err r;

	if (now - last < KEY_TOUCH_MS)
		return;
	r = stmt_use(c, STMT_KEY_TOUCH, &q, &e);
	if (r == ERR_NONE) {
		stmt_text(&q, ":prefix", prefix);
		stmt_int(&q, ":now", now);
		r = stmt_run(&q, NULL, &e);
	}
	if (r != ERR_NONE)
		log_err("stamp a key's use", &e);
}

static enum err key_get(struct store_conn *c, const char *text,
			struct ctl_auth *out, int64_t *last, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	unsigned char hash[KEY_HASH_BYTES];
	struct ctl_auth a;
	const void *stored;
	size_t n;
	enum err r = stmt_use(c, STMT_KEY_GET, &q, e);

	if (r != ERR_NONE)
		return r;
	key_prefix(text, a.prefix);
	key_hash(text, hash);
	stmt_text(&q, ":prefix", a.prefix);
	r = stmt_row(&q, e);
	if (r == ERR_NOT_FOUND)
		return err_set(e, ERR_DENIED, 0, "unknown key");
	if (r != ERR_NONE)
		return r;
	stored = stmt_col_blob(&q, 1, &n);
	if (n != sizeof(hash) || sodium_memcmp(stored, hash, n) != 0)
		return err_set(e, ERR_DENIED, 0, "unknown key");
	if (stmt_col_int(&q, 3) != 0)
		return err_set(e, ERR_DENIED, 0, "revoked key");
	stmt_col_copy(&q, 0, a.tenant, sizeof(a.tenant));
	a.scope = ctl_key_scope(stmt_col_text(&q, 2));
	if (a.scope == KEY_NONE)
		return err_set(e, ERR_DENIED, 0, "key of an unknown scope");
	*last = stmt_col_int(&q, 4);
	*out = a;
	return ERR_NONE;
}

enum err ctl_key_check(struct store_conn *c, const char *text,
		       struct ctl_auth *out, struct errinfo *e)
{
	int64_t last;
	enum err r;

	if (!key_form_ok(text))
		return err_set(e, ERR_DENIED, 0, "malformed key");
	r = key_get(c, text, out, &last, e);
	if (r == ERR_NONE)
		key_touch(c, out->prefix, last);
	return r;
}

static enum err key_there(struct store_conn *c, const char *prefix,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_KEY_GET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":prefix", prefix);
	r = stmt_row(&q, e);
	if (r == ERR_NOT_FOUND)
		return err_set(e, r, 0, "there is no key of that prefix");
	if (r == ERR_NONE)
		return err_set(e, ERR_STATE, 0, "that key is revoked already");
	return r;
}

enum err ctl_key_revoke(struct store_conn *c, const char *prefix,
			struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	char full[CTL_KEY_PREFIX_LEN + 1] = KEY_HEAD;
	size_t len = strlen(prefix);
	uint64_t n;
	enum err r;

	if (len == CTL_KEY_PREFIX_LEN)
		memcpy(full, prefix, len + 1);
	else if (len == CTL_KEY_PREFIX_LEN - KEY_HEAD_LEN)
		memcpy(full + KEY_HEAD_LEN, prefix, len + 1);
	else
		return err_set(e, ERR_NOT_FOUND, 0,
			       "there is no key of that prefix");
	r = stmt_use(c, STMT_KEY_REVOKE, &q, e);
	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":prefix", full);
	stmt_int(&q, ":now", clock_unix_ms());
	r = stmt_run(&q, &n, e);
	if (r == ERR_NONE && n == 0)
		return key_there(c, full, e);
	return r;
}

static void key_row(struct stmt *q, struct ctl_key *k)
{
	stmt_col_copy(q, 0, k->prefix, sizeof(k->prefix));
	stmt_col_copy(q, 1, k->tenant, sizeof(k->tenant));
	k->scope = ctl_key_scope(stmt_col_text(q, 2));
	k->created_ms = stmt_col_int(q, 3);
	k->revoked_ms = stmt_col_int(q, 4);
	k->last_used_ms = stmt_col_int(q, 5);
}

enum err ctl_key_list(struct store_conn *c, struct ctl_key_list *out,
		      struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(ctl_key_list_free) struct ctl_key_list l = {.n = 0};
	enum err r = stmt_use(c, STMT_KEY_LIST, &q, e);
	bool row;

	if (r != ERR_NONE)
		return r;
	while ((r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r != ERR_NONE)
			return r;
		key_row(&q, &l.rows[l.n++]);
	}
	if (r != ERR_NONE)
		return r;
	*out = (struct ctl_key_list){STEAL(l.rows), l.n};
	return ERR_NONE;
}

void ctl_key_list_free(struct ctl_key_list *l)
{
	free(l->rows);
	*l = (struct ctl_key_list){.n = 0};
}

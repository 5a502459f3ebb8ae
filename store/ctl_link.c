#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/ctl_link.h"
#include "store/stmt.h"

#define HASH_BYTES 32U
#define SECRET_BYTES 24U

void ctl_link_free(struct ctl_link *l)
{
	free(l->path);
	l->path = NULL;
}

void ctl_link_list_free(struct ctl_link_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		ctl_link_free(&l->rows[i]);
	free(l->rows);
	*l = (struct ctl_link_list){.n = 0};
}

static void link_hash(const char *token, unsigned char out[HASH_BYTES])
{
	crypto_generichash(out, HASH_BYTES, (const unsigned char *)token,
			   CTL_LINK_LEN, NULL, 0);
}

static void link_token(struct ctl_link *l, char out[CTL_LINK_LEN + 1])
{
	unsigned char secret[SECRET_BYTES];

	id_token(l->id);
	memcpy(out, l->id, ID_TOKEN_LEN);
	randombytes_buf(secret, sizeof(secret));
	sodium_bin2base64(out + ID_TOKEN_LEN, CTL_LINK_LEN - ID_TOKEN_LEN + 1,
			  secret, sizeof(secret),
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(secret, sizeof(secret));
}

/* Those that expired make room. */
static enum err link_sweep(struct store_conn *c, const struct ctl_link *l,
			   int64_t now, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_LINK_SWEEP, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", l->auth.tenant);
	stmt_text(&q, ":sandbox", l->sandbox);
	stmt_int(&q, ":now", now);
	return stmt_run(&q, NULL, e);
}

static enum err link_full(struct store_conn *c, const struct ctl_link *l,
			  struct errinfo *e)
{
	OWN(ctl_link_list_free) struct ctl_link_list all = {.n = 0};
	enum err r = ctl_link_list(c, l->auth.tenant, l->sandbox, &all, e);

	if (r == ERR_NONE && all.n >= CTL_LINKS_MAX)
		return err_set(e, ERR_LIMIT, 0, "links");
	return r == ERR_NONE ? err_set(e, ERR_NOT_FOUND, 0, "no such sandbox")
			     : r;
}

enum err ctl_link_add(struct store_conn *c, struct ctl_link *l,
		      char token[CTL_LINK_LEN + 1], struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	unsigned char hash[HASH_BYTES];
	int64_t now = clock_unix_ms();
	uint64_t n = 0;
	enum err r = link_sweep(c, l, now, e);

	if (r == ERR_NONE)
		r = stmt_use(c, STMT_LINK_ADD, &q, e);
	if (r != ERR_NONE)
		return r;
	link_token(l, token);
	link_hash(token, hash);
	stmt_text(&q, ":id", l->id);
	stmt_text(&q, ":tenant", l->auth.tenant);
	stmt_text(&q, ":sandbox", l->sandbox);
	stmt_text(&q, ":key", l->auth.prefix);
	stmt_blob(&q, ":hash", hash, sizeof(hash));
	stmt_text(&q, ":method", l->method);
	stmt_blob(&q, ":path", l->path, strlen(l->path));
	stmt_int(&q, ":download", l->download);
	stmt_int(&q, ":now", now);
	stmt_int(&q, ":expires", l->expires_ms);
	stmt_int(&q, ":most", CTL_LINKS_MAX);
	r = stmt_run(&q, &n, e);
	l->created_ms = now;
	if (r != ERR_NONE || n > 0)
		return r;
	stmt_end(&q);
	return link_full(c, l, e);
}

static char *link_path(struct stmt *q, int i)
{
	size_t n;
	const void *p = stmt_col_blob(q, i, &n);
	char *path = malloc(n + 1);

	if (path == NULL)
		return NULL;
	if (n > 0)
		memcpy(path, p, n);
	path[n] = '\0';
	return path;
}

/* Columns 0 to 7 of both. */
static enum err link_row(struct stmt *q, struct ctl_link *l, struct errinfo *e)
{
	stmt_col_copy(q, 0, l->id, sizeof(l->id));
	stmt_col_copy(q, 1, l->sandbox, sizeof(l->sandbox));
	stmt_col_copy(q, 2, l->auth.tenant, sizeof(l->auth.tenant));
	stmt_col_copy(q, 3, l->method, sizeof(l->method));
	l->download = stmt_col_int(q, 5) != 0;
	l->created_ms = stmt_col_int(q, 6);
	l->expires_ms = stmt_col_int(q, 7);
	l->path = link_path(q, 4);
	return l->path != NULL ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "link");
}

static enum err link_none(struct errinfo *e)
{
	return err_set(e, ERR_NOT_FOUND, 0, "no such link");
}

enum err ctl_link_use(struct store_conn *c, const char *token,
		      struct ctl_link *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(ctl_link_free) struct ctl_link l = {.path = NULL};
	unsigned char hash[HASH_BYTES];
	char id[ID_TOKEN_LEN + 1];
	const void *stored;
	size_t n;
	enum err r;

	if (strlen(token) != CTL_LINK_LEN)
		return link_none(e);
	memcpy(id, token, ID_TOKEN_LEN);
	id[ID_TOKEN_LEN] = '\0';
	link_hash(token, hash);
	r = stmt_use(c, STMT_LINK_GET, &q, e);
	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", id);
	stmt_int(&q, ":now", clock_unix_ms());
	r = stmt_row(&q, e);
	if (r != ERR_NONE)
		return r;
	stored = stmt_col_blob(&q, 10, &n);
	if (n != sizeof(hash) || sodium_memcmp(stored, hash, n) != 0)
		return link_none(e);
	r = link_row(&q, &l, e);
	if (r != ERR_NONE)
		return r;
	stmt_col_copy(&q, 8, l.auth.prefix, sizeof(l.auth.prefix));
	l.auth.scope = ctl_key_scope(stmt_col_text(&q, 9));
	*out = l;
	l.path = NULL;
	return ERR_NONE;
}

enum err ctl_link_list(struct store_conn *c, const char *tenant,
		       const char *sandbox, struct ctl_link_list *out,
		       struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(ctl_link_list_free) struct ctl_link_list l = {.n = 0};
	enum err r = stmt_use(c, STMT_LINK_LIST, &q, e);
	bool row;

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":sandbox", sandbox);
	stmt_int(&q, ":now", clock_unix_ms());
	while ((r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r != ERR_NONE)
			return r;
		l.rows[l.n] = (struct ctl_link){.path = NULL};
		r = link_row(&q, &l.rows[l.n++], e);
		if (r != ERR_NONE)
			return r;
	}
	if (r != ERR_NONE)
		return r;
	*out = (struct ctl_link_list){STEAL(l.rows), l.n};
	l.n = 0;
	return ERR_NONE;
}

enum err ctl_link_remove(struct store_conn *c, const char *tenant,
			 const char *sandbox, const char *id, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t n;
	enum err r = stmt_use(c, STMT_LINK_REMOVE, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":id", id);
	r = stmt_run(&q, &n, e);
	return r == ERR_NONE && n == 0 ? link_none(e) : r;
}

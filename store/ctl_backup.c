#include <string.h>

#include "base/clock.h"
#include "store/ctl_backup.h"
#include "store/stmt.h"

#define OPEN_ROWS 64

static const char *const state_names[] = {
#define X(name, text) [BACKUP_##name] = (text),
    CTL_BACKUP_STATES(X)
#undef X
};

static enum ctl_backup_state state_of(const char *text)
{
	for (int i = BACKUP_MAKING; i <= BACKUP_EXPIRED; i++)
		if (strcmp(state_names[i], text) == 0)
			return (enum ctl_backup_state)i;
	return BACKUP_NONE;
}

void ctl_backup_free(struct ctl_backup *b)
{
	free(b->dir);
	free(b->name);
	free(b->archive_path);
	b->dir = b->name = b->archive_path = NULL;
}

void ctl_backup_list_free(struct ctl_backup_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		ctl_backup_free(&l->rows[i]);
	free(l->rows);
	*l = (struct ctl_backup_list){.n = 0};
}

bool ctl_backup_id_ok(const char *s)
{
	static const char form[] = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";

	if (strlen(s) != CTL_BACKUP_ID_LEN)
		return false;
	for (size_t i = 0; i < CTL_BACKUP_ID_LEN; i++) {
		const char *set = form[i] == 'x'   ? "0123456789abcdef"
				  : form[i] == 'y' ? "89ab"
						   : NULL;

		if (set != NULL ? strchr(set, s[i]) == NULL : s[i] != form[i])
			return false;
	}
	return true;
}

/* ---- making one ---- */

enum err ctl_backup_add(struct store_conn *c, struct ctl_backup *b,
			struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t n = 0;
	enum err r = stmt_use(c, STMT_BACKUP_ADD, &q, e);

	if (r != ERR_NONE)
		return r;
	if (b->created_ms == 0)
		b->created_ms = clock_unix_ms();
	b->state = BACKUP_MAKING;
	stmt_text(&q, ":id", b->id);
	stmt_text(&q, ":tenant", b->tenant);
	stmt_text(&q, ":sandbox", b->sandbox);
	stmt_text(&q, ":sandbox_name", b->sandbox_name);
	stmt_text(&q, ":place", b->remote ? "s3" : "file");
	stmt_blob(&q, ":dir", b->dir, strlen(b->dir));
	stmt_text(&q, ":name", b->name);
	stmt_text(&q, ":archive_path", b->archive_path);
	stmt_int(&q, ":bytes", b->size_bytes);
	stmt_blob(&q, ":hash", "", 0);
	stmt_int(&q, ":now", b->created_ms);
	stmt_int(&q, ":expires", b->expires_ms);
	stmt_int(&q, ":most", CTL_BACKUPS_MAX);
	r = stmt_run(&q, &n, e);
	return r == ERR_NONE && n == 0 ? err_set(e, ERR_LIMIT, 0, "backups")
				       : r;
}

enum err ctl_backup_grow(struct store_conn *c, struct ctl_backup *b,
			 int64_t bytes, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t n = 0;
	enum err r = stmt_use(c, STMT_BACKUP_GROW, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", b->id);
	stmt_text(&q, ":tenant", b->tenant);
	stmt_int(&q, ":bytes", bytes);
	r = stmt_run(&q, &n, e);
	if (r == ERR_NONE && n == 0)
		return err_set(e, ERR_LIMIT, 0, "backupBytes");
	if (r == ERR_NONE)
		b->size_bytes += bytes;
	return r;
}

enum err ctl_backup_room(struct store_conn *c, const char *tenant,
			 int64_t *used, int64_t *most, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_BACKUP_ROOM, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	r = stmt_row(&q, e);
	if (r != ERR_NONE)
		return r;
	*used = stmt_col_int(&q, 0);
	*most = stmt_col_int(&q, 1);
	return ERR_NONE;
}

static enum err backup_replaced(struct store_conn *c,
				const struct ctl_backup *b, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r;

	if (b->archive_path[0] == '\0')
		return ERR_NONE;
	r = stmt_use(c, STMT_BACKUP_REPLACED, &q, e);
	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", b->id);
	stmt_text(&q, ":tenant", b->tenant);
	stmt_text(&q, ":sandbox", b->sandbox);
	stmt_text(&q, ":archive_path", b->archive_path);
	return stmt_run(&q, NULL, e);
}

static enum err backup_to_ready(struct store_conn *c,
				const struct ctl_backup *b, int64_t bytes,
				struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t n = 0;
	enum err r = stmt_use(c, STMT_BACKUP_READY, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", b->id);
	stmt_text(&q, ":tenant", b->tenant);
	stmt_int(&q, ":bytes", bytes);
	stmt_int(&q, ":entries", b->entries);
	stmt_int(&q, ":content", b->content_bytes);
	stmt_blob(&q, ":hash", b->hash, sizeof(b->hash));
	r = stmt_run(&q, &n, e);
	return r == ERR_NONE && n == 0
		   ? err_set(e, ERR_STATE, 0, "backup is not in making")
		   : r;
}

enum err ctl_backup_ready(struct store_conn *c, struct ctl_backup *b,
			  int64_t bytes, struct errinfo *e)
{
	OWN(tx_end) struct tx tx = TX_INIT;
	enum err r = tx_begin(&tx, c, STORE_CTL, e);

	if (r == ERR_NONE)
		r = backup_to_ready(c, b, bytes, e);
	if (r == ERR_NONE)
		r = backup_replaced(c, b, e);
	if (r == ERR_NONE)
		r = tx_commit(&tx, e);
	if (r != ERR_NONE)
		return r;
	b->state = BACKUP_READY;
	b->size_bytes = bytes;
	return ERR_NONE;
}

/* ---- reading ---- */

static char *blob_text(struct stmt *q, int i)
{
	size_t n;
	const void *p = stmt_col_blob(q, i, &n);
	char *text = malloc(n + 1);

	if (text == NULL)
		return NULL;
	if (n > 0)
		memcpy(text, p, n);
	text[n] = '\0';
	return text;
}

/* Columns in the order of BACKUP_COLS. */
static enum err backup_row(struct stmt *q, struct ctl_backup *b,
			   struct errinfo *e)
{
	const void *hash;
	size_t n;

	*b = (struct ctl_backup){.id = ""};
	stmt_col_copy(q, 0, b->id, sizeof(b->id));
	stmt_col_copy(q, 1, b->tenant, sizeof(b->tenant));
	stmt_col_copy(q, 2, b->sandbox, sizeof(b->sandbox));
	stmt_col_copy(q, 3, b->sandbox_name, sizeof(b->sandbox_name));
	b->state = state_of(stmt_col_text(q, 4));
	b->remote = strcmp(stmt_col_text(q, 5), "s3") == 0;
	b->dir = blob_text(q, 6);
	b->name = stmt_col_dup(q, 7);
	b->archive_path = stmt_col_dup(q, 8);
	b->size_bytes = stmt_col_int(q, 9);
	b->entries = stmt_col_int(q, 10);
	b->content_bytes = stmt_col_int(q, 11);
	hash = stmt_col_blob(q, 12, &n);
	if (n == sizeof(b->hash))
		memcpy(b->hash, hash, n);
	b->created_ms = stmt_col_int(q, 13);
	b->expires_ms = stmt_col_int(q, 14);
	if (b->dir != NULL && stmt_copied(q, e) == ERR_NONE)
		return ERR_NONE;
	ctl_backup_free(b);
	return err_set(e, ERR_NOMEM, 0, "backup");
}

/* The one row of ${q}; also one whose time is over without anybody having
 * seen to it is expired. */
static enum err backup_one(struct stmt *q, struct ctl_backup *out,
			   struct errinfo *e)
{
	struct ctl_backup b;
	enum err r = stmt_row(q, e);

	if (r == ERR_NONE)
		r = backup_row(q, &b, e);
	if (r != ERR_NONE)
		return r;
	if (b.state == BACKUP_MAKING || b.state == BACKUP_DELETING) {
		ctl_backup_free(&b);
		return err_set(e, ERR_NOT_FOUND, 0, "no such backup");
	}
	if (b.expires_ms <= clock_unix_ms())
		b.state = BACKUP_EXPIRED;
	*out = b;
	return ERR_NONE;
}

enum err ctl_backup_get(struct store_conn *c, const char *tenant,
			const char *id, struct ctl_backup *out,
			struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_BACKUP_GET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", id);
	stmt_text(&q, ":tenant", tenant);
	return backup_one(&q, out, e);
}

enum err ctl_backup_at(struct store_conn *c, const char *tenant,
		       const char *sandbox, const char *archive_path,
		       struct ctl_backup *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_BACKUP_AT, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":archive_path", archive_path);
	return backup_one(&q, out, e);
}

static enum err backup_rows(struct stmt *q, size_t most,
			    struct ctl_backup_list *out, struct errinfo *e)
{
	OWN(ctl_backup_list_free) struct ctl_backup_list l = {.n = 0};
	enum err r;
	bool row;

	while ((r = stmt_step(q, &row, e)) == ERR_NONE && row) {
		if (l.n == most) {
			l.more = true;
			break;
		}
		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r == ERR_NONE)
			r = backup_row(q, &l.rows[l.n], e);
		if (r != ERR_NONE)
			return r;
		l.n++;
	}
	if (r != ERR_NONE)
		return r;
	*out = l;
	l = (struct ctl_backup_list){.n = 0};
	return ERR_NONE;
}

enum err ctl_backup_list(struct store_conn *c, const char *tenant,
			 const char *sandbox, const char *after, int64_t limit,
			 struct ctl_backup_list *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_BACKUP_LIST, &q, e);

	if (r != ERR_NONE)
		return r;
	must(limit > 0 && limit <= CTL_BACKUP_PAGE_MAX);
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":sandbox", sandbox);
	stmt_text(&q, ":after", after);
	stmt_int(&q, ":now", clock_unix_ms());
	stmt_int(&q, ":limit", limit + 1);
	return backup_rows(&q, (size_t)limit, out, e);
}

/* ---- the end of one ---- */

enum err ctl_backup_deleting(struct store_conn *c, const char *tenant,
			     const char *id, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t n = 0;
	enum err r = stmt_use(c, STMT_BACKUP_DELETING, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", id);
	stmt_text(&q, ":tenant", tenant);
	r = stmt_run(&q, &n, e);
	return r == ERR_NONE && n == 0
		   ? err_set(e, ERR_NOT_FOUND, 0, "no such backup")
		   : r;
}

static enum err backup_forget(struct store_conn *c, int64_t before_ms,
			      struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_BACKUP_FORGET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":before", before_ms);
	return stmt_run(&q, NULL, e);
}

enum err ctl_backup_due(struct store_conn *c, int64_t now_ms, int64_t before_ms,
			bool *due, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_BACKUP_DUE, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":now", now_ms);
	stmt_int(&q, ":before", before_ms);
	r = stmt_row(&q, e);
	if (r == ERR_NONE)
		*due = stmt_col_int(&q, 0) != 0;
	return r;
}

enum err ctl_backup_expire(struct store_conn *c, int64_t now_ms,
			   int64_t before_ms, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_BACKUP_EXPIRE, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":now", now_ms);
	r = stmt_run(&q, NULL, e);
	stmt_end(&q);
	return r == ERR_NONE ? backup_forget(c, before_ms, e) : r;
}

enum err ctl_backup_open(struct store_conn *c, struct ctl_backup_list *out,
			 struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_BACKUP_OPEN, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":limit", OPEN_ROWS + 1);
	return backup_rows(&q, OPEN_ROWS, out, e);
}

enum err ctl_backup_removed(struct store_conn *c, const struct ctl_backup *b,
			    struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum stmt_id id = b->state == BACKUP_EXPIRING ? STMT_BACKUP_EXPIRED
						      : STMT_BACKUP_REMOVE;
	enum err r = stmt_use(c, id, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", b->id);
	return stmt_run(&q, NULL, e);
}

enum err ctl_backup_state(struct store_conn *c, const char *id,
			  enum ctl_backup_state *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	bool row;
	enum err r = stmt_use(c, STMT_BACKUP_STATE, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", id);
	r = stmt_step(&q, &row, e);
	if (r == ERR_NONE)
		*out = row ? state_of(stmt_col_text(&q, 0)) : BACKUP_NONE;
	return r;
}

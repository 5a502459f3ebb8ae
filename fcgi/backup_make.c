#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fcgi/answer.h"
#include "fcgi/backup_make.h"
#include "fcgi/backup_s3.h"
#include "fcgi/backup_sweep.h"

/* So much is reserved at once, if there is so much. */
#define STEP_BYTES (INT64_C(16) << 20)

/* The request's connection, also of one that is parked. */
static enum err with_store(struct backup_make *m, bool *parked,
			   struct errinfo *e)
{
	*parked = m->rq->store == NULL;
	return *parked ? route_unpark(m->rq, e) : ERR_NONE;
}

static void park_again(struct backup_make *m, bool parked)
{
	if (parked && m->rq->store != NULL)
		route_park(m->rq);
}

/* ---- room ---- */

static enum err no_room(struct backup_make *m, struct errinfo *e)
{
	struct request *rq = m->rq;
	int64_t used = 0, most = 0;
	enum err r = ctl_backup_room(rq->store, rq->auth.tenant, &used, &most,
				     e);

	if (r != ERR_NONE)
		return r;
	err_http_text(rq, "name", ctl_limit_table[LIMIT_BACKUP].name);
	json_out_int(err_http_context(rq), "limit", most);
	json_out_int(err_http_context(rq), "used", used);
	err_http_suggest(rq, "Delete backups that are not needed any more");
	if (used + CTL_BACKUP_LEAST <= most && m->row.id[0] == '\0')
		return err_http_fail(rq, e, HTTP_LIMIT_EXCEEDED,
				     "This tenant has %d backups already",
				     CTL_BACKUPS_MAX);
	return err_http_fail(rq, e, HTTP_LIMIT_EXCEEDED,
			     "The backup does not fit: this tenant may store "
			     "%lld bytes, and %lld are in use with what "
			     "there is of it",
			     (long long)most, (long long)used);
}

static enum err no_disk(struct backup_make *m, struct errinfo *e)
{
	log_line(LOG_ERROR, "%s: no room for backups on the disk", m->rq->id);
	return err_http_fail(m->rq, e, HTTP_SANDBOX_UNAVAILABLE,
			     "This machine has no room for the backup");
}

static enum err make_failed(struct backup_make *m, struct errinfo *e)
{
	struct errinfo why = *e;

	log_line(LOG_ERROR, "%s: backup: %s: %s", m->rq->id, err_name(why.code),
		 why.text);
	return err_http_fail(m->rq, e, HTTP_BACKUP_CREATE_FAILED,
			     "The backup could not be stored");
}

/* ${n} bytes more than there are. */
static enum err reserve(struct backup_make *m, int64_t n, struct errinfo *e)
{
	int64_t least = m->written + n - m->row.size_bytes;
	int64_t want = least > STEP_BYTES ? least : STEP_BYTES;
	bool parked;
	enum err r;

	if (least <= 0)
		return ERR_NONE;
	if (!backup_file_room(&m->file, want))
		return no_disk(m, e);
	r = with_store(m, &parked, e);
	if (r == ERR_NONE)
		r = ctl_backup_grow(m->rq->store, &m->row, want, e);
	if (r == ERR_LIMIT && want > least)
		r = ctl_backup_grow(m->rq->store, &m->row, least, e);
	if (r == ERR_LIMIT)
		r = no_room(m, e);
	park_again(m, parked);
	return r;
}

/* ---- making it ---- */

static enum err fill_row(struct backup_make *m,
			 const struct backup_create_in *in, struct errinfo *e)
{
	struct ctl_backup *b = &m->row;
	const struct request *rq = m->rq;

	b->remote = backup_sweep_conf()->remote;
	b->size_bytes = CTL_BACKUP_LEAST;
	b->created_ms = clock_unix_ms();
	b->expires_ms = b->created_ms + in->ttl_ms;
	memcpy(b->tenant, rq->auth.tenant, sizeof(b->tenant));
	memcpy(b->sandbox, rq->sandbox.id, sizeof(b->sandbox));
	memcpy(b->sandbox_name, rq->sandbox.name, sizeof(b->sandbox_name));
	b->dir = strdup(in->dir);
	b->name = strdup(in->name);
	b->archive_path = strdup(in->archive_path);
	if (b->dir == NULL || b->name == NULL || b->archive_path == NULL)
		return err_set(e, ERR_NOMEM, 0, "backup");
	return ERR_NONE;
}

enum err backup_make_hold(struct backup_make *m, struct errinfo *e)
{
	id_text_t id;
	enum err r;

	id_uuid(id);
	r = backup_file_make(m->rq->worker->data_dir, m->rq->auth.tenant, id,
			     &m->file, e);
	return r == ERR_NONE ? r : make_failed(m, e);
}

enum err backup_make_open(struct backup_make *m,
			  const struct backup_create_in *in, struct errinfo *e)
{
	enum err r = fill_row(m, in, e);

	if (r == ERR_NONE && m->file.fd < 0)
		r = backup_make_hold(m, e);
	if (r != ERR_NONE)
		return r;
	crypto_hash_sha256_init(&m->hash);
	if (!backup_file_room(&m->file, STEP_BYTES))
		return no_disk(m, e);
	memcpy(m->row.id, m->file.id, CTL_BACKUP_ID_LEN + 1);
	r = ctl_backup_add(m->rq->store, &m->row, e);
	if (r != ERR_NONE)
		m->row.id[0] = '\0';
	return r == ERR_LIMIT ? no_room(m, e) : r;
}

enum err backup_make_put(struct backup_make *m, const void *p, size_t n,
			 struct errinfo *e)
{
	enum err r = reserve(m, (int64_t)n, e);

	if (r != ERR_NONE)
		return r;
	r = backup_file_write(&m->file, p, n, e);
	if (r == ERR_LIMIT)
		return no_disk(m, e);
	if (r != ERR_NONE)
		return make_failed(m, e);
	crypto_hash_sha256_update(&m->hash, p, n);
	m->written += (int64_t)n;
	return ERR_NONE;
}

static bool client_gone(void *ctx)
{
	return answer_gone(ctx);
}

static enum err store_remote(struct backup_make *m, struct errinfo *e)
{
	const struct backup_s3 s = {
	    .conf = backup_sweep_conf(), .gone = client_gone, .ctx = m->rq};
	enum err r;

	m->sent = true;
	r = backup_s3_put(&s, &m->row, m->file.fd, m->written, e);
	if (r == ERR_LIMIT)
		return err_http_fail(m->rq, e, HTTP_BACKUP_CREATE_FAILED,
				     "The backup is above 5 TiB, the most "
				     "that the object store takes");
	return r == ERR_NONE || r == ERR_GONE ? r : make_failed(m, e);
}

static enum err store_local(struct backup_make *m, struct errinfo *e)
{
	enum err r = backup_file_sync(&m->file, e);

	if (r == ERR_NONE)
		r = backup_file_keep(&m->file, e);
	return r == ERR_NONE ? r : make_failed(m, e);
}

enum err backup_make_done(struct backup_make *m, struct errinfo *e)
{
	int64_t bytes = m->written > CTL_BACKUP_LEAST ? m->written
						      : CTL_BACKUP_LEAST;
	bool parked;
	enum err r;

	crypto_hash_sha256_final(&m->hash, m->row.hash);
	r = m->row.remote ? store_remote(m, e) : store_local(m, e);
	if (r == ERR_NONE)
		r = with_store(m, &parked, e);
	if (r != ERR_NONE)
		return r;
	r = ctl_backup_ready(m->rq->store, &m->row, bytes, e);
	if (r == ERR_NONE && m->row.remote)
		backup_file_drop(&m->file);
	park_again(m, parked);
	return r;
}

/* Files first: a row without any is what the sweep can see to. */
static void give_up(struct backup_make *m)
{
	struct errinfo e;
	bool parked;

	backup_file_drop(&m->file);
	if (m->row.id[0] == '\0' || m->row.state != BACKUP_MAKING)
		return;
	if (m->sent)
		return; /* the sweep, when we have let go: it may be there */
	if (with_store(m, &parked, &e) != ERR_NONE ||
	    ctl_backup_removed(m->rq->store, &m->row, &e) != ERR_NONE)
		log_err("a backup that failed", &e);
	park_again(m, parked);
}

void backup_make_close(struct backup_make *m)
{
	if (m->row.state != BACKUP_READY)
		give_up(m);
	backup_file_close(&m->file);
	ctl_backup_free(&m->row);
}

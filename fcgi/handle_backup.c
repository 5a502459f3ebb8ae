/*
 * A directory as a backup, and a backup in a directory's place. warren-bundle
 * packs and unpacks inside (base/fs_msg.h); the bytes pass through here.
 */
#include <endian.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "base/wire.h"
#include "fcgi/answer.h"
#include "fcgi/backup_make.h"
#include "fcgi/backup_retry.h"
#include "fcgi/backup_s3.h"
#include "fcgi/backup_sweep.h"
#include "fcgi/file_body.h"
#include "fcgi/pool.h"
#include "fcgi/sandbox_row.h"

#define PROGRAM "/opt/warren/bin/warren-bundle"
#define PIECE_BYTES (256U * KIB)
/* Without a byte: git's rules for large trees, syncing, removing. */
#define IDLE_MS 600000

/* What the program says when it says why; the head's payload. */
static enum err say_why(struct request *rq, struct fs_call *c,
			enum http_code code, const char *what,
			struct errinfo *e)
{
	char why[FS_WHY_MAX + 1];
	size_t n = (size_t)c->head.payload;
	enum err r;

	if (c->head.payload > FS_WHY_MAX)
		return err_set(e, ERR_PEER, 0, "a long why");
	r = direct_get_all(&c->d, why, n, e);
	if (r != ERR_NONE)
		return r;
	why[n] = '\0';
	err_http_text(rq, "dir", c->paths[0]);
	return err_http_fail(rq, e, code, "%s: %s", what,
			     n > 0 ? why : fs_status_text(c->head.status));
}

static enum err get_numbers(struct fs_call *c, int64_t *entries, int64_t *bytes,
			    struct errinfo *e)
{
	uint64_t v[2];
	enum err r;

	if (c->head.payload != sizeof(v))
		return err_set(e, ERR_PEER, 0, "no numbers");
	r = direct_get_all(&c->d, v, sizeof(v), e);
	if (r != ERR_NONE)
		return r;
	*entries = (int64_t)(le64toh(v[0]) & INT64_MAX);
	*bytes = (int64_t)(le64toh(v[1]) & INT64_MAX);
	return ERR_NONE;
}

static enum err check_place(struct request *rq, struct errinfo *e)
{
	if (backup_sweep_conf()->wrong)
		return err_http_fail(rq, e, HTTP_SANDBOX_UNAVAILABLE,
				     "Backups are not configured rightly; the "
				     "operator's log says what is wrong");
	return ERR_NONE;
}

/* ---- create ---- */

static enum err send_excludes(struct fs_call *c, struct json_object *list,
			      struct errinfo *e)
{
	size_t n = list != NULL ? json_object_array_length(list) : 0;
	enum err r = ERR_NONE;

	for (size_t i = 0; i < n && r == ERR_NONE; i++) {
		struct json_object *v = json_object_array_get_idx(list, i);

		r = fs_call_put(c, json_object_get_string(v),
				(size_t)json_object_get_string_len(v) + 1, e);
	}
	return r == ERR_NONE ? fs_call_put_end(c, e) : r;
}

/* Chunk by chunk, to the length of 0. */
static enum err take_archive(struct fs_call *c, struct backup_make *m,
			     struct errinfo *e)
{
	OWN(own_mem) char *p = malloc(PIECE_BYTES);
	uint32_t left = 0;
	size_t got;
	enum err r = p != NULL ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "backup");

	while (r == ERR_NONE) {
		if (left == 0) {
			r = direct_get_all(&c->d, &left, sizeof(left), e);
			left = le32toh(left);
			if (r == ERR_NONE && left == 0)
				return ERR_NONE;
			if (r == ERR_NONE && left > FS_CHUNK_MAX)
				r = err_set(e, ERR_PEER, 0, "chunk");
			continue;
		}
		r = direct_get(
		    &c->d, p, left < PIECE_BYTES ? left : PIECE_BYTES, &got, e);
		if (r == ERR_NONE && got == 0)
			r = err_set(e, ERR_PEER, 0, "backup broke off");
		if (r == ERR_NONE)
			r = backup_make_put(m, p, got, e);
		left -= (uint32_t)got;
	}
	return r;
}

static enum err create_answer(struct request *rq, const struct retry *again,
			      const struct ctl_backup *b, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(BACKUP_JSON_MAX);

	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	backup_body_put(&o, b);
	json_out_now(&o);
	json_out_end(&o);
	retry_done(rq, again, &o);
	return answer_json(rq, 200, &o, e);
}

/* The program has begun: rq->sandbox is known, the directory is there. */
static enum err create_store(struct fs_call *c, struct backup_make *m,
			     const struct backup_create_in *in,
			     struct errinfo *e)
{
	struct request *rq = m->rq;
	enum err r = backup_make_open(m, in, e);

	if (r != ERR_NONE)
		return r;
	route_park(rq);
	r = take_archive(c, m, e);
	if (r == ERR_NONE)
		r = fs_call_try(c, e);
	if (r == ERR_NONE && c->head.status != FS_OK)
		return say_why(rq, c, HTTP_BACKUP_CREATE_FAILED,
			       c->head.status == FS_BAD_ARCHIVE
				   ? "The directory cannot be backed up"
				   : "A file could not be read to its end",
			       e);
	if (r == ERR_NONE)
		r = get_numbers(c, &m->row.entries, &m->row.content_bytes, e);
	if (r == ERR_NONE)
		r = backup_make_done(m, e);
	if (r == ERR_NONE)
		r = route_unpark(rq, e);
	if (r == ERR_NONE)
		sandbox_audit(rq, "backup.create", m->row.id, m->row.name);
	return r;
}

static enum err create_make(struct fs_call *c, struct backup_make *m,
			    const struct backup_create_in *in,
			    struct errinfo *e)
{
	struct request *rq = m->rq;
	const char *argv[] = {PROGRAM, "backup", in->gitignore ? "1" : "0",
			      in->dir};
	enum err r;

	c->d.idle_ms = IDLE_MS;
	r = fs_call_open(rq, LINK_START, argv, 4, c, e);
	if (r == ERR_NONE)
		r = send_excludes(c, in->excludes, e);
	if (r == ERR_NONE)
		r = fs_call_try(c, e);
	if (r != ERR_NONE)
		return r;
	if (c->head.status == FS_BAD_ARCHIVE)
		return say_why(rq, c, HTTP_BACKUP_CREATE_FAILED,
			       "The directory cannot be backed up", e);
	if (c->head.status != FS_OK)
		return fs_call_failed(c, e);
	if (c->head.payload != FS_UNTIL_END)
		return err_set(e, ERR_PEER, 0, "a backup of its own length");
	return create_store(c, m, in, e);
}

enum err backup_create(struct request *rq, struct errinfo *e)
{
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	OWN(retry_free) struct retry again = RETRY_INIT;
	OWN(ctl_backup_free) struct ctl_backup done = {.id = ""};
	OWN(backup_make_close) struct backup_make m = BACKUP_MAKE_INIT(rq);
	struct backup_create_in in;
	enum err r;

	c.op = "backup.create";
	file_body_op(rq, c.op);
	r = backup_body_create(rq, &in, e);
	if (r == ERR_NONE)
		r = check_place(rq, e);
	if (r == ERR_NONE)
		r = pool_long(rq, e);
	if (r == ERR_NONE)
		r = backup_retry_begin(&m, &again, &done, e);
	if (r != ERR_NONE)
		return r;
	if (retry_answered(&again))
		return retry_replay(rq, &again, e);
	if (done.id[0] != '\0')
		return create_answer(rq, &again, &done, e);
	r = create_make(&c, &m, &in, e);
	if (r == ERR_NONE)
		return create_answer(rq, &again, &m.row, e);
	retry_drop(rq, &again);
	return r;
}

/* ---- restore ---- */

/* What comes of the store, and goes to the program. */
struct feed {
	struct fs_call *c;
	crypto_hash_sha256_state hash;
};

static enum err feed_put(void *ctx, const void *p, size_t n, struct errinfo *e)
{
	struct feed *f = ctx;

	crypto_hash_sha256_update(&f->hash, p, n);
	if (f->c->d.deaf) /* it has said why */
		return err_set(e, ERR_STATE, 0, "nobody listens");
	return fs_call_put(f->c, p, n, e);
}

static enum err feed_file(struct feed *f, int fd, struct errinfo *e)
{
	OWN(own_mem) char *p = malloc(PIECE_BYTES);
	ssize_t n = 1;
	enum err r = p != NULL ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "backup");

	while (r == ERR_NONE && n != 0) {
		n = read(fd, p, PIECE_BYTES);
		if (n > 0)
			r = feed_put(f, p, (size_t)n, e);
		else if (n < 0 && errno != EINTR)
			r = err_set(e, ERR_IO, errno, "read of a backup");
	}
	return r;
}

static bool client_gone(void *ctx)
{
	return answer_gone(ctx);
}

static enum err feed_all(struct request *rq, struct feed *f,
			 const struct ctl_backup *b, int fd, struct errinfo *e)
{
	const struct backup_s3 s = {
	    .conf = backup_sweep_conf(), .gone = client_gone, .ctx = rq};

	crypto_hash_sha256_init(&f->hash);
	return b->remote ? backup_s3_get(&s, b, feed_put, f, e)
			 : feed_file(f, fd, e);
}

/* That it is what was stored is seen before anything is put in place. */
static bool feed_whole(struct feed *f, const struct ctl_backup *b)
{
	unsigned char hash[CTL_BACKUP_HASH_BYTES];

	crypto_hash_sha256_final(&f->hash, hash);
	return sodium_memcmp(hash, b->hash, sizeof(hash)) == 0;
}

static enum err stored_badly(struct request *rq, const struct ctl_backup *b,
			     const char *why, struct errinfo *e)
{
	log_line(LOG_ERROR, "%s: backup %s: %s", rq->id, b->id, why);
	err_http_text(rq, "backupId", b->id);
	return err_http_fail(rq, e, HTTP_BACKUP_RESTORE_FAILED,
			     "What is stored of the backup is not there or "
			     "was damaged");
}

/* The program hears that no more comes, and leaves all as it was. */
static enum err restore_cut(struct request *rq, struct fs_call *c,
			    const struct ctl_backup *b, enum err r,
			    struct errinfo *e)
{
	struct errinfo why = *e;

	if (r == ERR_GONE)
		return r;
	direct_put_end(&c->d);
	r = fs_call_try(c, e);
	return r == ERR_NONE ? stored_badly(rq, b, why.text, e) : r;
}

static enum err restore_answer(struct request *rq, struct fs_call *c,
			       const struct ctl_backup *b, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(BACKUP_JSON_MAX);
	int64_t entries, bytes;
	enum err r = get_numbers(c, &entries, &bytes, e);

	if (r == ERR_NONE)
		r = route_unpark(rq, e);
	if (r != ERR_NONE)
		return r;
	sandbox_audit(rq, "backup.restore", b->id, rq->sandbox.name);
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "dir", c->paths[0]);
	json_out_text(&o, "id", b->id);
	json_out_int(&o, "entries", entries);
	json_out_int(&o, "bytes", bytes);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

static enum err restore_run(struct request *rq, struct fs_call *c,
			    const struct ctl_backup *b, int fd,
			    struct errinfo *e)
{
	struct feed f = {.c = c};
	enum err r;

	route_park(rq);
	r = feed_all(rq, &f, b, fd, e);
	if (r != ERR_NONE && !c->d.deaf)
		return restore_cut(rq, c, b, r, e);
	if (!c->d.deaf && !feed_whole(&f, b)) {
		r = err_set(e, ERR_IO, 0, "its hash is another");
		return restore_cut(rq, c, b, r, e);
	}
	r = fs_call_put_end(c, e);
	if (r == ERR_NONE)
		r = fs_call_try(c, e);
	if (r != ERR_NONE)
		return r;
	if (c->head.status == FS_BAD_ARCHIVE)
		return say_why(rq, c, HTTP_BACKUP_RESTORE_FAILED,
			       "The backup cannot be unpacked", e);
	if (c->head.status != FS_OK)
		return fs_call_failed(c, e);
	return restore_answer(rq, c, b, e);
}

static enum err find_backup(struct request *rq,
			    const struct backup_restore_in *in,
			    struct ctl_backup *b, struct errinfo *e)
{
	const char *name = in->id != NULL ? in->id : in->archive_path;
	enum err r;

	if (in->id != NULL) {
		r = ctl_backup_get(rq->store, rq->auth.tenant, in->id, b, e);
	} else {
		r = link_find(rq, e);
		if (r != ERR_NONE)
			return r;
		r = ctl_backup_at(rq->store, rq->auth.tenant, rq->sandbox.id,
				  in->archive_path, b, e);
	}
	if (r == ERR_NOT_FOUND)
		return backup_body_none(rq, name, e);
	if (r == ERR_NONE && b->state == BACKUP_EXPIRED) {
		err_http_text(rq, "backupId", b->id);
		return err_http_fail(rq, e, HTTP_BACKUP_EXPIRED,
				     "The backup has expired");
	}
	return r;
}

/* The file, before a sandbox is made or started for it. */
static enum err open_stored(struct request *rq, const struct ctl_backup *b,
			    int *fd, struct errinfo *e)
{
	struct errinfo why;

	if (b->remote && !backup_sweep_conf()->remote)
		return stored_badly(rq, b, "no object store is configured", e);
	if (b->remote ||
	    backup_file_open(rq->worker->data_dir, b, fd, &why) == ERR_NONE)
		return ERR_NONE;
	return stored_badly(rq, b, why.text, e);
}

enum err backup_restore(struct request *rq, struct errinfo *e)
{
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	OWN(ctl_backup_free) struct ctl_backup b = {.id = ""};
	OWN(own_fd) int fd = -1;
	struct backup_restore_in in = {.id = NULL};
	const char *argv[] = {PROGRAM, "restore", NULL};
	enum err r;

	c.op = "backup.restore";
	file_body_op(rq, c.op);
	r = backup_body_restore(rq, &in, e);
	if (r == ERR_NONE)
		r = check_place(rq, e);
	if (r == ERR_NONE)
		r = find_backup(rq, &in, &b, e);
	if (r == ERR_NONE)
		r = pool_long(rq, e);
	if (r == ERR_NONE)
		r = open_stored(rq, &b, &fd, e);
	if (r != ERR_NONE)
		return r;
	argv[2] = in.dir != NULL ? in.dir : b.dir;
	c.d.idle_ms = IDLE_MS;
	c.d.stays = true;
	r = fs_call_open(rq, LINK_CREATE, argv, 3, &c, e);
	return r == ERR_NONE ? restore_run(rq, &c, &b, fd, e) : r;
}

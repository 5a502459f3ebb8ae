/* A directory as an archive, and back: warren-bundle does it inside. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/wire.h"
#include "fcgi/answer.h"
#include "fcgi/file_body.h"
#include "fcgi/file_raw.h"
#include "fcgi/pool.h"

#define PROGRAM "/opt/warren/bin/warren-bundle"
#define PIECE_BYTES (256U * KIB)

struct format {
	const char *name;
	const char *type;
};

static const struct format formats[] = {
    {"tar", "application/x-tar"},
    {"tar.gz", "application/gzip"},
    {"tar.zst", "application/zstd"},
    {"zip", "application/zip"},
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static enum err archive_format(struct request *rq, const struct format **out,
			       struct errinfo *e)
{
	char name[16] = "tar";

	if (route_query_has(rq, "format") &&
	    !route_query(rq, "format", name, sizeof(name)))
		name[0] = '\0';
	for (size_t i = 0; i < FORMATS; i++) {
		if (strcmp(name, formats[i].name) == 0) {
			*out = &formats[i];
			return ERR_NONE;
		}
	}
	return err_http_field(rq, e, "format",
			      "must be tar, tar.gz, tar.zst or zip");
}

/* ---- out ---- */

/* "name.tar.gz" for the directory's name. */
static void archive_name(struct request *rq, const char *path,
			 const struct format *f, bool download)
{
	OWN(buf_free) struct buf b = BUF_INIT(2 * FS_CALL_PATH_MAX);
	size_t n = strlen(path);

	while (n > 0 && path[n - 1] == '/')
		n--;
	if (n == 0 || (n == 1 && path[0] == '.'))
		buf_adds(&b, "workspace");
	else
		buf_add(&b, path, n);
	buf_addf(&b, ".%s", f->name);
	file_raw_name(rq, buf_str(&b), download);
}

/* Chunk by chunk; a length of 0 says that it is whole. */
static enum err archive_send(struct request *rq, struct fs_call *c,
			     struct errinfo *e)
{
	OWN(own_mem) char *p = malloc(PIECE_BYTES);
	uint32_t left = 0;
	size_t got;
	enum err r = p != NULL ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "archive");

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
			r = err_set(e, ERR_PEER, 0, "archive broke off");
		if (r == ERR_NONE)
			r = answer_write(rq, p, got, e);
		left -= (uint32_t)got;
	}
	answer_break(rq);
	return r;
}

enum err archive_get(struct request *rq, struct errinfo *e)
{
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	const struct format *f = NULL;
	static const char *const names[] = {"format", "download", NULL};
	const char *argv[] = {PROGRAM, "pack", NULL, file_raw_path(rq)};
	bool download = false;
	enum err r;

	c.op = "archive.create";
	file_body_op(rq, c.op);
	r = route_query_only(rq, names, e);
	if (r == ERR_NONE)
		r = archive_format(rq, &f, e);
	if (r == ERR_NONE)
		r = route_query_flag(rq, "download", &download, e);
	if (r != ERR_NONE)
		return r;
	argv[2] = f->name;
	r = fs_call_open(rq, LINK_START, argv, 4, &c, e);
	if (r == ERR_NONE)
		r = fs_call_head(&c, e);
	if (r == ERR_NONE && c.head.payload != FS_UNTIL_END)
		r = err_set(e, ERR_PEER, 0, "an archive of its own length");
	if (r == ERR_NONE)
		r = pool_long(rq, e);
	if (r != ERR_NONE)
		return r;
	archive_name(rq, argv[3], f, download);
	answer_begin(rq, 200, f->type, -1);
	route_park(rq);
	return archive_send(rq, &c, e);
}

/* ---- in ---- */

static enum err archive_refused(struct request *rq, struct fs_call *c,
				struct errinfo *e)
{
	char why[FS_WHY_MAX + 1];
	size_t n = (size_t)c->head.payload;
	enum err r = direct_get_all(&c->d, why, n, e);

	if (r != ERR_NONE)
		return r;
	why[n] = '\0';
	err_http_text(rq, "path", c->paths[0]);
	return err_http_fail(rq, e, HTTP_INVALID_ARCHIVE,
			     "The archive cannot be unpacked: %s", why);
}

static enum err archive_done(struct request *rq, struct fs_call *c,
			     const char *path, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;
	uint64_t v[2]; /* entries, bytes */
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	if (c->head.payload != sizeof(v))
		return err_set(e, ERR_PEER, 0, "an unpacking without numbers");
	r = direct_get_all(&c->d, v, sizeof(v), e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_text(&o, "path", path);
	json_out_int(&o, "entries", (int64_t)(le64toh(v[0]) & INT64_MAX));
	json_out_int(&o, "bytes", (int64_t)(le64toh(v[1]) & INT64_MAX));
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

enum err archive_put(struct request *rq, struct errinfo *e)
{
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	static const char *const names[] = {"format", "links", NULL};
	char links[8] = "inside";
	const char *argv[] = {PROGRAM, "unpack", links, file_raw_path(rq)};
	const struct format *f;
	enum err r;

	c.op = "archive.extract";
	file_body_op(rq, c.op);
	/* What it is the program sees; who names it names one we know. */
	r = route_query_only(rq, names, e);
	if (r == ERR_NONE)
		r = archive_format(rq, &f, e);
	if (r != ERR_NONE)
		return r;
	if (route_query_has(rq, "links") &&
	    (!route_query(rq, "links", links, sizeof(links)) ||
	     (strcmp(links, "inside") != 0 && strcmp(links, "all") != 0)))
		return err_http_field(rq, e, "links", "must be inside or all");
	r = fs_call_open(rq, LINK_CREATE, argv, 4, &c, e);
	if (r == ERR_NONE)
		r = file_raw_feed(rq, &c, e);
	if (r == ERR_NONE)
		r = fs_call_put_end(&c, e);
	if (r == ERR_NONE)
		r = fs_call_try(&c, e);
	if (r != ERR_NONE)
		return r;
	if (c.head.status == FS_BAD_ARCHIVE)
		return archive_refused(rq, &c, e);
	if (c.head.status != FS_OK)
		return fs_call_failed(&c, e);
	return archive_done(rq, &c, argv[3], e);
}

/* Raw files: GET and HEAD. Bytes as they are, in ranges, if they changed. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/file_cond.h"
#include "fcgi/file_mime.h"
#include "fcgi/file_raw.h"
#include "fcgi/fs_call.h"
#include "fcgi/pool.h"

#define LOOK_BYTES 4096U /* of a file, to tell its type */
#define PIECE_BYTES (256U * KIB)

/* One request to a serving executor: base/fs_msg.h. */
static enum err raw_ask(struct fs_call *c, uint64_t at, uint64_t n,
			struct errinfo *e)
{
	uint64_t rq[2] = {htole64(at), htole64(n)};

	c->left = n;
	return direct_put(&c->d, rq, sizeof(rq), e);
}

static enum err raw_type(struct fs_call *c, const char *path, const char **type,
			 struct errinfo *e)
{
	OWN(own_mem) char *p = malloc(LOOK_BYTES);
	uint64_t size = c->head.meta.size;
	size_t n = size < LOOK_BYTES ? (size_t)size : LOOK_BYTES;
	enum err r = ERR_NONE;
	bool text;

	if (p == NULL)
		return err_set(e, ERR_NOMEM, 0, "file");
	if (n > 0)
		r = raw_ask(c, 0, n, e);
	if (r == ERR_NONE)
		r = direct_get_all(&c->d, p, n, e);
	if (r != ERR_NONE)
		return r;
	text = file_mime_text(p, n, n == size);
	*type = file_mime_type(path, p, n, text);
	return ERR_NONE;
}

/* What was promised does not come: the client must not take it for whole. */
static enum err raw_body(struct request *rq, struct fs_call *c,
			 struct errinfo *e)
{
	OWN(own_mem) char *p = malloc(PIECE_BYTES);
	enum err r = p != NULL ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "file");
	size_t got = 1;

	while (r == ERR_NONE && got > 0) {
		r = fs_call_get(c, p, PIECE_BYTES, &got, e);
		if (r == ERR_NONE && got > 0)
			r = answer_write(rq, p, got, e);
	}
	if (r != ERR_NONE)
		answer_break(rq);
	return r;
}

static enum err raw_send(struct request *rq, struct fs_call *c,
			 const char *type, uint64_t at, uint64_t n,
			 struct errinfo *e)
{
	uint64_t size = c->head.meta.size;
	bool part = n < size;
	enum err r = ERR_NONE;

	if (part)
		answer_header(rq, "Content-Range", "bytes %llu-%llu/%llu",
			      (unsigned long long)at,
			      (unsigned long long)(at + n - 1),
			      (unsigned long long)size);
	if (rq->method != METHOD_HEAD && n > 0) {
		r = raw_ask(c, at, n, e);
		direct_widen_out(&c->d, n);
		if (r == ERR_NONE && n > LOOK_BYTES)
			r = pool_long(rq, e);
	}
	if (r != ERR_NONE)
		return r;
	answer_begin(rq, part ? 206 : 200, type, (int64_t)n);
	if (rq->method == METHOD_HEAD || n == 0)
		return ERR_NONE;
	route_park(rq);
	return raw_body(rq, c, e);
}

static enum err raw_none(struct request *rq, uint64_t size, struct errinfo *e)
{
	answer_header(rq, "Content-Range", "bytes */%llu",
		      (unsigned long long)size);
	json_out_int(err_http_context(rq), "size", (int64_t)size);
	return err_http_fail(rq, e, HTTP_RANGE_NOT_SATISFIABLE,
			     "The file has no such bytes");
}

static enum err raw_answer(struct request *rq, struct fs_call *c,
			   const char *path, bool download, struct errinfo *e)
{
	struct file_state s;
	const char *type = NULL;
	uint64_t at, n;
	enum err r;

	file_cond_state(&c->head, &s);
	switch (file_cond_get(rq, &s)) {
	case FILE_FAILED:
		return err_http_fail(rq, e, HTTP_PRECONDITION_FAILED,
				     "The file is another one meanwhile");
	case FILE_NOT_MODIFIED:
		file_cond_headers(rq, &s);
		answer_empty(rq, 304);
		return ERR_NONE;
	case FILE_GO:
		break;
	}
	if (file_cond_range(rq, &s, &at, &n) == FILE_RANGE_NONE)
		return raw_none(rq, s.size, e);
	r = raw_type(c, path, &type, e);
	if (r != ERR_NONE)
		return r;
	file_cond_headers(rq, &s);
	answer_header(rq, "Accept-Ranges", "bytes");
	file_raw_name(rq, path, download);
	return raw_send(rq, c, type, at, n, e);
}

enum err file_raw_get(struct request *rq, struct errinfo *e)
{
	static const char *const names[] = {"download", NULL};
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	const char *argv[] = {"serve", file_raw_path(rq)};
	bool download = false;
	enum err r;

	c.op = "file.read";
	err_http_operation(rq, c.op);
	r = route_query_only(rq, names, e);
	if (r == ERR_NONE)
		r = route_query_flag(rq, "download", &download, e);
	if (r == ERR_NONE)
		r = fs_call_open(rq, LINK_START, argv, 2, &c, e);
	if (r == ERR_NONE)
		r = fs_call_head(&c, e);
	if (r == ERR_NONE && c.head.payload != FS_UNTIL_END)
		r = err_set(e, ERR_PEER, 0, "a file of its own length");
	if (r != ERR_NONE)
		return r;
	return raw_answer(rq, &c, argv[1], rq->attach || download, e);
}

/* Reading a file: whole as JSON, or in pieces as events. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/bulk.h"
#include "fcgi/file_body.h"
#include "fcgi/file_mime.h"
#include "fcgi/json_text.h"
#include "fcgi/share.h"
#include "fcgi/sse.h"
#include "fcgi/utf8.h"

#define READ_MAX (64U * MIB) /* what one call can write can be read by one */
#define READ_MAX_TEXT "67108864"
#define CHUNK_BYTES 65535U /* of three: base64 of it has no padding */
#define READ_STEP (256U << 10)
#define STEP_BYTES (48U << 10) /* of three, too */
#define WORD_MAX 64

enum wanted { WANT_ANY, WANT_TEXT, WANT_BASE64 };

struct read_in {
	const char *path;
	const char *encoding;
};

#define AT(member) offsetof(struct read_in, member)

static const struct json_field read_fields[] = {
    FILE_PATH_FIELD("path", AT(path)),
    {"encoding", NULL, JSON_TEXT, AT(encoding), false, 0, WORD_MAX},
    FILE_SESSION_FIELD,
};

static enum err read_body(struct request *rq, struct read_in *in,
			  enum wanted *want, struct errinfo *e)
{
	enum err r = body_json(rq, read_fields, JSON_COUNT(read_fields), in, e);
	const char *enc = in->encoding;

	*want = WANT_ANY;
	if (r != ERR_NONE || enc == NULL)
		return r;
	if (strcmp(enc, "base64") == 0)
		*want = WANT_BASE64;
	else if (strcmp(enc, "utf-8") == 0 || strcmp(enc, "utf8") == 0)
		*want = WANT_TEXT;
	else
		return err_http_field(rq, e, "encoding",
				      "must be utf-8 or base64");
	return ERR_NONE;
}

/* What is told of a file's form. */
struct form {
	const char *mime;
	bool binary;
	bool base64;
};

/* Text that is asked for but is none is never damaged: it comes as base64. */
static struct form form_of(const char *path, const char *p, size_t n,
			   bool whole, enum wanted want)
{
	bool text = file_mime_text(p, n, whole);
	struct form f = {.mime = file_mime_type(path, p, n, text)};

	f.binary = !text || file_mime_binary(f.mime);
	f.base64 = want == WANT_BASE64 || !text ||
		   (f.binary && want == WANT_ANY);
	return f;
}

static enum err read_too_large(struct fs_call *c, struct errinfo *e)
{
	struct json_out *o = err_http_context(c->d.rq);

	json_out_int(o, "maxSize", READ_MAX);
	json_out_int(o, "actualSize", (int64_t)c->head.meta.size);
	err_http_suggest(c->d.rq, "Read it raw: GET /files/{path}, files.get() "
				  "of the client; or POST /api/read/stream");
	return fs_call_failed(c, e);
}

static enum err read_whole(struct fs_call *c, struct buf *b, struct errinfo *e)
{
	size_t got = 1;
	enum err r;

	if (c->head.payload > READ_MAX)
		return err_set(e, ERR_PEER, 0, "file over its maximum");
	r = share_wait(c->d.rq, (size_t)c->head.payload, e);
	if (r != ERR_NONE)
		return r;
	bulk_take(b, (size_t)c->head.payload);
	if (c->head.payload > 0 &&
	    buf_space(b, (size_t)c->head.payload + READ_STEP) == NULL)
		return err_set(e, ERR_NOMEM, 0, "file");
	direct_widen_out(&c->d, (size_t)c->head.payload);
	while (r == ERR_NONE && got > 0) {
		void *p = buf_space(b, READ_STEP);

		if (p == NULL)
			return err_set(e, ERR_NOMEM, 0, "file");
		r = fs_call_get(c, p, READ_STEP, &got, e);
		if (r == ERR_NONE)
			buf_grow(b, got);
	}
	return r;
}

/* All of the answer but its content, without the last brace. */
static void read_head(struct json_out *o, const char *path,
		      const struct form *f, size_t size)
{
	file_body_start(o);
	json_out_text(o, "path", path);
	json_out_text(o, "encoding", f->base64 ? "base64" : "utf-8");
	json_out_bool(o, "isBinary", f->binary);
	json_out_text(o, "mimeType", f->mime);
	json_out_int(o, "size", (int64_t)size);
	json_out_now(o);
	json_out_end(o);
	if (json_out_ok(o))
		o->b.len--;
}

/* What needs no escape goes out as it is. */
static enum err send_text(struct request *rq, const char *p, size_t n,
			  struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(6 * STEP_BYTES + 64);
	enum err r = ERR_NONE;

	while (r == ERR_NONE && n > 0) {
		size_t part = json_text_plain(p, n);

		if (part >= STEP_BYTES) {
			r = answer_write(rq, p, part, e);
		} else {
			part = n < STEP_BYTES ? n : STEP_BYTES;
			buf_reset(&b);
			json_text_escape(&b, p, part);
			if (!buf_ok(&b))
				return err_set(e, ERR_NOMEM, 0, "answer");
			r = answer_write(rq, b.data, b.len, e);
		}
		p += part;
		n -= part;
	}
	return r;
}

static enum err send_base64(struct request *rq, const char *p, size_t n,
			    struct errinfo *e)
{
	OWN(own_mem) char *b = malloc(STEP_BYTES / 3 * 4 + 1);
	enum err r = b != NULL ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "answer");

	while (r == ERR_NONE && n > 0) {
		size_t part = n < STEP_BYTES ? n : STEP_BYTES;

		sodium_bin2base64(b, STEP_BYTES / 3 * 4 + 1,
				  (const unsigned char *)p, part,
				  sodium_base64_VARIANT_ORIGINAL);
		r = answer_write(rq, b, (part + 2) / 3 * 4, e);
		p += part;
		n -= part;
	}
	return r;
}

/* The content goes out as it is written: no second copy of it is held. */
static enum err read_answer(struct request *rq, const char *path,
			    const struct buf *b, enum wanted want,
			    struct errinfo *e)
{
	static const char key[] = ",\"content\":\"", end[] = "\"}";
	OWN(json_out_free) struct json_out o;
	struct form f = form_of(path, buf_str(b), b->len, true, want);
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	read_head(&o, path, &f, b->len);
	if (!json_out_ok(&o))
		return err_set(e, ERR_NOMEM, 0, "answer");
	answer_begin(rq, 200, "application/json", -1);
	r = answer_write(rq, o.b.data, o.b.len, e);
	if (r == ERR_NONE)
		r = answer_write(rq, key, sizeof(key) - 1, e);
	if (r == ERR_NONE)
		r = (f.base64 ? send_base64 : send_text)(rq, buf_str(b), b->len,
							 e);
	if (r == ERR_NONE)
		r = answer_write(rq, end, sizeof(end) - 1, e);
	if (r != ERR_NONE)
		answer_break(rq);
	return r;
}

enum err file_read(struct request *rq, struct errinfo *e)
{
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	OWN(bulk_give) struct buf b = BUF_INIT(READ_MAX + 2 * READ_STEP);
	struct read_in in = {0};
	enum wanted want;
	const char *argv[] = {"read", NULL, "0", "0", READ_MAX_TEXT};
	enum err r;

	c.op = "file.read";
	file_body_op(rq, c.op);
	r = read_body(rq, &in, &want, e);
	argv[1] = in.path;
	if (r == ERR_NONE)
		r = fs_call_open(rq, LINK_START, argv, 5, &c, e);
	if (r == ERR_NONE)
		r = fs_call_try(&c, e);
	if (r != ERR_NONE)
		return r;
	if (c.head.status == FS_TOO_LARGE)
		return read_too_large(&c, e);
	if (c.head.status != FS_OK)
		return fs_call_failed(&c, e);
	r = read_whole(&c, &b, e);
	return r == ERR_NONE ? read_answer(rq, in.path, &b, want, e) : r;
}

/* ---- in pieces ---- */

struct reading {
	struct fs_call call;
	struct sse sse;
	struct form form;
	struct utf8 cut; /* a character between two chunks */
	uint64_t sent;
	char data[CHUNK_BYTES];
	size_t n; /* in data */
};

static void reading_free(struct reading **x)
{
	if (*x != NULL)
		fs_call_close(&(*x)->call);
	free(*x);
}

/* Fill data: all chunks but the last have the same size. */
static enum err reading_fill(struct reading *x, struct errinfo *e)
{
	size_t got = 1;
	enum err r = ERR_NONE;

	x->n = 0;
	while (r == ERR_NONE && got > 0 && x->n < sizeof(x->data)) {
		r = fs_call_get(&x->call, x->data + x->n,
				sizeof(x->data) - x->n, &got, e);
		if (r == ERR_NONE)
			x->n += got;
	}
	return r;
}

static enum err tell_metadata(struct reading *x, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;

	json_out_init(&o, FILE_ANSWER_MAX);
	json_out_object(&o, NULL);
	json_out_text(&o, "type", "metadata");
	json_out_text(&o, "mimeType", x->form.mime);
	json_out_int(&o, "size", (int64_t)x->call.head.payload);
	json_out_bool(&o, "isBinary", x->form.binary);
	json_out_text(&o, "encoding", x->form.base64 ? "base64" : "utf-8");
	json_out_end(&o);
	return sse_send(&x->sse, 0, &o, e);
}

/* ERR_ARG: what began as text goes on as something else. */
static enum err tell_chunk(struct reading *x, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;
	OWN(buf_free) struct buf text = BUF_INIT(3 * CHUNK_BYTES + 16);

	json_out_init(&o, 6 * CHUNK_BYTES + FILE_ANSWER_MAX);
	json_out_object(&o, NULL);
	json_out_text(&o, "type", "chunk");
	if (x->form.base64) {
		json_out_base64(&o, "data", x->data, x->n);
	} else {
		size_t had = x->cut.have;

		utf8_decode(&x->cut, x->data, x->n, &text);
		if (text.len + x->cut.have != x->n + had ||
		    memchr(x->data, 0, x->n) != NULL)
			return err_set(e, ERR_ARG, 0, "no text");
		json_out_textn(&o, "data", buf_str(&text), text.len);
	}
	json_out_end(&o);
	x->sent += x->n;
	return sse_send(&x->sse, 0, &o, e);
}

static enum err tell_end(struct reading *x, const char *error,
			 struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;

	json_out_init(&o, FILE_ANSWER_MAX);
	json_out_object(&o, NULL);
	json_out_text(&o, "type", error != NULL ? "error" : "complete");
	if (error != NULL)
		json_out_text(&o, "error", error);
	else
		json_out_int(&o, "bytesRead", (int64_t)x->sent);
	json_out_end(&o);
	return sse_send(&x->sse, 0, &o, e);
}

static const char *why_ended(enum err r)
{
	if (r == ERR_ARG)
		return "The file is text at first and then not; "
		       "read it with encoding base64";
	if (r == ERR_TIMEOUT)
		return "The sandbox did not answer in time";
	if (r == ERR_PEER)
		return "The file got shorter while it was read";
	return "The transfer broke off";
}

static enum err reading_tell(struct reading *x, struct errinfo *e)
{
	enum err r = tell_metadata(x, e);

	while (r == ERR_NONE && x->n > 0) {
		r = tell_chunk(x, e);
		if (r == ERR_NONE)
			r = reading_fill(x, e);
	}
	if (r == ERR_NONE && x->cut.have > 0)
		r = err_set(e, ERR_ARG, 0, "no text");
	if (r == ERR_GONE)
		return r;
	return tell_end(x, r == ERR_NONE ? NULL : why_ended(r), e);
}

static enum err reading_start(struct request *rq, struct reading *x,
			      struct errinfo *e)
{
	struct read_in in = {0};
	const char *argv[] = {"read", NULL, "0", "0", "0"};
	enum wanted want;
	enum err r = read_body(rq, &in, &want, e);

	argv[1] = in.path;
	if (r == ERR_NONE)
		r = fs_call_open(rq, LINK_START, argv, 5, &x->call, e);
	if (r == ERR_NONE)
		r = fs_call_head(&x->call, e);
	if (r == ERR_NONE)
		r = reading_fill(x, e);
	if (r != ERR_NONE)
		return r;
	x->form = form_of(in.path, x->data, x->n, x->call.left == 0, want);
	route_park(rq);
	return sse_begin(&x->sse, rq, e);
}

enum err file_read_stream(struct request *rq, struct errinfo *e)
{
	OWN(reading_free) struct reading *x = calloc(1, sizeof(*x));
	enum err r;

	if (x == NULL)
		return err_set(e, ERR_NOMEM, 0, "reading");
	x->call = (struct fs_call)FS_CALL_INIT;
	x->call.op = "file.read";
	file_body_op(rq, x->call.op);
	r = reading_start(rq, x, e);
	return r == ERR_NONE ? reading_tell(x, e) : r;
}

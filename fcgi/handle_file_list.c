/* Listing a directory. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/body.h"
#include "fcgi/file_body.h"
#include "fcgi/file_meta.h"
#include "fcgi/launch.h"
#include "fcgi/utf8.h"

#define LIST_MAX 100000U
#define LIST_JSON_MAX (96U * MIB)
/* Beyond this no entry is added; one is never larger than the rest. */
#define LIST_JSON_FULL (64U * MIB)
#define LIST_READ 65536U
#define CURSOR_MAX (2 * FS_CALL_PATH_MAX)

struct list_in {
	const char *path;
	struct json_object *options;
	bool recursive;
	bool hidden;
	int64_t limit;
	const char *cursor;
};

#define AT(member) offsetof(struct list_in, member)

static const struct json_field list_fields[] = {
    FILE_PATH_FIELD("path", AT(path)),
    {"options", NULL, JSON_OBJECT, AT(options), false, 0, 0},
    FILE_SESSION_FIELD,
};

static const struct json_field option_fields[] = {
    {"recursive", NULL, JSON_BOOL, AT(recursive), false, 0, 0},
    {"includeHidden", NULL, JSON_BOOL, AT(hidden), false, 0, 0},
    {"limit", NULL, JSON_INT, AT(limit), false, 1, LIST_MAX},
    {"cursor", NULL, JSON_TEXT, AT(cursor), false, 1, CURSOR_MAX},
};

struct listing {
	struct json_out o;
	struct buf base; /* absolute, ends in a slash */
	struct buf last; /* the path of the last entry */
	uint64_t count;
	bool full;
	bool truncated;
	bool skipped;
};

static void listing_free(struct listing *l)
{
	json_out_free(&l->o);
	buf_free(&l->base);
	buf_free(&l->last);
}

/* The absolute form of ${path}, without empty parts and dots. */
static void put_base(struct buf *b, const char *path)
{
	size_t n;

	if (path[0] != '/')
		buf_adds(b, LAUNCH_CWD);
	for (; *path != '\0'; path += n) {
		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n == 0 || (n == 1 && path[0] == '.'))
			continue;
		buf_addc(b, '/');
		buf_add(b, path, n);
	}
	buf_addc(b, '/');
}

static void put_name(struct listing *l, const struct fs_record *rec)
{
	const char *slash = strrchr(rec->path, '/');
	const char *name = slash != NULL ? slash + 1 : rec->path;
	size_t base = l->base.len;

	json_out_text(&l->o, "name", name);
	buf_add(&l->base, rec->path, rec->path_len);
	json_out_textn(&l->o, "absolutePath", buf_str(&l->base), l->base.len);
	l->base.len = base;
	json_out_text(&l->o, "relativePath", rec->path);
	/* Text cannot hold every name; these are its bytes. */
	if (!utf8_ok(rec->path, rec->path_len))
		json_out_base64(&l->o, "relativePathBase64", rec->path,
				rec->path_len);
}

static void put_entry(struct listing *l, const struct fs_record *rec)
{
	struct json_out *o = &l->o;

	json_out_object(o, NULL);
	put_name(l, rec);
	file_meta_put(o, &rec->meta);
	json_out_end(o);
	l->count++;
	buf_reset(&l->last);
	buf_add(&l->last, rec->path, rec->path_len);
}

/* One record; ${end}: it was the last. */
static void take_record(struct listing *l, const struct fs_record *rec,
			bool *end)
{
	if (rec->kind == FS_RECORD_END) {
		*end = true;
		l->truncated = rec->truncated || l->full;
		l->skipped = rec->skipped;
		return;
	}
	if (l->count >= LIST_MAX || l->o.b.len >= LIST_JSON_FULL)
		l->full = true;
	else
		put_entry(l, rec);
}

/* The cursor is the last entry's path: the order is that of the bytes. */
static void put_cursor(struct listing *l)
{
	char text[CURSOR_MAX + 1];

	if (l->last.len == 0 ||
	    sodium_base64_ENCODED_LEN(
		l->last.len, sodium_base64_VARIANT_URLSAFE_NO_PADDING) >
		sizeof(text))
		return;
	sodium_bin2base64(text, sizeof(text),
			  (const unsigned char *)l->last.data, l->last.len,
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	json_out_text(&l->o, "cursor", text);
}

static enum err take_cursor(struct request *rq, const struct list_in *in,
			    char after[CURSOR_MAX + 1], struct errinfo *e)
{
	const char *end = NULL;
	size_t n = 0;

	after[0] = '\0';
	if (in->cursor == NULL)
		return ERR_NONE;
	if (sodium_base642bin((unsigned char *)after, CURSOR_MAX, in->cursor,
			      strlen(in->cursor), NULL, &n, &end,
			      sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
	    *end != '\0' || memchr(after, 0, n) != NULL)
		return err_http_field(rq, e, "cursor",
				      "must be that of the list before");
	after[n] = '\0';
	return ERR_NONE;
}

/* All records in ${b}, which keeps the rest of one. */
static enum err take_records(struct listing *l, struct buf *b, bool *end,
			     struct fs_call *c, struct errinfo *e)
{
	size_t at = 0;
	size_t used = 1;
	struct fs_record rec;
	enum err r;

	while (!*end && used > 0 && at < b->len) {
		r = fs_get_record((const uint8_t *)b->data + at, b->len - at,
				  &used, &rec, e);
		if (r != ERR_NONE)
			return r;
		if (used == 0)
			break;
		take_record(l, &rec, end);
		if (*end && rec.status != FS_OK) {
			c->head.status = rec.status;
			return fs_call_failed(c, e);
		}
		at += used;
	}
	buf_drop(b, at);
	return ERR_NONE;
}

static enum err list_read(struct listing *l, struct fs_call *c,
			  struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(LIST_READ + 2 * FS_RECORD_MAX);
	bool end = false;
	size_t got;
	enum err r;

	if (c->head.payload != FS_UNTIL_END)
		return err_set(e, ERR_PEER, 0, "listing of a known length");
	while (!end) {
		void *p = buf_space(&b, LIST_READ);

		if (p == NULL)
			return err_set(e, ERR_NOMEM, 0, "listing");
		r = direct_get(&c->d, p, LIST_READ, &got, e);
		if (r == ERR_NONE && got == 0)
			r = err_set(e, ERR_PEER, 0, "listing broke off");
		if (r != ERR_NONE)
			return r;
		buf_grow(&b, got);
		r = take_records(l, &b, &end, c, e);
		if (r != ERR_NONE)
			return r;
	}
	return ERR_NONE;
}

static enum err list_answer(struct request *rq, struct listing *l,
			    struct errinfo *e)
{
	json_out_end(&l->o);
	json_out_int(&l->o, "count", (int64_t)l->count);
	if (l->truncated) {
		json_out_bool(&l->o, "truncated", true);
		put_cursor(l);
	}
	if (l->skipped)
		json_out_bool(&l->o, "unreadable", true);
	return file_body_send(rq, &l->o, e);
}

static enum err list_body(struct request *rq, struct list_in *in,
			  struct errinfo *e)
{
	enum err r = body_json(rq, list_fields, JSON_COUNT(list_fields), in, e);

	if (r != ERR_NONE || in->options == NULL)
		return r;
	r = json_in_read_obj(&rq->body, in->options, option_fields,
			     JSON_COUNT(option_fields), in, e);
	if (r == ERR_ARG)
		return err_http_field(rq, e, rq->body.field, rq->body.why);
	return r;
}

enum err file_list(struct request *rq, struct errinfo *e)
{
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	OWN(listing_free)
	struct listing l = {.base = BUF_INIT(3 * FS_CALL_PATH_MAX),
			    .last = BUF_INIT(FS_RECORD_MAX)};
	struct list_in in = {.limit = LIST_MAX};
	char max[24], after[CURSOR_MAX + 1];
	const char *argv[] = {"list", NULL, "0", "0", max, after};
	enum err r;

	json_out_init(&l.o, LIST_JSON_MAX);
	c.op = "directory.list";
	file_body_op(rq, c.op);
	r = list_body(rq, &in, e);
	if (r == ERR_NONE)
		r = take_cursor(rq, &in, after, e);
	snprintf(max, sizeof(max), "%lld", (long long)in.limit);
	argv[1] = in.path;
	argv[2] = in.recursive ? "1" : "0";
	argv[3] = in.hidden ? "1" : "0";
	if (r == ERR_NONE)
		r = fs_call_open(rq, LINK_START, argv, 6, &c, e);
	if (r == ERR_NONE)
		r = fs_call_head(&c, e);
	if (r != ERR_NONE)
		return r;
	put_base(&l.base, in.path);
	file_body_start(&l.o);
	json_out_text(&l.o, "path", in.path);
	json_out_array(&l.o, "files");
	r = list_read(&l, &c, e);
	return r == ERR_NONE ? list_answer(rq, &l, e) : r;
}

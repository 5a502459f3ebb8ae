/* What the wire lacks: stat, copy, chmod, and many files in one call. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/body.h"
#include "fcgi/file_body.h"
#include "fcgi/file_cond.h"
#include "fcgi/file_meta.h"

#define FILES_MAX 10000
#define MODE_MAX 5

struct more_in {
	const char *path;
	const char *to;
	const char *mode;
	bool recursive;
	bool overwrite;
	bool follow;
};

#define AT(member) offsetof(struct more_in, member)

static const struct json_field stat_fields[] = {
    FILE_PATH_FIELD("path", AT(path)),
    {"followLinks", NULL, JSON_BOOL, AT(follow), false, 0, 0},
    FILE_SESSION_FIELD,
};

static const struct json_field copy_fields[] = {
    FILE_PATH_FIELD("sourcePath", AT(path)),
    FILE_PATH_FIELD("destinationPath", AT(to)),
    {"recursive", NULL, JSON_BOOL, AT(recursive), false, 0, 0},
    {"overwrite", NULL, JSON_BOOL, AT(overwrite), false, 0, 0},
    FILE_SESSION_FIELD,
};

static const struct json_field chmod_fields[] = {
    FILE_PATH_FIELD("path", AT(path)),
    {"mode", NULL, JSON_TEXT, AT(mode), true, 3, MODE_MAX},
    {"recursive", NULL, JSON_BOOL, AT(recursive), false, 0, 0},
    FILE_SESSION_FIELD,
};

static bool mode_ok(const char *s)
{
	size_t n = strlen(s);

	return n >= 3 && strspn(s, "01234567") == n &&
	       (n < MODE_MAX || s[0] == '0');
}

static enum err bad_mode(struct request *rq, struct errinfo *e)
{
	return err_http_field(rq, e, "mode",
			      "must be an octal mode, such as 0644");
}

/* ---- stat ---- */

static enum err stat_link(struct fs_call *c, struct json_out *o,
			  struct errinfo *e)
{
	char text[FS_CALL_PATH_MAX];
	uint64_t n = c->head.payload;
	enum err r;

	if (n > sizeof(text))
		return err_set(e, ERR_PEER, 0, "a link of %llu bytes",
			       (unsigned long long)n);
	r = direct_get_all(&c->d, text, (size_t)n, e);
	if (r == ERR_NONE)
		json_out_textn(o, "target", text, (size_t)n);
	return r;
}

enum err file_stat(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	struct more_in in = {.follow = true};
	const char *argv[] = {"stat", NULL, "0"};
	struct file_state s;
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	c.op = "file.stat";
	file_body_op(rq, c.op);
	r = body_json(rq, stat_fields, JSON_COUNT(stat_fields), &in, e);
	argv[1] = in.path;
	argv[2] = in.follow ? "0" : "1";
	if (r == ERR_NONE)
		r = fs_call_open(rq, LINK_START, argv, 3, &c, e);
	if (r == ERR_NONE)
		r = fs_call_head(&c, e);
	if (r != ERR_NONE)
		return r;
	file_body_start(&o);
	json_out_text(&o, "path", in.path);
	file_meta_put(&o, &c.head.meta);
	json_out_int(&o, "uid", c.head.uid);
	json_out_int(&o, "gid", c.head.gid);
	json_out_int(&o, "links", c.head.links);
	file_cond_state(&c.head, &s);
	if (c.head.meta.type == FS_TYPE_FILE)
		json_out_text(&o, "etag", s.tag);
	if (c.head.payload > 0)
		r = stat_link(&c, &o, e);
	return r == ERR_NONE ? file_body_send(rq, &o, e) : r;
}

/* ---- copy, chmod ---- */

enum err file_copy(struct request *rq, struct errinfo *e)
{
	static const char op[] = "file.copy";
	OWN(json_out_free) struct json_out o;
	struct more_in in = {0};
	const char *argv[] = {"copy", NULL, NULL, "0", "0"};
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	file_body_op(rq, op);
	r = body_json(rq, copy_fields, JSON_COUNT(copy_fields), &in, e);
	argv[1] = in.path;
	argv[2] = in.to;
	argv[3] = in.recursive ? "1" : "0";
	argv[4] = in.overwrite ? "1" : "0";
	if (r == ERR_NONE)
		r = file_body_run(rq, LINK_CREATE, op, argv, 5, e);
	if (r != ERR_NONE)
		return r;
	file_body_start(&o);
	json_out_text(&o, "path", in.path);
	json_out_text(&o, "newPath", in.to);
	return file_body_send(rq, &o, e);
}

enum err file_chmod(struct request *rq, struct errinfo *e)
{
	static const char op[] = "file.chmod";
	OWN(json_out_free) struct json_out o;
	struct more_in in = {0};
	const char *argv[] = {"chmod", NULL, NULL, "0"};
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	file_body_op(rq, op);
	r = body_json(rq, chmod_fields, JSON_COUNT(chmod_fields), &in, e);
	if (r == ERR_NONE && !mode_ok(in.mode))
		return bad_mode(rq, e);
	argv[1] = in.path;
	argv[2] = in.mode;
	argv[3] = in.recursive ? "1" : "0";
	if (r == ERR_NONE)
		r = file_body_run(rq, LINK_CREATE, op, argv, 4, e);
	if (r != ERR_NONE)
		return r;
	file_body_start(&o);
	json_out_text(&o, "path", in.path);
	return file_body_send(rq, &o, e);
}

/* ---- many files ---- */

struct bulk_file {
	const char *path;
	struct json_blob content;
	const char *encoding;
	const char *mode;
};

#define BULK(member) offsetof(struct bulk_file, member)

static const struct json_field file_fields[] = {
    FILE_PATH_FIELD("path", BULK(path)),
    {"content", NULL, JSON_BLOB, BULK(content), true, 0, JSON_IN_TEXT_MAX},
    {"encoding", NULL, JSON_TEXT, BULK(encoding), false, 0, 64},
    {"mode", NULL, JSON_TEXT, BULK(mode), false, 1, MODE_MAX},
};

struct bulk_in {
	struct json_object *files;
	bool sync;
};

static const struct json_field bulk_fields[] = {
    {"files", NULL, JSON_ANY, offsetof(struct bulk_in, files), true, 0, 0},
    {"sync", NULL, JSON_BOOL, offsetof(struct bulk_in, sync), false, 0, 0},
    FILE_SESSION_FIELD,
};

static enum err bulk_put(struct request *rq, const struct bulk_file *f,
			 bool sync, struct fs_call *c, struct errinfo *e)
{
	const char *const argv[] = {"write", f->path,
				    f->mode != NULL ? f->mode : "-",
				    sync ? "1" : "0"};
	OWN(own_mem) char *own = NULL;
	struct json_blob bytes;
	enum err r = file_body_bytes(rq, &f->content, f->encoding, &own, &bytes,
				     e);

	if (r == ERR_NONE && f->mode != NULL && !mode_ok(f->mode))
		return bad_mode(rq, e);
	if (r == ERR_NONE)
		r = fs_call_open(rq, LINK_CREATE, argv, 4, c, e);
	if (r == ERR_NONE)
		r = fs_call_put(c, bytes.p, bytes.n, e);
	if (r == ERR_NONE)
		r = fs_call_put_end(c, e);
	return r == ERR_NONE ? fs_call_head(c, e) : r;
}

/* A failure that has words is this file's; another one ends the call. */
static enum err bulk_one(struct request *rq, const struct bulk_file *f,
			 bool sync, struct json_out *o, bool *ok,
			 struct errinfo *e)
{
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	enum err r;

	c.op = "file.write";
	r = bulk_put(rq, f, sync, &c, e);
	*ok = r == ERR_NONE;
	if (r != ERR_NONE && (rq->broken || rq->sandbox.id[0] == '\0' ||
			      rq->failure.code == HTTP_CODE_NONE))
		return r;
	json_out_object(o, NULL);
	json_out_text(o, "path", f->path);
	json_out_bool(o, "success", *ok);
	if (*ok) {
		json_out_int(o, "size", (int64_t)c.head.meta.size);
	} else {
		json_out_object(o, "error");
		json_out_text(o, "code", err_http_name(rq->failure.code));
		json_out_text(o, "message", rq->failure.message);
		json_out_int(o, "httpStatus",
			     err_http_status(rq->failure.code));
		json_out_end(o);
		json_out_free(&rq->failure.context);
		rq->failure = (struct failure){0};
	}
	json_out_end(o);
	return ERR_NONE;
}

/* All are read before the first one is written. */
static enum err bulk_read(struct request *rq, struct json_object *list,
			  struct bulk_file **out, size_t *n, struct errinfo *e)
{
	OWN(own_mem) struct bulk_file *files = NULL;
	enum err r = ERR_NONE;

	if (!json_object_is_type(list, json_type_array) ||
	    json_object_array_length(list) < 1 ||
	    json_object_array_length(list) > FILES_MAX)
		return err_http_field(rq, e, "files",
				      "must be a list of 1 to 10000 files");
	*n = json_object_array_length(list);
	files = calloc(*n, sizeof(*files));
	if (files == NULL)
		return err_set(e, ERR_NOMEM, 0, "files");
	for (size_t i = 0; i < *n && r == ERR_NONE; i++) {
		struct json_object *f = json_object_array_get_idx(list, i);

		if (!json_object_is_type(f, json_type_object))
			return err_http_field(rq, e, "files",
					      "must be a list of objects");
		r = body_part(rq, f, file_fields, JSON_COUNT(file_fields),
			      &files[i], e);
	}
	if (r == ERR_NONE)
		*out = STEAL(files);
	return r;
}

enum err file_write_many(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;
	OWN(own_mem) struct bulk_file *files = NULL;
	struct bulk_in in = {.sync = true};
	bool ok, all = true;
	size_t n = 0;
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	file_body_op(rq, "file.write");
	rq->body.values_max = 5 * FILES_MAX + 16;
	r = body_json(rq, bulk_fields, JSON_COUNT(bulk_fields), &in, e);
	if (r == ERR_NONE)
		r = bulk_read(rq, in.files, &files, &n, e);
	if (r == ERR_NONE)
		r = link_ensure(rq, e);
	if (r != ERR_NONE)
		return r;
	json_out_init(&o, n * (6 * FS_CALL_PATH_MAX + 4096) + FILE_ANSWER_MAX);
	json_out_object(&o, NULL);
	json_out_array(&o, "files");
	for (size_t i = 0; i < n && r == ERR_NONE; i++) {
		r = bulk_one(rq, &files[i], in.sync, &o, &ok, e);
		all = all && ok;
	}
	if (r != ERR_NONE)
		return r;
	json_out_end(&o);
	json_out_bool(&o, "success", all);
	json_out_int(&o, "count", (int64_t)n);
	return file_body_send(rq, &o, e);
}

#include <json-c/json.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/body.h"
#include "fcgi/file_body.h"
#include "fcgi/launch.h"
#include "fcgi/session.h"
#include "fcgi/watch_body.h"

#define SINCE_MAX 128
#define SESSION_MAX 256
#define INOTIFY_INSTANCES 128 /* sandbox/limits.c */
#define INOTIFY_WATCHES 65536

#define AT(member) offsetof(struct watch_body, member)

static const struct json_field watch_fields[] = {
    FILE_PATH_FIELD("path", AT(path)),
    {"recursive", NULL, JSON_BOOL, AT(recursive), false, 0, 0},
    {"events", NULL, JSON_TEXTS, AT(events), false, 0, WATCH_TYPE_END},
    {"include", NULL, JSON_TEXTS, AT(include), false, 0, WATCH_GLOBS_MAX},
    {"exclude", NULL, JSON_TEXTS, AT(exclude), false, 0, WATCH_GLOBS_MAX},
    {"sessionId", NULL, JSON_TEXT, AT(session), false, 0, SESSION_MAX},
    {"since", NULL, JSON_TEXT, AT(since), false, 1, SINCE_MAX},
};

static size_t count(struct json_object *list)
{
	return list != NULL ? json_object_array_length(list) : 0;
}

static const char *text_at(struct json_object *list, size_t i)
{
	return json_object_get_string(json_object_array_get_idx(list, i));
}

static enum err read_types(struct request *rq, struct watch_body *b,
			   struct errinfo *e)
{
	size_t n = count(b->events);
	size_t i;

	b->types = n == 0 ? WATCH_TYPES_ALL : 0;
	for (i = 0; i < n; i++) {
		enum watch_type t;

		if (!watch_type_of(text_at(b->events, i), &t))
			return err_http_field(
			    rq, e, "events",
			    "must be some of create, modify, delete, "
			    "move_from, move_to, attrib");
		b->types |= 1U << t;
	}
	return ERR_NONE;
}

static enum err read_globs(struct request *rq, const char *field,
			   struct json_object *list, struct errinfo *e)
{
	size_t i;

	for (i = 0; i < count(list); i++) {
		const char *glob = text_at(list, i);
		size_t n = strlen(glob);

		if (n == 0 || n > WATCH_GLOB_MAX)
			return err_http_field(
			    rq, e, field,
			    "must have patterns of 1 to 512 bytes");
		if (strpbrk(glob, "[]{}") != NULL)
			return err_http_field(
			    rq, e, field,
			    "must be patterns of *, ? and **: [ ] { } are not "
			    "supported");
	}
	return ERR_NONE;
}

enum err watch_body_read(struct request *rq, bool check, struct watch_body *b,
			 struct errinfo *e)
{
	size_t n = JSON_COUNT(watch_fields) - (check ? 0 : 1);
	enum err r = body_json(rq, watch_fields, n, b, e);

	if (r == ERR_NONE && count(b->include) > 0 && count(b->exclude) > 0)
		return err_http_field(rq, e, "include",
				      "excludes exclude: give one of them");
	if (r == ERR_NONE)
		r = read_types(rq, b, e);
	if (r == ERR_NONE)
		r = read_globs(rq, "include", b->include, e);
	return r == ERR_NONE ? read_globs(rq, "exclude", b->exclude, e) : r;
}

/* Drop the last component of "/a/b". */
static void up(struct buf *b)
{
	while (b->len > 0 && b->data[b->len - 1] != '/')
		b->len--;
	if (b->len > 0)
		b->len--;
}

/* ${path}, absolute, without ".", ".." and empty components. */
static void plain(const char *path, struct buf *out)
{
	while (*path != '\0') {
		size_t n;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n == 2 && memcmp(path, "..", 2) == 0) {
			up(out);
		} else if (n > 0 && (n != 1 || path[0] != '.')) {
			buf_addc(out, '/');
			buf_add(out, path, n);
		}
		path += n;
	}
	buf_add(out, out->len > 0 ? "" : "/", out->len > 0 ? 1 : 2);
}

static enum err resolve(struct request *rq, struct link *l,
			struct watch_body *b, struct errinfo *e)
{
	OWN(buf_free) struct buf given = BUF_INIT(2 * FS_CALL_PATH_MAX);
	const size_t n = strlen(LAUNCH_CWD);
	id_text_t session;
	bool named;
	enum err r = session_choose(rq, b->session, session, &named, e);

	if (r == ERR_NONE)
		r = session_path(l, session, b->path, &given, e);
	if (r != ERR_NONE)
		return r;
	buf_addc(&given, '\0');
	if (!buf_ok(&given))
		return err_set(e, ERR_NOMEM, 0, "path");
	buf_reset(&b->full);
	plain(given.data, &b->full);
	if (!buf_ok(&b->full))
		return err_set(e, ERR_NOMEM, 0, "path");
	if (strncmp(b->full.data, LAUNCH_CWD, n) == 0 &&
	    (b->full.data[n] == '/' || b->full.data[n] == '\0'))
		return ERR_NONE;
	err_http_text(rq, "path", b->path);
	return err_http_fail(rq, e, HTTP_PERMISSION_DENIED,
			     "Only what is in " LAUNCH_CWD " can be watched: "
			     "permission denied for %.300s",
			     b->path);
}

static void put_globs(struct watch_body *b, char kind, struct json_object *list)
{
	size_t i;

	for (i = 0; i < count(list); i++) {
		const char *glob = text_at(list, i);

		buf_addc(&b->globs, kind);
		buf_add(&b->globs, glob, strlen(glob) + 1);
	}
}

enum err watch_body_args(struct request *rq, struct link *l, const char *op,
			 struct watch_body *b, struct errinfo *e)
{
	static const char usual[] = "-.git\0-node_modules\0-.DS_Store";
	enum err r = resolve(rq, l, b, e);
	size_t at;

	if (r != ERR_NONE)
		return r;
	put_globs(b, '+', b->include);
	put_globs(b, '-', b->exclude);
	if (count(b->include) == 0 && b->exclude == NULL)
		buf_add(&b->globs, usual, sizeof(usual));
	if (!buf_ok(&b->globs))
		return err_set(e, ERR_NOMEM, 0, "globs");
	snprintf(b->types_text, sizeof(b->types_text), "%llu",
		 (unsigned long long)b->types);
	b->argv[0] = op;
	b->argv[1] = b->full.data;
	b->argv[2] = b->recursive ? "1" : "0";
	b->argv[3] = b->types_text;
	b->argc = 4;
	for (at = 0; at < b->globs.len; at += strlen(b->globs.data + at) + 1) {
		must(b->argc < WATCH_ARGS_MAX);
		b->argv[b->argc++] = b->globs.data + at;
	}
	return ERR_NONE;
}

uint64_t watch_body_key(const struct watch_body *b)
{
	crypto_generichash_state s;
	uint64_t key = 0;
	uint8_t out[crypto_generichash_BYTES_MIN];
	uint32_t i;

	crypto_generichash_init(&s, NULL, 0, sizeof(out));
	for (i = 0; i < b->argc; i++)
		crypto_generichash_update(&s, (const uint8_t *)b->argv[i],
					  strlen(b->argv[i]) + 1);
	crypto_generichash_final(&s, out, sizeof(out));
	memcpy(&key, out, 6);
	return key;
}

void watch_body_free(struct watch_body *b)
{
	buf_free(&b->full);
	buf_free(&b->globs);
}

static enum err count_one(void *ctx, const struct keeper_item *item,
			  struct errinfo *e)
{
	int *n = ctx;

	(void)e;
	if (item->kind == EXEC_FS && item->state != EXEC_ENDED &&
	    strncmp(item->id, WATCH_PREFIX, strlen(WATCH_PREFIX)) == 0)
		(*n)++;
	return ERR_NONE;
}

static void put_limit(struct request *rq, const char *name, int limit)
{
	struct json_out *o = err_http_context(rq);

	json_out_text(o, "name", name);
	json_out_int(o, "limit", limit);
	json_out_int(o, "used", limit);
}

enum err watch_body_cap(struct request *rq, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	int n = 0;
	enum err r = link_open(rq, LINK_LIVE, &l, e);

	if (r == ERR_NONE)
		r = link_list(&l, count_one, &n, e);
	if (r != ERR_NONE || n <= WATCH_MAX)
		return r;
	put_limit(rq, "watches", WATCH_MAX);
	err_http_suggest(rq, "End watches that nobody reads; checks are "
			     "forgotten after ten minutes");
	return err_http_fail(rq, e, HTTP_LIMIT_EXCEEDED,
			     "The sandbox has %d watches already", WATCH_MAX);
}

enum err watch_body_failed(struct fs_call *c, struct errinfo *e)
{
	if (c->head.status == FS_WATCHES)
		put_limit(c->d.rq, "inotifyWatches", INOTIFY_WATCHES);
	else if (c->head.status == FS_WATCHERS)
		put_limit(c->d.rq, "inotifyInstances", INOTIFY_INSTANCES);
	return fs_call_failed(c, e);
}

/* Watching a directory: what changes in it, as events. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/file_body.h"
#include "fcgi/pool.h"
#include "fcgi/sse.h"
#include "fcgi/utf8.h"
#include "fcgi/watch_body.h"

#define READ_BYTES 16384U
#define EVENT_MAX (1U * MIB) /* of JSON: a path of 64 KiB, escaped */
#define QUIET_MS 1000

struct watching {
	struct fs_call call;
	struct watch_body body;
	struct sse sse;
	struct buf in; /* records; used up to … */
	size_t at;
	id_text_t id;
};

#define WATCHING_INIT                                                          \
	{                                                                      \
		.call = FS_CALL_INIT, .body = WATCH_BODY_INIT,                 \
		.in = BUF_INIT(2 * (FS_RECORD_MAX + READ_BYTES))               \
	}

static void watching_free(struct watching *x)
{
	fs_call_close(&x->call);
	watch_body_free(&x->body);
	buf_free(&x->in);
}

/* ---- what is told ---- */

static enum err tell_watching(struct watching *x, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(EVENT_MAX);

	json_out_object(&o, NULL);
	json_out_text(&o, "type", "watching");
	json_out_text(&o, "path", x->body.full.data);
	json_out_text(&o, "watchId", x->id);
	json_out_end(&o);
	return sse_send(&x->sse, 0, &o, e);
}

/* The record's path below what is watched: exact bytes beside the text. */
static void put_path(struct json_out *o, const char *top,
		     const struct watch_record *rec)
{
	OWN(buf_free) struct buf b = BUF_INIT(FS_RECORD_MAX + FS_CALL_PATH_MAX);

	buf_adds(&b, top);
	if (rec->path_len > 0) {
		if (strcmp(top, "/") != 0)
			buf_addc(&b, '/');
		buf_add(&b, rec->path, rec->path_len);
	}
	if (!buf_ok(&b)) { /* the event fails, too */
		o->b.failed = true;
		return;
	}
	json_out_textn(o, "path", b.data, b.len);
	if (!utf8_ok(b.data, b.len))
		json_out_base64(o, "pathBase64", b.data, b.len);
}

static enum err tell_event(struct watching *x, const struct watch_record *rec,
			   struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(EVENT_MAX);

	json_out_object(&o, NULL);
	json_out_text(&o, "type", "event");
	json_out_text(&o, "eventType", watch_type_name(rec->type));
	put_path(&o, x->body.full.data, rec);
	json_out_bool(&o, "isDirectory", rec->is_dir);
	if (rec->cookie != 0)
		json_out_int(&o, "cookie", rec->cookie);
	json_out_time(&o, "timestamp", rec->unix_ms);
	json_out_end(&o);
	return sse_send(&x->sse, 0, &o, e);
}

/* ${type} with a text ${key}; NULL: without. */
static enum err tell_word(struct watching *x, const char *type, const char *key,
			  const char *text, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(EVENT_MAX);

	json_out_object(&o, NULL);
	json_out_text(&o, "type", type);
	json_out_text(&o, key, text);
	json_out_now(&o);
	json_out_end(&o);
	return sse_send(&x->sse, 0, &o, e);
}

static enum err tell_stopped(struct watching *x, enum watch_why why,
			     struct errinfo *e)
{
	switch (why) {
	case WATCH_WHY_GONE:
		return tell_word(x, "stopped", "reason", "deleted", e);
	case WATCH_WHY_WATCHES:
		return tell_word(x, "error", "error",
				 "A sandbox can watch at most 65536 "
				 "directories (inotify watches)",
				 e);
	case WATCH_WHY_INSTANCES:
		return tell_word(x, "error", "error",
				 "A sandbox can open at most 128 watchers "
				 "(inotify instances)",
				 e);
	case WATCH_WHY_DEEP:
		return tell_word(x, "error", "error",
				 "Directories are nested too deeply", e);
	case WATCH_WHY_FAILED:
	case WATCH_WHY_END:
		break;
	}
	return tell_word(x, "error", "error", "Watching failed in the sandbox",
			 e);
}

/* It ended without a word: the keeper knows why, or is gone itself. */
static enum err tell_end(struct watching *x, struct errinfo *e)
{
	struct keeper_end end = {0};
	enum err r = direct_end(&x->call.d, &end, e);
	enum end_reason reason = end.reason;

	if (link_client_gone(e) && r != ERR_NONE)
		return r;
	if (r != ERR_NONE || reason == END_NONE)
		reason = END_SANDBOX_GONE;
	return tell_word(x, "stopped", "reason", end_reason_name(reason), e);
}

/* ---- the stream ---- */

/* More of what it says; ${more}: false at its end. */
static enum err watching_fill(struct watching *x, bool *more, struct errinfo *e)
{
	char data[READ_BYTES];
	size_t got = 0;
	enum err r;

	buf_drop(&x->in, x->at);
	x->at = 0;
	if (x->in.len == 0)
		buf_free(&x->in);
	r = direct_get(&x->call.d, data, sizeof(data), &got, e);
	if (r != ERR_NONE)
		return r;
	buf_add(&x->in, data, got);
	if (!buf_ok(&x->in))
		return err_set(e, ERR_NOMEM, 0, "watch");
	*more = got > 0;
	return ERR_NONE;
}

static enum err watching_rest(struct watching *x, struct errinfo *e)
{
	pool_rest(x->sse.rq);
	return sse_beat(&x->sse, e);
}

static enum err watching_tell(struct watching *x, bool *ended,
			      struct errinfo *e)
{
	struct watch_record rec;
	size_t used = 1;
	enum err r = ERR_NONE;

	while (r == ERR_NONE && !*ended) {
		if (x->in.len == x->at)
			break;
		r = watch_get((const uint8_t *)x->in.data + x->at,
			      x->in.len - x->at, &used, &rec, e);
		if (r != ERR_NONE || used == 0)
			break;
		x->at += used;
		if (rec.kind == WATCH_EVENT)
			r = tell_event(x, &rec, e);
		else if (rec.kind == WATCH_RESYNC)
			r = tell_word(x, "resync", "reason", "overflow", e);
		else
			r = tell_stopped(x, rec.why, e);
		*ended = rec.kind == WATCH_STOPPED;
	}
	return r;
}

static enum err watching_follow(struct watching *x, struct errinfo *e)
{
	bool ended = false;
	bool more = true;
	enum err r = ERR_NONE;

	while (r == ERR_NONE && !ended && more) {
		r = watching_fill(x, &more, e);
		if (r == ERR_NONE)
			r = watching_tell(x, &ended, e);
		else if (r == ERR_TIMEOUT)
			r = watching_rest(x, e);
	}
	if (r == ERR_NONE && !ended)
		return tell_end(x, e);
	if (r != ERR_NONE && r != ERR_GONE) /* what it said was nonsense */
		return tell_stopped(x, WATCH_WHY_FAILED, e);
	return r;
}

static enum err watching_start(struct request *rq, struct watching *x,
			       struct errinfo *e)
{
	struct keeper_start s = {
	    .kind = EXEC_FS, .cwd = "", .argv = x->body.argv, .id = x->id};
	struct direct *d = &x->call.d;
	enum err r = watch_body_read(rq, false, &x->body, e);

	if (r == ERR_NONE)
		r = link_open(rq, LINK_START, &d->link, e);
	if (r == ERR_NONE)
		r = watch_body_args(rq, &d->link, "watch", &x->body, e);
	if (r != ERR_NONE)
		return r;
	id_stamped("watch-s", x->id);
	x->call.paths[0] = x->body.path;
	d->rq = rq;
	d->deadline_ms = CLOCK_NEVER;
	d->idle_ms = 60000;
	s.argc = x->body.argc;
	s.user = rq->sandbox.user;
	r = direct_start(rq, &s, d, e);
	if (r == ERR_NONE)
		r = watch_body_cap(rq, e);
	if (r == ERR_NONE)
		r = fs_call_try(&x->call, e);
	if (r == ERR_NONE && x->call.head.status != FS_OK)
		r = watch_body_failed(&x->call, e);
	return r;
}

enum err watch_stream(struct request *rq, struct errinfo *e)
{
	OWN(watching_free) struct watching x = WATCHING_INIT;
	enum err r;

	x.call.op = "watch.start";
	err_http_operation(rq, x.call.op);
	r = watching_start(rq, &x, e);
	if (r != ERR_NONE)
		return r;
	route_park(rq);
	r = sse_begin(&x.sse, rq, e);
	if (r != ERR_NONE)
		return r;
	x.call.d.idle_ms = QUIET_MS;
	r = tell_watching(&x, e);
	if (r == ERR_NONE)
		r = watching_follow(&x, e);
	return r == ERR_GONE ? ERR_NONE : r;
}

/*
 * Whether a directory changed since a caller looked last. An executor counts
 * the changes as long as it is asked now and then. Its id is
 * "watch-<key>-<unix ms>", where the key stands for what is watched and how,
 * so that callers who ask the same share one; a version is that id, a colon
 * and the count.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/file_body.h"
#include "fcgi/json_in.h"
#include "fcgi/launch.h"
#include "fcgi/watch_body.h"

#define RING_BYTES 16384U
#define START_MS 60000
#define ANSWER_MS 10000

struct since {
	uint64_t key;
	int64_t began_ms;
	uint64_t cursor;
};

struct check {
	struct watch_body body;
	struct fs_call call; /* its head, and the failure's path */
	uint64_t key;
	id_text_t id; /* "": nobody counts */
	uint64_t cursor;
	int64_t lives_ms; /* since when the keeper does */
	bool found;
	bool after; /* the caller has a version */
	struct since since;
};

static void check_free(struct check *x)
{
	fs_call_close(&x->call);
	watch_body_free(&x->body);
}

/* Digits at ${p} and then ${end}; ${p} goes behind it. */
static bool number(const char **p, char end, uint64_t *v)
{
	char *stop;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*v = strtoull(*p, &stop, 10);
	if (errno != 0 || *stop != end || *v > INT64_MAX)
		return false;
	*p = stop + (end != '\0');
	return true;
}

static enum err read_since(struct request *rq, struct check *x,
			   struct errinfo *e)
{
	const char *p = x->body.since;
	uint64_t began = 0;

	if (p == NULL)
		return ERR_NONE;
	x->after = true;
	if (strncmp(p, WATCH_PREFIX, strlen(WATCH_PREFIX)) == 0) {
		p += strlen(WATCH_PREFIX);
		if (number(&p, '-', &x->since.key) && number(&p, ':', &began) &&
		    number(&p, '\0', &x->since.cursor)) {
			x->since.began_ms = (int64_t)began;
			return ERR_NONE;
		}
	}
	return err_http_field(rq, e, "since",
			      "must be a version of an earlier check");
}

/* One that counts what this call is about. */
static enum err find_one(void *ctx, const struct keeper_item *item,
			 struct errinfo *e)
{
	struct check *x = ctx;
	char want[64];
	int n = snprintf(want, sizeof(want), WATCH_PREFIX "%llu-",
			 (unsigned long long)x->key);

	(void)e;
	if (item->kind != EXEC_FS || item->state != EXEC_RUNNING ||
	    strncmp(item->id, want, (size_t)n) != 0)
		return ERR_NONE;
	/* of two, the one that the caller means */
	if (x->found && x->after &&
	    strtoll(item->id + n, NULL, 10) != x->since.began_ms)
		return ERR_NONE;
	x->found = true;
	snprintf(x->id, sizeof(x->id), "%s", item->id);
	return ERR_NONE;
}

static enum err find(struct check *x, struct errinfo *e)
{
	struct link *l = &x->call.d.link;
	enum err r = link_list(l, find_one, x, e);

	x->lives_ms = l->since_ms;
	return r;
}

/* Output of the execution until ${b} has what is wanted. */
static enum err next_output(struct link *l, int64_t until, struct buf *b,
			    struct errinfo *e)
{
	for (;;) {
		struct link_event le;
		enum err r = link_next(l, until, &le, e);

		if (r != ERR_NONE)
			return r;
		if (le.got == LINK_TICK)
			return err_set(e, ERR_TIMEOUT, 0, "watch");
		if (le.got != LINK_EVENT)
			continue;
		if (le.ev.kind == EVENT_END)
			return err_set(e, ERR_NOT_FOUND, 0, "it ended");
		if (le.ev.kind != EVENT_OUT)
			continue;
		buf_add(b, le.ev.data, le.ev.len);
		return buf_ok(b) ? ERR_NONE
				 : err_set(e, ERR_PEER, 0, "too much");
	}
}

/* Its count as of now. Errors: ERR_NOT_FOUND: it is no more. */
static enum err ask(struct check *x, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(256);
	OWN(buf_free) struct buf out = BUF_INIT(2U * RING_BYTES);
	struct link *l = &x->call.d.link;
	int64_t until = clock_mono_ms() + ANSWER_MS;
	struct keeper_item item;
	uint64_t asked;
	uint64_t from = 0;
	enum err r = link_status(l, x->id, &item, e);

	randombytes_buf(&asked, sizeof(asked));
	wire_str(&b, x->id);
	wire_bytes(&b, &asked, sizeof(asked));
	wire_u8(&b, 0);
	if (r == ERR_NONE)
		from = item.next - 1;
	if (r == ERR_NONE)
		r = link_call(l, KM_STDIN, &b, NULL, e);
	if (r == ERR_NONE)
		r = link_attach(l, x->id, from, true, e);
	if (r == ERR_STATE)
		return err_set(e, ERR_NOT_FOUND, 0, "it ended");
	while (r == ERR_NONE) {
		r = next_output(l, until, &out, e);
		if (r == ERR_NONE &&
		    watch_get_answer(buf_str(&out), out.len, asked, &x->cursor))
			return ERR_NONE;
	}
	return r;
}

/* A new one; it counts from 0. */
static enum err begin(struct request *rq, struct check *x, struct errinfo *e)
{
	OWN(buf_free) struct buf out = BUF_INIT(RING_BYTES);
	OWN(link_close) struct link l = LINK_INIT;
	struct keeper_start s = {.kind = EXEC_FS,
				 .cwd = "",
				 .id = x->id,
				 .argv = x->body.argv,
				 .argc = x->body.argc,
				 .user = rq->sandbox.user,
				 .flags = KF_STDIN_OPEN | KF_ATTACH,
				 .ring_bytes = RING_BYTES};
	int64_t until = clock_mono_ms() + START_MS;
	enum err r = link_open(rq, LINK_LIVE, &l, e);

	snprintf(x->id, sizeof(x->id), WATCH_PREFIX "%llu-%lld",
		 (unsigned long long)x->key, (long long)clock_unix_ms());
	if (r == ERR_NONE)
		r = link_start(&l, &s, NULL, 0, NULL, e);
	if (r != ERR_NONE)
		return launch_full(rq, r, e);
	while (r == ERR_NONE && out.len < FS_HEAD_LEN)
		r = next_output(&l, until, &out, e);
	if (r == ERR_NONE)
		r = fs_get_head((const uint8_t *)out.data, &x->call.head, e);
	if (r == ERR_NONE && x->call.head.status != FS_OK)
		return watch_body_failed(&x->call, e);
	if (r == ERR_NONE)
		r = watch_body_cap(rq, e);
	if (r != ERR_NONE) {
		struct errinfo why;

		if (link_kill(&l, x->id, 0, END_KILLED, &why) != ERR_NONE)
			log_err("a watch that is too much", &why);
	}
	return r;
}

static const char *reason_of(const struct check *x)
{
	return x->lives_ms > x->since.began_ms ? "restarted" : "expired";
}

static enum err tell(struct request *rq, struct check *x, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(FILE_ANSWER_MAX);
	char own[64];
	char version[sizeof(x->id) + 32];
	bool same;

	snprintf(own, sizeof(own), WATCH_PREFIX "%llu-%lld",
		 (unsigned long long)x->since.key,
		 (long long)x->since.began_ms);
	snprintf(version, sizeof(version), "%s:%llu", x->id,
		 (unsigned long long)x->cursor);
	same = strcmp(own, x->id) == 0 && x->since.cursor <= x->cursor;
	file_body_start(&o);
	if (!x->after || (same && x->since.cursor == x->cursor)) {
		json_out_text(&o, "status", "unchanged");
	} else if (same) {
		json_out_text(&o, "status", "changed");
	} else {
		json_out_text(&o, "status", "resync");
		json_out_text(&o, "reason", reason_of(x));
	}
	json_out_text(&o, "version", version);
	return file_body_send(rq, &o, e);
}

static enum err check_run(struct request *rq, struct check *x,
			  struct errinfo *e)
{
	struct link *l = &x->call.d.link;
	enum err r = watch_body_read(rq, true, &x->body, e);

	if (r == ERR_NONE)
		r = read_since(rq, x, e);
	if (r == ERR_NONE)
		r = link_open(rq, LINK_START, l, e);
	if (r == ERR_NONE)
		r = watch_body_args(rq, l, "check", &x->body, e);
	if (r != ERR_NONE)
		return r;
	x->call.d.rq = rq;
	x->call.paths[0] = x->body.path;
	x->key = watch_body_key(&x->body);
	if (x->after && x->since.key != x->key)
		return err_http_field(rq, e, "since",
				      "is a version of another path, or of "
				      "other patterns");
	r = find(x, e);
	if (r == ERR_NONE && x->found) {
		r = ask(x, e);
		if (r != ERR_NOT_FOUND)
			return r;
		r = ERR_NONE; /* it ended just now */
	}
	return r == ERR_NONE ? begin(rq, x, e) : r;
}

enum err watch_check(struct request *rq, struct errinfo *e)
{
	OWN(check_free)
	struct check x = {.call = FS_CALL_INIT, .body = WATCH_BODY_INIT};
	enum err r;

	x.call.op = "watch.check";
	err_http_operation(rq, x.call.op);
	r = check_run(rq, &x, e);
	return r == ERR_NONE ? tell(rq, &x, e) : r;
}

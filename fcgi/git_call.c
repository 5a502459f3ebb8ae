#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/git_call.h"
#include "fcgi/launch.h"
#include "fcgi/utf8.h"
#include "store/node_execution.h"

#define PROGRAM "/opt/warren/bin/warren-git"
#define GRACE_MS 2000
#define QUIET_MS 1000
#define READ_BYTES 16384U

void git_call_free(struct git_call *x)
{
	direct_close(&x->d);
	git_ask_free(&x->ask);
	buf_free(&x->got);
	json_out_free(&x->paths);
}

/* ---- starting ---- */

static enum err add_row(struct git_call *x, struct errinfo *e)
{
	struct node_execution_new row = {.sandbox = x->ask.rq->sandbox.id,
					 .id = x->id,
					 .kind = EXEC_GIT,
					 .cwd = LAUNCH_CWD,
					 .command = x->command};

	return node_execution_add(x->ask.rq->store, &row, e);
}

static void forget_row(struct git_call *x)
{
	struct errinfo ignored;

	if (node_execution_remove(x->ask.rq->store, x->ask.rq->sandbox.id,
				  x->id, &ignored) != ERR_NONE)
		log_err("forget a git call that did not start", &ignored);
}

/* Its environment is the sandbox's plain one: what tenants set for their own
 * programs (LD_PRELOAD, a proxy) is not for the one that holds credentials. */
static enum err start(struct git_call *x, struct errinfo *e)
{
	static const char *const argv[] = {PROGRAM};
	struct request *rq = x->ask.rq;
	struct keeper_start s = {.id = x->id,
				 .kind = x->command != NULL ? EXEC_GIT
							    : EXEC_FS,
				 .user = rq->sandbox.user,
				 .cwd = "",
				 .argv = argv,
				 .argc = 1,
				 .timeout_ms = (uint64_t)x->ask.timeout_ms,
				 .grace_ms = GRACE_MS};

	/* the keeper ends it in time; this is for a keeper that does not */
	x->d.deadline_ms = clock_mono_ms() + x->ask.timeout_ms +
			   3 * (int64_t)GRACE_MS;
	return direct_start(rq, &s, &x->d, e);
}

enum err git_call_start(struct git_call *x, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(2 * GIT_REQUEST_MAX);
	uint32_t flags = 0;
	enum err r = launch_timeout(x->ask.rq, "timeoutMs", &x->ask.timeout_ms,
				    &flags, e);

	id_stamped("git", x->id);
	git_put_request(&b, &x->ask.to);
	if (r == ERR_NONE && (!buf_ok(&b) || b.len > GIT_REQUEST_MAX))
		r = err_http_fail(x->ask.rq, e, HTTP_BODY_TOO_LARGE,
				  "The request is too large");
	if (r == ERR_NONE && x->command != NULL)
		r = add_row(x, e);
	if (r != ERR_NONE)
		return r;
	r = start(x, e);
	if (r != ERR_NONE) {
		if (x->command != NULL)
			forget_row(x);
		return r;
	}
	r = direct_put(&x->d, b.data, b.len, e);
	direct_put_end(&x->d);
	return r;
}

/* ---- failures ---- */

/* It ended without a result: say what ended it. */
static enum err silent(struct git_call *x, struct errinfo *e)
{
	struct request *rq = x->ask.rq;
	struct keeper_end end = {0};
	enum err r = direct_end(&x->d, &end, e);

	if (r != ERR_NONE)
		return r;
	if (end.reason == END_TIMED_OUT)
		return err_http_fail(rq, e, HTTP_GIT_NETWORK_ERROR,
				     "Git %s timed out: timeout of %lld ms "
				     "reached, nothing was kept",
				     x->what, (long long)x->ask.timeout_ms);
	if (end.reason == END_OUT_OF_MEMORY)
		return err_http_fail(rq, e, HTTP_GIT_OPERATION_FAILED,
				     "Git %s failed: the sandbox is out of "
				     "memory",
				     x->what);
	if (end.reason == END_EXITED && end.exit_code == 127)
		return err_http_fail(rq, e, HTTP_GIT_NOT_AVAILABLE,
				     "This sandbox's image has no git support");
	return err_http_fail(rq, e, HTTP_GIT_OPERATION_FAILED,
			     "Git %s was ended before it was complete (%s)",
			     x->what, end_reason_name(end.reason));
}

static enum http_code code_of(const struct git_call *x, enum repo_result r)
{
	switch (r) {
	case REPO_INVALID:
	case REPO_NO_AUTHOR:
		return HTTP_VALIDATION_FAILED;
	case REPO_DIR_EXISTS:
		return HTTP_FILE_EXISTS;
	case REPO_AUTH:
		return HTTP_GIT_AUTH_FAILED;
	case REPO_HOST_KEY:
		return HTTP_GIT_HOST_KEY_UNKNOWN;
	case REPO_NO_DIR:
	case REPO_NOT_FOUND:
		return HTTP_GIT_REPOSITORY_NOT_FOUND;
	case REPO_NO_BRANCH:
		return HTTP_GIT_BRANCH_NOT_FOUND;
	case REPO_NETWORK:
		return HTTP_GIT_NETWORK_ERROR;
	case REPO_NO_SPACE:
		return HTTP_NO_SPACE;
	case REPO_NEEDS_PROGRAM:
		return HTTP_GIT_NOT_AVAILABLE;
	case REPO_CONFLICT:
		return HTTP_GIT_MERGE_CONFLICT;
	case REPO_DIRTY:
		return HTTP_GIT_UNCOMMITTED_CHANGES;
	case REPO_DIVERGED:
		return HTTP_GIT_DIVERGED;
	case REPO_REJECTED:
		return HTTP_GIT_PUSH_REJECTED;
	case REPO_NOTHING:
		return HTTP_GIT_NOTHING_TO_COMMIT;
	case REPO_EXISTS:
		return HTTP_GIT_BRANCH_EXISTS;
	case REPO_BUSY:
		return HTTP_GIT_OPERATION_IN_PROGRESS;
	case REPO_LFS:
		return HTTP_GIT_LFS_NOT_SUPPORTED;
	case REPO_OTHER:
	case REPO_OK:
	case REPO_END:
		break;
	}
	return x->ask.to.op == GIT_OP_CLONE ? HTTP_GIT_CLONE_FAILED
					    : HTTP_GIT_OPERATION_FAILED;
}

static enum err failed(struct git_call *x, const struct git_record *rec,
		       struct errinfo *e)
{
	struct request *rq = x->ask.rq;

	if (x->ask.to.branch[0] != '\0')
		err_http_text(rq, "branch", x->ask.to.branch);
	err_http_text(rq, "stderr", rec->text);
	if (x->paths.depth > 0)
		git_call_paths(x, err_http_context(rq), "paths");
	return err_http_fail(rq, e, code_of(x, rec->status),
			     "Git %s failed: %.400s", x->what, rec->text);
}

/* ---- what it tells ---- */

void git_call_path(struct json_out *o, const char *key, const char *path)
{
	size_t n = strlen(path);
	char exact[32];

	json_out_text(o, key, path);
	snprintf(exact, sizeof(exact), "%sBase64", key);
	if (!utf8_ok(path, n))
		json_out_base64(o, exact, path, n);
}

static void take_path(struct git_call *x, const char *path)
{
	if (x->paths.depth == 0)
		json_out_array(&x->paths, NULL);
	json_out_text(&x->paths, NULL, path);
}

void git_call_paths(struct git_call *x, struct json_out *o, const char *key)
{
	while (x->paths.depth > 0)
		json_out_end(&x->paths);
	json_out_raw(o, key,
		     x->paths.b.len > 0 && json_out_ok(&x->paths)
			 ? buf_str(&x->paths.b)
			 : "[]");
}

static const char *phase_name(enum git_phase phase)
{
	switch (phase) {
	case GIT_PHASE_RECEIVE:
		return "receiving";
	case GIT_PHASE_RESOLVE:
		return "resolving";
	case GIT_PHASE_CHECKOUT:
		return "checkout";
	case GIT_PHASE_SEND:
		return "sending";
	case GIT_PHASE_END:
		break;
	}
	return "";
}

static enum err tell_progress(struct git_call *x, const struct git_progress *p,
			      struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(4096);

	if (x->sse == NULL)
		return ERR_NONE;
	json_out_object(&o, NULL);
	json_out_text(&o, "type", "progress");
	json_out_text(&o, "phase", phase_name(p->phase));
	json_out_int(&o, "objects", (int64_t)p->objects);
	json_out_int(&o, "totalObjects", (int64_t)p->objects_all);
	json_out_int(&o, "bytes", (int64_t)p->bytes);
	json_out_int(&o, "files", (int64_t)p->files);
	json_out_int(&o, "totalFiles", (int64_t)p->files_all);
	json_out_now(&o);
	json_out_end(&o);
	return sse_send(x->sse, 0, &o, e);
}

static enum err take(struct git_call *x, const struct git_record *rec,
		     struct errinfo *e)
{
	switch (rec->kind) {
	case GIT_RECORD_PROGRESS:
		return tell_progress(x, &rec->progress, e);
	case GIT_RECORD_ROW:
		if (rec->row.kind == GIT_ROW_PATH)
			take_path(x, rec->row.texts[0]);
		else if (x->row != NULL)
			x->row(x->arg, &rec->row);
		break;
	case GIT_RECORD_RESULT:
		break;
	}
	return ERR_NONE;
}

/* More of what it says; a stream shows that it is alive meanwhile. */
static enum err fill(struct git_call *x, size_t *got, struct errinfo *e)
{
	void *p = buf_space(&x->got, READ_BYTES);
	enum err r;

	if (p == NULL)
		return err_set(e, ERR_NOMEM, 0, "git answer");
	for (;;) {
		r = direct_get(&x->d, p, READ_BYTES, got, e);
		if (r != ERR_TIMEOUT || x->sse == NULL ||
		    clock_left_ms(x->d.deadline_ms) == 0)
			break;
		r = sse_beat(x->sse, e);
		if (r != ERR_NONE)
			return r;
	}
	if (r == ERR_NONE)
		buf_grow(&x->got, *got);
	return r;
}

/* The records that are there; ${rec} is the result when ${done}. */
static enum err take_all(struct git_call *x, struct git_record *rec, bool *done,
			 struct errinfo *e)
{
	size_t at = 0;
	size_t used;
	enum err r;

	for (;;) {
		r = git_get_record((const uint8_t *)x->got.data + at,
				   x->got.len - at, &used, rec, e);
		if (r != ERR_NONE || used == 0)
			break;
		*done = rec->kind == GIT_RECORD_RESULT;
		if (*done)
			return ERR_NONE;
		r = take(x, rec, e);
		if (r != ERR_NONE)
			return r;
		at += used;
	}
	buf_drop(&x->got, at);
	return r;
}

/* Its row must say that it exited, not that we hung up on it. */
static void settle(struct git_call *x)
{
	struct keeper_end end;
	struct errinfo ignored;

	if (x->command != NULL && direct_end(&x->d, &end, &ignored) != ERR_NONE)
		log_err("wait for the end of a git call", &ignored);
}

enum err git_call_read(struct git_call *x, struct git_record *rec,
		       struct errinfo *e)
{
	bool done = false;
	size_t got = 0;
	enum err r;

	x->d.idle_ms = x->sse != NULL ? QUIET_MS : 0;
	while (!done) {
		r = fill(x, &got, e);
		if (r == ERR_NONE && got == 0)
			return silent(x, e);
		if (r == ERR_NONE)
			r = take_all(x, rec, &done, e);
		if (r != ERR_NONE)
			return r;
	}
	settle(x);
	return rec->status == REPO_OK ? ERR_NONE : failed(x, rec, e);
}

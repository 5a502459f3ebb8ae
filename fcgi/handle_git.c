/* git/checkout: a clone by warren-git inside the sandbox. */
#include <string.h>

#include "base/clock.h"
#include "base/git_msg.h"
#include "base/git_url.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/body.h"
#include "fcgi/direct.h"
#include "fcgi/file_body.h"
#include "fcgi/launch.h"
#include "fcgi/pool.h"
#include "store/node_execution.h"

#define PROGRAM "/opt/warren/bin/warren-git"
#define TIMEOUT_DEFAULT_MS 600000
#define GRACE_MS 2000
#define DEPTH_MAX 1000000
#define BRANCH_MAX 1000
#define SECRET_MAX (64 * 1024)
#define READ_BYTES 16384U
#define TOKEN_USER "x-access-token"

struct git_in {
	const char *url;
	const char *branch;
	const char *dir;
	int64_t depth;
	int64_t timeout_ms;
	struct json_object *auth;
	const char *auth_type;
	const char *token;
	const char *user;
	const char *password;
	const char *key;
};

#define AT(member) offsetof(struct git_in, member)

static const struct json_field git_fields[] = {
    {"repoUrl", NULL, JSON_TEXT, AT(url), true, 0, GIT_URL_MAX},
    {"branch", NULL, JSON_TEXT, AT(branch), false, 0, BRANCH_MAX},
    {"targetDir", NULL, JSON_TEXT, AT(dir), false, 1, FS_CALL_PATH_MAX},
    {"depth", NULL, JSON_INT, AT(depth), false, 1, DEPTH_MAX},
    {"timeoutMs", "timeout_ms", JSON_INT, AT(timeout_ms), false, INT64_MIN,
     INT64_MAX},
    {"auth", NULL, JSON_OBJECT, AT(auth), false, 0, 0},
    FILE_SESSION_FIELD,
};

static const struct json_field auth_fields[] = {
    {"type", NULL, JSON_TEXT, AT(auth_type), true, 1, 16},
    {"token", NULL, JSON_TEXT, AT(token), false, 1, SECRET_MAX},
    {"username", NULL, JSON_TEXT, AT(user), false, 1, 1024},
    {"password", NULL, JSON_TEXT, AT(password), false, 0, SECRET_MAX},
    {"privateKey", NULL, JSON_TEXT, AT(key), false, 1, SECRET_MAX},
};

struct checkout {
	struct request *rq;
	struct git_in in;
	struct buf url; /* without credentials: this one may be shown */
	struct buf user;
	struct buf secret;
	struct buf dir;
	struct buf full; /* dir, absolute */
	struct git_request ask;
	struct direct d;
	struct buf got;
	id_text_t id;
};

static void checkout_free(struct checkout *x)
{
	direct_close(&x->d);
	buf_free(&x->url);
	buf_free(&x->user);
	buf_free(&x->secret);
	buf_free(&x->dir);
	buf_free(&x->full);
	buf_free(&x->got);
}

/* ---- the request ---- */

static enum err bad_url(struct request *rq, struct errinfo *e)
{
	return err_http_fail(rq, e, HTTP_INVALID_GIT_URL,
			     "Invalid repository URL: give http, https, ssh, "
			     "git or file, or user@host:path");
}

static enum err read_url(struct checkout *x, struct errinfo *e)
{
	struct git_request *ask = &x->ask;

	if (!git_url_ok(x->in.url) ||
	    !git_url_split(x->in.url, &x->url, &x->user, &x->secret))
		return bad_url(x->rq, e);
	ask->url = buf_str(&x->url);
	ask->branch = x->in.branch != NULL ? x->in.branch : "";
	ask->depth = (uint32_t)x->in.depth;
	ask->user = buf_str(&x->user);
	ask->secret = buf_str(&x->secret);
	if (x->user.len > 0)
		ask->auth = CHECKOUT_AUTH_BASIC;
	return ERR_NONE;
}

static enum err auth_needs(struct checkout *x, struct errinfo *e,
			   const char *field)
{
	return err_http_field(x->rq, e, field, "is needed for this auth type");
}

static enum err read_auth(struct checkout *x, struct errinfo *e)
{
	struct git_in *in = &x->in;
	struct git_request *ask = &x->ask;
	enum err r = json_in_read_obj(&x->rq->body, in->auth, auth_fields,
				      JSON_COUNT(auth_fields), in, e);

	if (r == ERR_ARG)
		return err_http_field(x->rq, e, x->rq->body.field,
				      x->rq->body.why);
	if (r != ERR_NONE)
		return r;
	ask->auth = CHECKOUT_AUTH_BASIC;
	ask->user = in->user != NULL ? in->user : "";
	if (strcmp(in->auth_type, "token") == 0) {
		if (in->token == NULL)
			return auth_needs(x, e, "auth.token");
		ask->user = in->user != NULL ? in->user : TOKEN_USER;
		ask->secret = in->token;
	} else if (strcmp(in->auth_type, "basic") == 0) {
		if (in->user == NULL)
			return auth_needs(x, e, "auth.username");
		ask->secret = in->password != NULL ? in->password : "";
	} else if (strcmp(in->auth_type, "ssh") == 0) {
		if (in->key == NULL)
			return auth_needs(x, e, "auth.privateKey");
		ask->auth = CHECKOUT_AUTH_SSH;
		ask->secret = in->key;
	} else {
		return err_http_field(x->rq, e, "auth.type",
				      "must be token, basic or ssh");
	}
	return ERR_NONE;
}

static enum err read_times(struct checkout *x, struct errinfo *e)
{
	int64_t ms = x->in.timeout_ms;

	if (ms > 0 && ms <= LAUNCH_TIMEOUT_MAX_MS)
		return ERR_NONE;
	err_http_text(x->rq, "field", "timeoutMs");
	return err_http_fail(x->rq, e, HTTP_VALIDATION_FAILED,
			     "Invalid clone timeout: %lld. timeoutMs must be a "
			     "positive number of milliseconds",
			     (long long)ms);
}

static enum err read_dir(struct checkout *x, struct errinfo *e)
{
	if (x->in.dir != NULL) {
		buf_adds(&x->dir, x->in.dir);
	} else {
		buf_adds(&x->dir, LAUNCH_CWD "/");
		if (!git_url_name(buf_str(&x->url), &x->dir))
			return err_http_field(x->rq, e, "targetDir",
					      "is needed: the URL names no "
					      "repository");
	}
	fs_call_path(&x->full, buf_str(&x->dir));
	if (!buf_ok(&x->dir) || !buf_ok(&x->full))
		return err_http_field(x->rq, e, "targetDir", "is too long");
	x->ask.dir = buf_str(&x->full);
	return ERR_NONE;
}

static enum err read_request(struct checkout *x, struct errinfo *e)
{
	enum err r = body_json(x->rq, git_fields, JSON_COUNT(git_fields),
			       &x->in, e);

	if (r == ERR_NONE)
		r = read_url(x, e);
	if (r != ERR_NONE)
		return r;
	err_http_text(x->rq, "repository", x->ask.url);
	r = read_times(x, e);
	if (r == ERR_NONE && x->in.auth != NULL)
		r = read_auth(x, e);
	if (r == ERR_NONE)
		r = read_dir(x, e);
	if (r == ERR_NONE && x->ask.branch[0] == '-')
		r = err_http_field(x->rq, e, "branch", "is not a valid name");
	return r;
}

/* ---- running it ---- */

static enum err add_row(struct checkout *x, struct errinfo *e)
{
	OWN(buf_free) struct buf text = BUF_INIT(4 * GIT_URL_MAX);
	struct node_execution_new row = {.sandbox = x->rq->sandbox.id,
					 .id = x->id,
					 .kind = EXEC_GIT,
					 .cwd = LAUNCH_CWD};

	buf_addf(&text, "git clone %s %s", x->ask.url, buf_str(&x->dir));
	row.command = buf_str(&text);
	return node_execution_add(x->rq->store, &row, e);
}

static enum err start(struct checkout *x, struct errinfo *e)
{
	static const char *const argv[] = {PROGRAM};
	OWN(launch_free) struct launch l = {0};
	OWN(buf_free) struct buf b = BUF_INIT(GIT_REQUEST_MAX);
	struct keeper_start s = {.id = x->id,
				 .kind = EXEC_GIT,
				 .timeout_ms = (uint64_t)x->in.timeout_ms,
				 .grace_ms = GRACE_MS};
	struct errinfo ignored;
	enum err r = launch_env(x->rq, &l, NULL, e);

	if (r == ERR_NONE)
		r = launch_cwd(x->rq, &l, NULL, e);
	if (r == ERR_NONE)
		r = launch_timeout(x->rq, "timeoutMs", &x->in.timeout_ms,
				   &s.flags, e);
	if (r == ERR_NONE)
		r = add_row(x, e);
	if (r != ERR_NONE)
		return r;
	launch_fill(x->rq, &l, &s);
	s.argv = argv;
	s.argc = 1;
	/* the keeper ends it in time; this is for a keeper that does not */
	x->d.deadline_ms = clock_mono_ms() + x->in.timeout_ms + 3 * GRACE_MS;
	r = direct_start(x->rq, &s, &x->d, e);
	if (r != ERR_NONE) {
		if (node_execution_remove(x->rq->store, x->rq->sandbox.id,
					  x->id, &ignored) != ERR_NONE)
			log_err("forget a clone that did not start", &ignored);
		return r;
	}
	git_put_request(&b, &x->ask);
	if (!buf_ok(&b))
		return err_set(e, ERR_NOMEM, 0, "git request");
	r = direct_put(&x->d, b.data, b.len, e);
	direct_put_end(&x->d);
	return r;
}

/* It ended without a result: say what ended it. */
static enum err silent(struct checkout *x, struct errinfo *e)
{
	struct keeper_end end = {0};
	enum err r = direct_end(&x->d, &end, e);

	if (r != ERR_NONE)
		return r;
	if (end.reason == END_TIMED_OUT)
		return err_http_fail(x->rq, e, HTTP_GIT_NETWORK_ERROR,
				     "Git clone timed out: timeout of %lld ms "
				     "reached, nothing was kept",
				     (long long)x->in.timeout_ms);
	if (end.reason == END_OUT_OF_MEMORY)
		return err_http_fail(x->rq, e, HTTP_GIT_CLONE_FAILED,
				     "Git clone failed: the sandbox is out of "
				     "memory");
	if (end.reason == END_EXITED && end.exit_code == 127)
		return err_http_fail(x->rq, e, HTTP_GIT_OPERATION_FAILED,
				     "This sandbox's image has no git support");
	return err_http_fail(x->rq, e, HTTP_GIT_CLONE_FAILED,
			     "Git clone was ended before it was complete (%s)",
			     end_reason_name(end.reason));
}

/* Records until the result; its texts are in x->got. */
static enum err result(struct checkout *x, struct git_record *rec,
		       struct errinfo *e)
{
	size_t used;
	size_t got;
	enum err r;

	for (;;) {
		void *p = buf_space(&x->got, READ_BYTES);

		if (p == NULL)
			return err_set(e, ERR_NOMEM, 0, "git answer");
		r = direct_get(&x->d, p, READ_BYTES, &got, e);
		if (r != ERR_NONE)
			return r;
		if (got == 0)
			return silent(x, e);
		buf_grow(&x->got, got);
		while ((r = git_get_record((const uint8_t *)x->got.data,
					   x->got.len, &used, rec, e)) ==
			   ERR_NONE &&
		       used > 0) {
			if (rec->kind == GIT_RECORD_RESULT)
				return ERR_NONE;
			buf_drop(&x->got, used);
		}
		if (r != ERR_NONE)
			return r;
	}
}

/* Its row must say that it exited, not that we hung up on it. */
static void settle(struct checkout *x)
{
	struct keeper_end end;
	struct errinfo ignored;

	if (direct_end(&x->d, &end, &ignored) != ERR_NONE)
		log_err("wait for a clone's end", &ignored);
}

/* ---- the answer ---- */

static enum http_code code_of(enum checkout_result r)
{
	switch (r) {
	case CHECKOUT_INVALID:
		return HTTP_VALIDATION_FAILED;
	case CHECKOUT_DIR_EXISTS:
		return HTTP_FILE_EXISTS;
	case CHECKOUT_AUTH:
		return HTTP_GIT_AUTH_FAILED;
	case CHECKOUT_NOT_FOUND:
		return HTTP_GIT_REPOSITORY_NOT_FOUND;
	case CHECKOUT_NO_BRANCH:
		return HTTP_GIT_BRANCH_NOT_FOUND;
	case CHECKOUT_NETWORK:
		return HTTP_GIT_NETWORK_ERROR;
	case CHECKOUT_NO_SPACE:
		return HTTP_NO_SPACE;
	case CHECKOUT_NEEDS_PROGRAM:
	case CHECKOUT_OTHER:
	case CHECKOUT_OK:
	case CHECKOUT_END:
		return HTTP_GIT_CLONE_FAILED;
	}
	return HTTP_GIT_CLONE_FAILED;
}

static enum err failed(struct checkout *x, const struct git_record *rec,
		       struct errinfo *e)
{
	if (x->ask.branch[0] != '\0')
		err_http_text(x->rq, "branch", x->ask.branch);
	err_http_text(x->rq, "targetDir", buf_str(&x->dir));
	err_http_text(x->rq, "stderr", rec->text);
	return err_http_fail(x->rq, e, code_of(rec->status),
			     "Git clone failed: %.400s", rec->text);
}

static enum err answer(struct checkout *x, const struct git_record *rec,
		       struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;
	/* detached: what was asked for, a tag or a commit */
	const char *branch = rec->branch[0] != '\0' ? rec->branch
						    : x->ask.branch;

	json_out_init(&o, FILE_ANSWER_MAX);
	file_body_start(&o);
	json_out_text(&o, "repoUrl", x->ask.url);
	json_out_text(&o, "branch", branch[0] != '\0' ? branch : "HEAD");
	json_out_text(&o, "targetDir", buf_str(&x->dir));
	if (rec->commit[0] != '\0')
		json_out_text(&o, "commit", rec->commit);
	return file_body_send(x->rq, &o, e);
}

enum err git_checkout(struct request *rq, struct errinfo *e)
{
	OWN(checkout_free)
	struct checkout x = {
	    .rq = rq,
	    .in = {.timeout_ms = TIMEOUT_DEFAULT_MS},
	    .url = BUF_INIT(GIT_URL_MAX + 1),
	    .user = BUF_INIT(GIT_URL_MAX + 1),
	    .secret = BUF_INIT(GIT_URL_MAX + 1),
	    .dir = BUF_INIT(FS_CALL_PATH_MAX + 1),
	    .full = BUF_INIT(2 * FS_CALL_PATH_MAX),
	    .d = DIRECT_INIT,
	    .got = BUF_INIT(GIT_RECORD_MAX + 2 * READ_BYTES),
	};
	struct git_record rec = {0};
	enum err r;

	file_body_op(rq, "git.checkout");
	id_stamped("git", x.id);
	r = read_request(&x, e);
	if (r == ERR_NONE)
		r = pool_long(rq, e);
	if (r == ERR_NONE)
		r = link_open(rq, LINK_CREATE, &x.d.link, e);
	if (r == ERR_NONE)
		r = start(&x, e);
	if (r != ERR_NONE)
		return r;
	route_park(rq);
	r = result(&x, &rec, e);
	if (r != ERR_NONE)
		return r;
	settle(&x);
	if (rec.status != CHECKOUT_OK)
		return failed(&x, &rec, e);
	return answer(&x, &rec, e);
}

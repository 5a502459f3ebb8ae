/* git/checkout, pull and push: what speaks to a remote. Each also as a
 * stream, which tells of its progress. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/file_body.h"
#include "fcgi/git_call.h"
#include "fcgi/launch.h"
#include "fcgi/pool.h"

#define DEPTH_MAX 1000000
#define COMMAND_MAX (4 * GIT_URL_MAX)

struct remote_in {
	struct git_call call;
	const char *branch;
	const char *commit;
	const char *dir;
	const char *remote;
	const char *remote_branch;
	struct json_object *author;
	int64_t depth;
	struct json_object *single; /* NULL: as the depth says */
	bool submodules;
	bool lfs;
	bool ff_only;
	bool force;
	bool upstream;
	struct buf shown_dir;
	struct buf command;
	char before[64]; /* of the row MOVED */
	char moved_remote[GIT_ASK_NAME_MAX + 24];
	char moved_branch[GIT_ASK_NAME_MAX + 24];
	char moved_url[GIT_URL_MAX + 1];
};

#define REMOTE_IN_INIT                                                         \
	{                                                                      \
		.call = GIT_CALL_INIT,                                         \
		.shown_dir = BUF_INIT(FS_CALL_PATH_MAX + 1),                   \
		.command = BUF_INIT(COMMAND_MAX)                               \
	}

#define AT(member) offsetof(struct remote_in, member)
#define NAME(key, member)                                                      \
	{                                                                      \
		key, NULL, JSON_TEXT, AT(member), false, 0, GIT_ASK_NAME_MAX   \
	}
#define BOOL(key, member)                                                      \
	{                                                                      \
		key, NULL, JSON_BOOL, AT(member), false, 0, 0                  \
	}

static const struct json_field checkout_fields[] = {
    GIT_ASK_REMOTE_FIELDS(struct remote_in, call.ask),
    GIT_ASK_COMMON_FIELDS(struct remote_in, call.ask),
    NAME("branch", branch),
    {"commit", NULL, JSON_TEXT, AT(commit), false, 40, 40},
    {"targetDir", NULL, JSON_TEXT, AT(dir), false, 1, FS_CALL_PATH_MAX},
    {"depth", NULL, JSON_INT, AT(depth), false, 1, DEPTH_MAX},
    {"singleBranch", NULL, JSON_ANY, AT(single), false, 0, 0},
    BOOL("submodules", submodules),
    BOOL("lfs", lfs),
};

static const struct json_field pull_fields[] = {
    GIT_ASK_REMOTE_FIELDS(struct remote_in, call.ask),
    GIT_ASK_FIELDS(struct remote_in, call.ask),
    NAME("remote", remote),
    NAME("branch", branch),
    {"author", NULL, JSON_OBJECT, AT(author), false, 0, 0},
    {"depth", NULL, JSON_INT, AT(depth), false, 1, DEPTH_MAX},
    BOOL("ffOnly", ff_only),
    BOOL("submodules", submodules),
};

static const struct json_field push_fields[] = {
    GIT_ASK_REMOTE_FIELDS(struct remote_in, call.ask),
    GIT_ASK_FIELDS(struct remote_in, call.ask),
    NAME("remote", remote),
    NAME("branch", branch),
    NAME("remoteBranch", remote_branch),
    BOOL("force", force),
    BOOL("setUpstream", upstream),
};

static void remote_in_free(struct remote_in *x)
{
	git_call_free(&x->call);
	buf_free(&x->shown_dir);
	buf_free(&x->command);
}

static const char *text_or(const char *s, const char *other)
{
	return s != NULL ? s : other;
}

static uint32_t flag(bool given, uint32_t bit)
{
	return given ? bit : 0;
}

/* ---- what is asked ---- */

static enum err read_dir(struct remote_in *x, struct errinfo *e)
{
	struct git_ask *a = &x->call.ask;

	if (x->dir != NULL) {
		buf_adds(&x->shown_dir, x->dir);
	} else {
		buf_adds(&x->shown_dir, LAUNCH_CWD "/");
		if (!git_url_name(buf_str(&a->url), &x->shown_dir))
			return err_http_field(a->rq, e, "targetDir",
					      "is needed: the URL names no "
					      "repository");
	}
	fs_call_path(&a->full, buf_str(&x->shown_dir));
	if (!buf_ok(&x->shown_dir) || !buf_ok(&a->full))
		return err_http_field(a->rq, e, "targetDir", "is too long");
	a->to.dir = buf_str(&a->full);
	err_http_text(a->rq, "targetDir", buf_str(&x->shown_dir));
	return ERR_NONE;
}

/* As git has it: of a history that is cut off, one branch is enough. */
static enum err read_single(struct remote_in *x, struct errinfo *e)
{
	if (x->single == NULL)
		return ERR_NONE;
	return json_object_is_type(x->single, json_type_boolean)
		   ? ERR_NONE
		   : err_http_field(x->call.ask.rq, e, "singleBranch",
				    "must be true or false");
}

static bool single(const struct remote_in *x)
{
	return x->single != NULL ? json_object_get_boolean(x->single)
				 : x->depth > 0;
}

static enum err read_checkout(struct remote_in *x, struct errinfo *e)
{
	struct git_ask *a = &x->call.ask;
	enum err r = body_json(a->rq, checkout_fields,
			       JSON_COUNT(checkout_fields), x, e);

	a->to.op = GIT_OP_CLONE;
	if (r == ERR_NONE)
		r = git_ask_remote(a, true, e);
	if (r == ERR_NONE)
		r = git_ask_timeout(a, e);
	if (r == ERR_NONE)
		r = read_single(x, e);
	if (r == ERR_NONE)
		r = read_dir(x, e);
	if (r == ERR_NONE)
		r = git_ask_name(a, "branch", x->branch, e);
	if (r == ERR_NONE && x->lfs)
		r = err_http_fail(a->rq, e, HTTP_GIT_LFS_NOT_SUPPORTED,
				  "Git LFS is not supported: files that it "
				  "keeps are cloned as pointers");
	if (r != ERR_NONE)
		return r;
	a->to.commit = text_or(x->commit, "");
	a->to.flags = flag(single(x), GIT_ASK_SINGLE) |
		      flag(x->submodules, GIT_ASK_SUBMODULES);
	buf_addf(&x->command, "git clone %s %s", a->to.url,
		 buf_str(&x->shown_dir));
	return ERR_NONE;
}

static enum err read_work(struct remote_in *x, enum git_op op,
			  struct errinfo *e)
{
	struct git_ask *a = &x->call.ask;
	bool pull = op == GIT_OP_PULL;
	enum err r =
	    pull ? body_json(a->rq, pull_fields, JSON_COUNT(pull_fields), x, e)
		 : body_json(a->rq, push_fields, JSON_COUNT(push_fields), x, e);

	a->to.op = op;
	if (r == ERR_NONE)
		r = git_ask_remote(a, false, e);
	if (r == ERR_NONE)
		r = git_ask_timeout(a, e);
	if (r == ERR_NONE)
		r = git_ask_name(a, "branch", x->branch, e);
	if (r == ERR_NONE)
		r = git_ask_name(a, "remote", x->remote, e);
	if (r == ERR_NONE)
		r = git_ask_name(a, "remoteBranch", x->remote_branch, e);
	if (r == ERR_NONE)
		r = git_ask_author(a, x->author, e);
	if (r != ERR_NONE)
		return r;
	a->to.remote = text_or(x->remote, "");
	a->to.remote_branch = text_or(x->remote_branch, "");
	a->to.flags = flag(x->submodules, GIT_ASK_SUBMODULES) |
		      flag(x->ff_only, GIT_ASK_FF) |
		      flag(x->force, GIT_ASK_FORCE) |
		      flag(x->upstream, GIT_ASK_UPSTREAM);
	buf_addf(&x->command, "git %s %s %s", pull ? "pull" : "push", a->to.url,
		 text_or(x->branch, ""));
	return ERR_NONE;
}

static enum err read_any(struct remote_in *x, enum git_op op, struct errinfo *e)
{
	struct git_call *c = &x->call;
	enum err r = op == GIT_OP_CLONE ? read_checkout(x, e)
					: read_work(x, op, e);

	c->ask.to.branch = text_or(x->branch, "");
	c->ask.to.depth = (uint32_t)x->depth;
	c->command = buf_str(&x->command);
	return r;
}

/* ---- what is answered ---- */

static void on_row(void *arg, const struct git_row *row)
{
	struct remote_in *x = arg;

	if (row->kind != GIT_ROW_MOVED)
		return;
	snprintf(x->before, sizeof(x->before), "%s", row->texts[0]);
	snprintf(x->moved_remote, sizeof(x->moved_remote), "%s", row->texts[1]);
	snprintf(x->moved_branch, sizeof(x->moved_branch), "%s", row->texts[2]);
	snprintf(x->moved_url, sizeof(x->moved_url), "%s", row->texts[3]);
}

static void put_checkout(struct remote_in *x, const struct git_record *rec,
			 struct json_out *o)
{
	const struct git_ask *a = &x->call.ask;
	/* detached: what was asked for, a tag or a commit */
	const char *branch = rec->branch[0] != '\0' ? rec->branch
						    : a->to.branch;

	json_out_text(o, "repoUrl", a->to.url);
	json_out_text(o, "branch", branch[0] != '\0' ? branch : "HEAD");
	json_out_text(o, "targetDir", buf_str(&x->shown_dir));
	if (rec->commit[0] != '\0')
		json_out_text(o, "commit", rec->commit);
	json_out_text(o, "engine",
		      (rec->flags & GIT_DID_PROGRAM) != 0 ? "git" : "libgit2");
	if ((rec->flags & GIT_DID_LFS) != 0)
		json_out_bool(o, "lfsPointers", true);
}

static const char *pull_result(uint64_t flags)
{
	if ((flags & GIT_DID_NOTHING) != 0)
		return "up-to-date";
	return (flags & GIT_DID_MERGE) != 0 ? "merge" : "fast-forward";
}

static const char *push_result(uint64_t flags)
{
	if ((flags & GIT_DID_NOTHING) != 0)
		return "up-to-date";
	return (flags & GIT_DID_CREATE) != 0 ? "created" : "pushed";
}

static void put_work(struct remote_in *x, const struct git_record *rec,
		     struct json_out *o)
{
	const struct git_ask *a = &x->call.ask;
	bool pull = a->to.op == GIT_OP_PULL;

	json_out_text(o, "path", a->to.dir);
	json_out_text(o, "repoUrl", x->moved_url);
	json_out_text(o, "remote", x->moved_remote);
	json_out_text(o, "remoteBranch", x->moved_branch);
	json_out_text(o, "branch",
		      !pull && a->to.branch[0] != '\0' ? a->to.branch
						       : rec->branch);
	json_out_text(o, "result",
		      pull ? pull_result(rec->flags) : push_result(rec->flags));
	if (x->before[0] != '\0')
		json_out_text(o, "before", x->before);
	if (rec->commit[0] != '\0')
		json_out_text(o, "commit", rec->commit);
}

static void put_answer(struct remote_in *x, const struct git_record *rec,
		       struct json_out *o)
{
	json_out_object(o, NULL);
	if (x->call.sse != NULL)
		json_out_text(o, "type", "complete");
	json_out_bool(o, "success", true);
	if (x->call.ask.to.op == GIT_OP_CLONE)
		put_checkout(x, rec, o);
	else
		put_work(x, rec, o);
	json_out_now(o);
	json_out_end(o);
}

/* ---- doing it ---- */

static enum err begin(struct remote_in *x, enum git_op op, struct errinfo *e)
{
	struct git_call *c = &x->call;
	enum err r = read_any(x, op, e);

	if (r == ERR_NONE)
		r = pool_long(c->ask.rq, e);
	if (r == ERR_NONE)
		r = link_open(c->ask.rq, LINK_CREATE, &c->d.link, e);
	if (r == ERR_NONE && op != GIT_OP_CLONE)
		r = git_ask_dir(&c->ask, &c->d.link, e);
	if (r == ERR_NONE)
		r = git_call_start(c, e);
	if (r == ERR_NONE)
		route_park(c->ask.rq);
	return r;
}

static enum err answer(struct remote_in *x, struct errinfo *e)
{
	OWN(json_out_free)
	struct json_out o = JSON_OUT_INIT(4 * FILE_ANSWER_MAX);
	struct git_record rec = {0};
	enum err r = git_call_read(&x->call, &rec, e);

	if (r != ERR_NONE)
		return r;
	put_answer(x, &rec, &o);
	return answer_json(x->call.ask.rq, 200, &o, e);
}

static enum err tell_failure(struct remote_in *x, enum err r, struct errinfo *e)
{
	OWN(json_out_free)
	struct json_out o = JSON_OUT_INIT(4 * FILE_ANSWER_MAX);

	json_out_object(&o, NULL);
	json_out_text(&o, "type", "error");
	err_http_put(x->call.ask.rq, r, e, &o);
	json_out_text(&o, "error", x->call.ask.rq->failure.message);
	json_out_end(&o);
	return sse_send(x->call.sse, 0, &o, e);
}

static enum err tell_all(struct remote_in *x, struct errinfo *e)
{
	OWN(json_out_free)
	struct json_out o = JSON_OUT_INIT(4 * FILE_ANSWER_MAX);
	struct git_record rec = {0};
	struct sse sse;
	enum err r = sse_begin(&sse, x->call.ask.rq, e);

	if (r != ERR_NONE)
		return r == ERR_GONE ? ERR_NONE : r;
	x->call.sse = &sse;
	r = git_call_read(&x->call, &rec, e);
	if (r == ERR_NONE) {
		put_answer(x, &rec, &o);
		r = sse_send(&sse, 0, &o, e);
	} else if (!x->call.ask.rq->broken) {
		r = tell_failure(x, r, e);
	}
	return r == ERR_GONE ? ERR_NONE : r;
}

static enum err run(struct request *rq, enum git_op op, bool stream,
		    struct errinfo *e)
{
	static const char *const ops[][2] = {
	    [GIT_OP_CLONE] = {"git.checkout", "clone"},
	    [GIT_OP_PULL] = {"git.pull", "pull"},
	    [GIT_OP_PUSH] = {"git.push", "push"},
	};
	OWN(remote_in_free) struct remote_in x = REMOTE_IN_INIT;
	enum err r;

	file_body_op(rq, ops[op][0]);
	x.call.ask.rq = rq;
	x.call.ask.timeout_ms = GIT_CALL_TIMEOUT_MS;
	x.call.what = ops[op][1];
	x.call.row = on_row;
	x.call.arg = &x;
	r = begin(&x, op, e);
	if (r != ERR_NONE)
		return r;
	return stream ? tell_all(&x, e) : answer(&x, e);
}

enum err git_checkout(struct request *rq, struct errinfo *e)
{
	return run(rq, GIT_OP_CLONE, false, e);
}

enum err git_checkout_stream(struct request *rq, struct errinfo *e)
{
	return run(rq, GIT_OP_CLONE, true, e);
}

enum err git_pull(struct request *rq, struct errinfo *e)
{
	return run(rq, GIT_OP_PULL, false, e);
}

enum err git_pull_stream(struct request *rq, struct errinfo *e)
{
	return run(rq, GIT_OP_PULL, true, e);
}

enum err git_push(struct request *rq, struct errinfo *e)
{
	return run(rq, GIT_OP_PUSH, false, e);
}

enum err git_push_stream(struct request *rq, struct errinfo *e)
{
	return run(rq, GIT_OP_PUSH, true, e);
}

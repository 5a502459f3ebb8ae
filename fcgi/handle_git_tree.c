/* git/status, log, diff, branch, commit: what a repository holds, and local
 * changes of it. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/file_body.h"
#include "fcgi/git_call.h"

#define FILES_MAX 10000
#define COMMITS_MAX 1000
#define PATCH_MAX (8 * MIB)
#define MESSAGE_MAX (128 * 1024)

struct tree_in {
	struct git_call call;
	const char *from;
	const char *to;
	const char *branch;
	const char *message;
	struct json_object *paths;
	struct json_object *author;
	int64_t limit;
	int64_t skip;
	int64_t context;
	int64_t patch_bytes;
	bool staged;
	bool patch;
	bool ignored;
	bool remotes;
	bool all;
	bool empty;
	bool force;
	bool create;
	bool detach;
	bool go;
	/* what came */
	struct json_out list;
	struct buf text; /* of the patch */
	uint64_t added;
	uint64_t removed;
	uint64_t count;
	char state[32];
	bool has_upstream;
	char upstream[2 * GIT_ASK_NAME_MAX + 64];
	uint64_t ahead;
	uint64_t behind;
};

#define TREE_IN_INIT                                                           \
	{                                                                      \
		.call = GIT_CALL_INIT,                                         \
		.list = JSON_OUT_INIT(GIT_CALL_ANSWER_MAX / 2),                \
		.text = BUF_INIT(PATCH_MAX + 1)                                \
	}

#define AT(member) offsetof(struct tree_in, member)
#define NAME(key, member, needed)                                              \
	{                                                                      \
		key, NULL, JSON_TEXT, AT(member), needed, 1, GIT_ASK_NAME_MAX  \
	}
#define BOOL(key, member)                                                      \
	{                                                                      \
		key, NULL, JSON_BOOL, AT(member), false, 0, 0                  \
	}
#define NUMBER(key, member, min, max)                                          \
	{                                                                      \
		key, NULL, JSON_INT, AT(member), false, min, max               \
	}
#define PATHS                                                                  \
	{                                                                      \
		"paths", NULL, JSON_TEXTS, AT(paths), false, 1, GIT_PATHS_MAX  \
	}

static const struct json_field status_fields[] = {
    GIT_ASK_FIELDS(struct tree_in, call.ask),
    BOOL("ignored", ignored),
    NUMBER("limit", limit, 1, FILES_MAX),
};

static const struct json_field log_fields[] = {
    GIT_ASK_FIELDS(struct tree_in, call.ask),
    NAME("ref", from, false),
    NUMBER("limit", limit, 1, COMMITS_MAX),
    NUMBER("skip", skip, 0, INT32_MAX),
    PATHS,
};

static const struct json_field diff_fields[] = {
    GIT_ASK_FIELDS(struct tree_in, call.ask),
    NAME("from", from, false),
    NAME("to", to, false),
    BOOL("staged", staged),
    BOOL("patch", patch),
    NUMBER("contextLines", context, 0, 1000),
    NUMBER("maxBytes", patch_bytes, 0, PATCH_MAX),
    NUMBER("limit", limit, 1, FILES_MAX),
    PATHS,
};

static const struct json_field list_fields[] = {
    GIT_ASK_FIELDS(struct tree_in, call.ask),
    BOOL("remote", remotes),
    NUMBER("limit", limit, 1, FILES_MAX),
};

static const struct json_field create_fields[] = {
    GIT_ASK_FIELDS(struct tree_in, call.ask),
    NAME("name", branch, true),
    NAME("from", from, false),
    BOOL("force", force),
    BOOL("switch", go),
};

static const struct json_field switch_fields[] = {
    GIT_ASK_FIELDS(struct tree_in, call.ask),
    NAME("name", branch, true),
    NAME("from", from, false),
    BOOL("create", create),
    BOOL("detach", detach),
    BOOL("force", force),
};

static const struct json_field commit_fields[] = {
    GIT_ASK_FIELDS(struct tree_in, call.ask),
    {"message", NULL, JSON_TEXT, AT(message), true, 1, MESSAGE_MAX},
    {"author", NULL, JSON_OBJECT, AT(author), false, 0, 0},
    BOOL("all", all),
    BOOL("allowEmpty", empty),
    PATHS,
};

static void tree_in_free(struct tree_in *x)
{
	git_call_free(&x->call);
	json_out_free(&x->list);
	buf_free(&x->text);
}

/* ---- rows ---- */

static const char *change_name(uint64_t change)
{
	static const char *const names[GIT_CHANGE_END] = {
	    [GIT_CHANGE_NONE] = "unmodified",
	    [GIT_CHANGE_ADDED] = "added",
	    [GIT_CHANGE_MODIFIED] = "modified",
	    [GIT_CHANGE_DELETED] = "deleted",
	    [GIT_CHANGE_RENAMED] = "renamed",
	    [GIT_CHANGE_TYPE] = "typechange",
	    [GIT_CHANGE_UNTRACKED] = "untracked",
	    [GIT_CHANGE_IGNORED] = "ignored"};

	return change < GIT_CHANGE_END ? names[change] : "modified";
}

static void put_file(struct json_out *o, const struct git_row *row)
{
	git_call_path(o, "path", row->texts[0]);
	if (row->texts[1][0] != '\0')
		git_call_path(o, "oldPath", row->texts[1]);
	json_out_text(o, "index", change_name(row->numbers[0]));
	json_out_text(o, "worktree", change_name(row->numbers[1]));
	json_out_bool(o, "conflicted", row->numbers[2] != 0);
}

static void put_who(struct json_out *o, const char *key,
		    const struct git_row *row, size_t at, uint64_t seconds)
{
	/* any number may be in a commit; what no date is ends at the last */
	const uint64_t most = INT64_C(253402300799);

	json_out_object(o, key);
	json_out_text(o, "name", row->texts[at]);
	json_out_text(o, "email", row->texts[at + 1]);
	json_out_time(o, "date",
		      (int64_t)(seconds < most ? seconds : most) * 1000);
	json_out_end(o);
}

static void put_commit(struct json_out *o, const struct git_row *row)
{
	const char *at = row->texts[1];

	json_out_text(o, "id", row->texts[0]);
	json_out_array(o, "parents");
	while (*at != '\0') {
		size_t n = strcspn(at, " ");

		json_out_textn(o, NULL, at, n);
		at += n + (at[n] != '\0');
	}
	json_out_end(o);
	put_who(o, "author", row, 2, row->numbers[0]);
	put_who(o, "committer", row, 4, row->numbers[1]);
	json_out_textn(o, "subject", row->texts[6],
		       strcspn(row->texts[6], "\n"));
	json_out_text(o, "message", row->texts[6]);
}

static void put_diff(struct json_out *o, const struct git_row *row)
{
	git_call_path(o, "path", row->texts[0]);
	if (row->texts[1][0] != '\0')
		git_call_path(o, "oldPath", row->texts[1]);
	json_out_text(o, "status", change_name(row->numbers[0]));
	json_out_int(o, "additions", (int64_t)row->numbers[1]);
	json_out_int(o, "deletions", (int64_t)row->numbers[2]);
	json_out_bool(o, "binary", row->numbers[3] != 0);
}

static void put_distance(struct json_out *o, uint64_t ahead, uint64_t behind)
{
	if (ahead == UINT64_MAX)
		return;
	json_out_int(o, "ahead", (int64_t)ahead);
	json_out_int(o, "behind", (int64_t)behind);
}

static void put_branch(struct json_out *o, const struct git_row *row)
{
	json_out_text(o, "name", row->texts[0]);
	json_out_bool(o, "current", row->numbers[1] != 0);
	json_out_bool(o, "remote", row->numbers[0] != 0);
	json_out_text(o, "commit", row->texts[2]);
	json_out_text(o, "subject", row->texts[3]);
	if (row->texts[1][0] != '\0')
		json_out_text(o, "upstream", row->texts[1]);
	put_distance(o, row->numbers[2], row->numbers[3]);
}

static void put_item(struct tree_in *x, const struct git_row *row,
		     void (*put)(struct json_out *, const struct git_row *))
{
	json_out_object(&x->list, NULL);
	put(&x->list, row);
	json_out_end(&x->list);
	x->count++;
}

static void on_row(void *arg, const struct git_row *row)
{
	struct tree_in *x = arg;

	switch (row->kind) {
	case GIT_ROW_FILE:
		put_item(x, row, put_file);
		break;
	case GIT_ROW_COMMIT:
		put_item(x, row, put_commit);
		break;
	case GIT_ROW_DIFF:
		put_item(x, row, put_diff);
		x->added += row->numbers[1];
		x->removed += row->numbers[2];
		break;
	case GIT_ROW_BRANCH:
		put_item(x, row, put_branch);
		break;
	case GIT_ROW_PATCH:
		buf_adds(&x->text, row->texts[0]);
		break;
	case GIT_ROW_STATE:
		snprintf(x->state, sizeof(x->state), "%s", row->texts[0]);
		break;
	case GIT_ROW_UPSTREAM:
		x->has_upstream = true;
		snprintf(x->upstream, sizeof(x->upstream), "%s", row->texts[0]);
		x->ahead = row->numbers[0];
		x->behind = row->numbers[1];
		break;
	case GIT_ROW_PATH:
	case GIT_ROW_MOVED:
	case GIT_ROW_END:
		break;
	}
}

/* ---- answers ---- */

static void put_list(struct tree_in *x, struct json_out *o, const char *key,
		     const struct git_record *rec)
{
	json_out_end(&x->list);
	if (!json_out_ok(&x->list))
		o->b.failed = true;
	json_out_raw(o, key, buf_str(&x->list.b));
	json_out_bool(o, "truncated", (rec->flags & GIT_DID_MORE) != 0);
}

static void put_head(struct json_out *o, const struct git_record *rec)
{
	if (rec->branch[0] != '\0')
		json_out_text(o, "branch", rec->branch);
	else
		json_out_null(o, "branch");
	if (rec->commit[0] != '\0')
		json_out_text(o, "commit", rec->commit);
	else
		json_out_null(o, "commit");
}

static void put_status(struct tree_in *x, struct json_out *o,
		       const struct git_record *rec)
{
	json_out_bool(o, "detached", (rec->flags & GIT_DID_DETACHED) != 0);
	if (x->has_upstream) {
		json_out_text(o, "upstream", x->upstream);
		put_distance(o, x->ahead, x->behind);
	}
	if (x->state[0] != '\0')
		json_out_text(o, "operation", x->state);
	json_out_bool(o, "clean", x->count == 0);
	put_list(x, o, "files", rec);
}

static void put_diffs(struct tree_in *x, struct json_out *o,
		      const struct git_record *rec)
{
	json_out_int(o, "additions", (int64_t)x->added);
	json_out_int(o, "deletions", (int64_t)x->removed);
	put_list(x, o, "files", rec);
	if (!x->patch)
		return;
	if (!buf_ok(&x->text))
		o->b.failed = true;
	json_out_textn(o, "patch", buf_str(&x->text), x->text.len);
	json_out_bool(o, "patchTruncated", (rec->flags & GIT_DID_CUT) != 0);
}

static void put_answer(struct tree_in *x, struct json_out *o,
		       const struct git_record *rec)
{
	struct git_call *c = &x->call;

	switch (c->ask.to.op) {
	case GIT_OP_STATUS:
		put_status(x, o, rec);
		break;
	case GIT_OP_LOG:
		put_list(x, o, "commits", rec);
		break;
	case GIT_OP_DIFF:
		put_diffs(x, o, rec);
		break;
	case GIT_OP_BRANCHES:
		put_list(x, o, "branches", rec);
		break;
	case GIT_OP_COMMIT:
		git_call_paths(c, o, "files");
		json_out_bool(o, "truncated", (rec->flags & GIT_DID_MORE) != 0);
		break;
	case GIT_OP_BRANCH:
	case GIT_OP_SWITCH:
		json_out_text(o, "name", x->branch);
		json_out_bool(o, "created",
			      c->ask.to.op == GIT_OP_BRANCH ||
				  (rec->flags & GIT_DID_CREATE) != 0);
		break;
	case GIT_OP_CLONE:
	case GIT_OP_PULL:
	case GIT_OP_PUSH:
	case GIT_OP_END:
		break;
	}
}

static enum err answer(struct tree_in *x, struct errinfo *e)
{
	OWN(json_out_free)
	struct json_out o = JSON_OUT_INIT(2 * GIT_CALL_ANSWER_MAX);
	struct git_record rec = {0};
	enum err r;

	json_out_array(&x->list, NULL);
	r = git_call_read(&x->call, &rec, e);
	if (r != ERR_NONE)
		return r;
	file_body_start(&o);
	json_out_text(&o, "path", x->call.ask.to.dir);
	put_head(&o, &rec);
	put_answer(x, &o, &rec);
	return file_body_send(x->call.ask.rq, &o, e);
}

/* ---- what is asked ---- */

static uint32_t flag(bool given, uint32_t bit)
{
	return given ? bit : 0;
}

static void fill(struct tree_in *x)
{
	struct git_request *to = &x->call.ask.to;

	to->flags = flag(x->staged, GIT_ASK_STAGED) |
		    flag(x->patch, GIT_ASK_PATCH) |
		    flag(x->ignored, GIT_ASK_IGNORED) |
		    flag(x->remotes, GIT_ASK_REMOTE) |
		    flag(x->all, GIT_ASK_ALL) | flag(x->empty, GIT_ASK_EMPTY) |
		    flag(x->force, GIT_ASK_FORCE) |
		    flag(x->create, GIT_ASK_CREATE) |
		    flag(x->detach, GIT_ASK_DETACH) |
		    flag(x->go, GIT_ASK_SWITCH);
	to->from = x->from != NULL ? x->from : "";
	to->to = x->to != NULL ? x->to : "";
	to->branch = x->branch != NULL ? x->branch : "";
	to->message = x->message != NULL ? x->message : "";
	to->limit = (uint32_t)x->limit;
	/* of a patch: how many bytes */
	to->skip = (uint32_t)(to->op == GIT_OP_DIFF ? x->patch_bytes : x->skip);
	to->context = (uint32_t)x->context;
}

static enum err check(struct tree_in *x, struct errinfo *e)
{
	struct git_ask *a = &x->call.ask;
	enum err r = git_ask_timeout(a, e);

	if (r == ERR_NONE)
		r = git_ask_name(a, "name", x->branch, e);
	if (r == ERR_NONE && x->create && x->detach)
		r = err_http_field(a->rq, e, "detach",
				   "does not go with create");
	if (r == ERR_NONE && x->staged && x->to != NULL)
		r = err_http_field(a->rq, e, "staged", "does not go with to");
	if (r == ERR_NONE)
		r = git_ask_paths(a, x->paths, e);
	if (r == ERR_NONE)
		r = git_ask_author(a, x->author, e);
	return r;
}

struct call_kind {
	enum git_op op;
	const char *name;
	const char *what;
	const struct json_field *fields;
	size_t nfields;
	enum link_mode mode;
	int64_t limit;
};

static enum err run(struct request *rq, const struct call_kind *kind,
		    struct errinfo *e)
{
	OWN(tree_in_free) struct tree_in x = TREE_IN_INIT;
	struct git_call *c = &x.call;
	enum err r;

	file_body_op(rq, kind->name);
	c->ask.rq = rq;
	c->ask.timeout_ms = GIT_CALL_TIMEOUT_MS;
	c->ask.to.op = kind->op;
	c->what = kind->what;
	c->row = on_row;
	c->arg = &x;
	x.limit = kind->limit;
	x.context = 3;
	x.patch = true;
	x.patch_bytes = MIB;
	r = body_json(rq, kind->fields, kind->nfields, &x, e);
	if (r == ERR_NONE)
		r = check(&x, e);
	if (r == ERR_NONE)
		r = link_open(rq, kind->mode, &c->d.link, e);
	if (r == ERR_NONE)
		r = git_ask_dir(&c->ask, &c->d.link, e);
	if (r != ERR_NONE)
		return r;
	fill(&x);
	r = git_call_start(c, e);
	if (r != ERR_NONE)
		return r;
	route_park(rq);
	return answer(&x, e);
}

#define KIND(OP, name, what, fields, mode, limit)                              \
	{                                                                      \
		GIT_OP_##OP, name, what, fields, JSON_COUNT(fields), mode,     \
		    limit                                                      \
	}

enum err git_status(struct request *rq, struct errinfo *e)
{
	static const struct call_kind kind = KIND(STATUS, "git.status",
						  "status", status_fields,
						  LINK_START, FILES_MAX);

	return run(rq, &kind, e);
}

enum err git_log(struct request *rq, struct errinfo *e)
{
	static const struct call_kind kind = KIND(LOG, "git.log", "log",
						  log_fields, LINK_START, 50);

	return run(rq, &kind, e);
}

enum err git_diff(struct request *rq, struct errinfo *e)
{
	static const struct call_kind kind = KIND(
	    DIFF, "git.diff", "diff", diff_fields, LINK_START, FILES_MAX);

	return run(rq, &kind, e);
}

enum err git_branch_list(struct request *rq, struct errinfo *e)
{
	static const struct call_kind kind = KIND(BRANCHES, "git.branch.list",
						  "branch list", list_fields,
						  LINK_START, FILES_MAX);

	return run(rq, &kind, e);
}

enum err git_branch_create(struct request *rq, struct errinfo *e)
{
	static const struct call_kind kind = KIND(BRANCH, "git.branch.create",
						  "branch", create_fields,
						  LINK_CREATE, FILES_MAX);

	return run(rq, &kind, e);
}

enum err git_branch_switch(struct request *rq, struct errinfo *e)
{
	static const struct call_kind kind = KIND(SWITCH, "git.branch.switch",
						  "switch", switch_fields,
						  LINK_CREATE, FILES_MAX);

	return run(rq, &kind, e);
}

enum err git_commit(struct request *rq, struct errinfo *e)
{
	static const struct call_kind kind = KIND(
	    COMMIT, "git.commit", "commit", commit_fields, LINK_CREATE, 1000);

	return run(rq, &kind, e);
}

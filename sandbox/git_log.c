/* Commits, the newest first. */
#include <string.h>

#include "sandbox/git_job.h"
#include "sandbox/git_own.h"

#define MESSAGE_MAX (48U << 10) /* of a record's 64 KiB */

static void who(struct git_row *row, size_t at, const git_signature *s)
{
	row->texts[at] = s != NULL ? s->name : "";
	row->texts[at + 1] = s != NULL ? s->email : "";
}

static bool tell_commit(git_commit *commit)
{
	OWN(buf_free) struct buf parents = BUF_INIT(GIT_RECORD_MAX / 4);
	OWN(buf_free) struct buf message = BUF_INIT(MESSAGE_MAX + 1);
	const char *text = git_commit_message(commit);
	struct git_row row = {.kind = GIT_ROW_COMMIT};
	char id[GIT_OID_HEXSZ + 1];
	char parent[GIT_OID_HEXSZ + 1];
	unsigned i;

	for (i = 0; i < git_commit_parentcount(commit) && i < 256; i++)
		buf_addf(&parents, "%s%s", i > 0 ? " " : "",
			 git_oid_tostr(parent, sizeof(parent),
				       git_commit_parent_id(commit, i)));
	if (text != NULL)
		buf_add(&message, text, strnlen(text, MESSAGE_MAX));
	row.texts[0] = git_oid_tostr(id, sizeof(id), git_commit_id(commit));
	row.texts[1] = buf_str(&parents);
	who(&row, 2, git_commit_author(commit));
	who(&row, 4, git_commit_committer(commit));
	row.texts[6] = buf_str(&message);
	row.numbers[0] = (uint64_t)git_commit_author(commit)->when.time;
	row.numbers[1] = (uint64_t)git_commit_time(commit);
	return git_job_row(&row);
}

/* What ${path} is in a commit's tree; all zero: it is not there. */
static bool entry_id(git_commit *commit, const char *path, git_oid *id)
{
	OWN(own_tree) git_tree *tree = NULL;
	OWN(own_tree_entry) git_tree_entry *entry = NULL;

	memset(id, 0, sizeof(*id));
	if (git_commit_tree(&tree, commit) < 0)
		return false;
	if (git_tree_entry_bypath(&entry, tree, path) == 0)
		git_oid_cpy(id, git_tree_entry_id(entry));
	return true;
}

/* As git's simple history: one parent with the same content explains it. */
static bool touches(git_commit *commit, const char *path)
{
	git_oid mine;
	git_oid theirs;
	unsigned n = git_commit_parentcount(commit);
	unsigned i;

	if (!entry_id(commit, path, &mine))
		return false;
	for (i = 0; i < n; i++) {
		OWN(own_commit) git_commit *parent = NULL;

		if (git_commit_parent(&parent, commit, i) == 0 &&
		    entry_id(parent, path, &theirs) &&
		    git_oid_equal(&mine, &theirs))
			return false;
	}
	return n > 0 || !git_oid_is_zero(&mine);
}

static bool touches_any(const struct git_job *job, git_commit *commit)
{
	uint32_t i;

	for (i = 0; i < job->rq.npaths; i++) {
		if (touches(commit, job->rq.paths[i]))
			return true;
	}
	return job->rq.npaths == 0;
}

static bool begin(struct git_job *job, git_repository *repo, git_revwalk *walk)
{
	OWN(own_object) git_object *from = NULL;
	OWN(own_object) git_object *commit = NULL;
	const char *rev = job->rq.from[0] != '\0' ? job->rq.from : "HEAD";
	int r;

	git_revwalk_sorting(walk, GIT_SORT_TIME | GIT_SORT_TOPOLOGICAL);
	r = git_revparse_single(&from, repo, rev);
	if (r == 0)
		r = git_object_peel(&commit, from, GIT_OBJECT_COMMIT);
	if (r < 0)
		return git_job_fail(job, REPO_NO_BRANCH,
				    "There is no commit '%s'", rev);
	r = git_revwalk_push(walk, git_object_id(commit));
	return r == 0 ? true
		      : git_job_failed(job, r, "The history cannot be read");
}

bool git_log_run(struct git_job *job, git_repository *repo)
{
	OWN(own_revwalk) git_revwalk *walk = NULL;
	uint32_t skip = job->rq.skip;
	uint32_t told = 0;
	git_oid id;
	int r;

	if (job->rq.from[0] == '\0' && git_repository_head_unborn(repo) == 1)
		return true;
	if (git_revwalk_new(&walk, repo) < 0 || !begin(job, repo, walk))
		return false;
	while ((r = git_revwalk_next(&id, walk)) == 0) {
		OWN(own_commit) git_commit *commit = NULL;

		r = git_commit_lookup(&commit, repo, &id);
		if (r < 0)
			break;
		if (!touches_any(job, commit))
			continue;
		if (skip > 0) {
			skip--;
			continue;
		}
		if (told == job->rq.limit) {
			job->flags |= GIT_DID_MORE;
			return true;
		}
		if (tell_commit(commit))
			told++;
	}
	return r == GIT_ITEROVER
		   ? true
		   : git_job_failed(job, r, "The history cannot be read");
}

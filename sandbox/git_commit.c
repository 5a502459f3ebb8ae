/* A commit of what is staged, or of what is to be staged first. No hook is
 * run, and nothing is signed: both would be programs of the repository. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/git_job.h"
#include "sandbox/git_own.h"

#define PARENTS_MAX 16U

bool git_commit_who(struct git_job *job, git_repository *repo,
		    git_signature **out)
{
	const struct git_request *rq = &job->rq;
	int r = rq->name[0] != '\0'
		    ? git_signature_now(out, rq->name, rq->email)
		    : git_signature_default(out, repo);

	return r == 0 ? true
		      : git_job_fail(job, REPO_NO_AUTHOR,
				     "Who commits is not known: give author "
				     "{name, email}, or set user.name and "
				     "user.email");
}

/* ---- staging ---- */

struct stage {
	struct git_job *job;
	git_repository *repo;
};

/* What LFS keeps elsewhere must not get into the repository whole. */
static int on_path(const char *path, const char *matched, void *arg)
{
	struct stage *s = arg;
	const char *filter = NULL;

	(void)matched;
	if (git_attr_get(&filter, s->repo, GIT_ATTR_CHECK_FILE_THEN_INDEX, path,
			 "filter") < 0 ||
	    filter == NULL || GIT_ATTR_VALUE_STRING != git_attr_value(filter) ||
	    strcmp(filter, "lfs") != 0)
		return 0;
	git_job_fail(s->job, REPO_LFS,
		     "'%s' is kept by Git LFS, which this call does not "
		     "speak: commit it by a command",
		     path);
	return GIT_EUSER;
}

static int add_paths(struct stage *s, git_index *index,
		     const git_strarray *paths)
{
	int r = git_index_add_all(index, paths, GIT_INDEX_ADD_DEFAULT, on_path,
				  s);

	return r < 0 ? r : git_index_update_all(index, paths, on_path, s);
}

/* A path that is neither here nor in the index is a mistake. */
static bool known(struct git_job *job, git_repository *repo, git_index *index)
{
	uint32_t i;

	for (i = 0; i < job->rq.npaths; i++) {
		const char *path = job->rq.paths[i];
		char full[PATH_MAX];
		size_t at;

		snprintf(full, sizeof(full), "%s%s",
			 git_repository_workdir(repo), path);
		if (access(full, F_OK) == 0 ||
		    git_index_find_prefix(&at, index, path) == 0)
			continue;
		return git_job_fail(job, REPO_INVALID,
				    "There is no '%.300s' to commit", path);
	}
	return true;
}

static bool stage(struct git_job *job, git_repository *repo, git_index *index)
{
	struct stage s = {job, repo};
	git_strarray paths = {.count = job->rq.npaths};
	int r;

	if (paths.count == 0 && !git_job_asks(job, GIT_ASK_ALL))
		return true;
	if (!known(job, repo, index))
		return false;
	memcpy(&paths.strings, &job->rq.paths, sizeof(paths.strings));
	r = add_paths(&s, index, &paths);
	if (r == 0)
		r = git_index_write(index);
	if (r == GIT_EUSER)
		return false;
	return r == 0 ? true : git_job_failed(job, r, "Staging failed");
}

/* ---- the commit ---- */

struct parents {
	git_commit *at[PARENTS_MAX];
	size_t n;
};

static void parents_free(struct parents *p)
{
	while (p->n > 0)
		git_commit_free(p->at[--p->n]);
}

struct merging {
	git_repository *repo;
	struct parents *parents;
};

static int on_merge_head(const git_oid *id, void *arg)
{
	struct merging *m = arg;

	if (m->parents->n == PARENTS_MAX)
		return -1;
	if (git_commit_lookup(&m->parents->at[m->parents->n], m->repo, id) < 0)
		return -1;
	m->parents->n++;
	return 0;
}

static bool find_parents(struct git_job *job, git_repository *repo,
			 struct parents *p)
{
	struct merging m = {repo, p};
	git_oid id;
	int state = git_repository_state(repo);
	int r = 0;

	if (git_reference_name_to_id(&id, repo, "HEAD") == 0) {
		r = git_commit_lookup(&p->at[0], repo, &id);
		p->n = r == 0 ? 1 : 0;
	}
	if (r == 0 && state == GIT_REPOSITORY_STATE_MERGE)
		r = git_repository_mergehead_foreach(repo, on_merge_head, &m);
	else if (state != GIT_REPOSITORY_STATE_NONE)
		return git_job_fail(job, REPO_BUSY,
				    "A rebase or the like is not finished");
	return r == 0 ? true : git_job_failed(job, r, "HEAD cannot be read");
}

static bool same_tree(const struct parents *p, const git_oid *tree)
{
	return p->n == 1 && git_oid_equal(git_commit_tree_id(p->at[0]), tree);
}

static bool put_commit(struct git_job *job, git_repository *repo,
		       const git_oid *tree_id)
{
	OWN(own_signature) git_signature *who = NULL;
	OWN(own_tree) git_tree *tree = NULL;
	OWN(parents_free) struct parents p = {.n = 0};
	const git_commit *list[PARENTS_MAX];
	git_buf message = {0};
	git_oid id;
	int r;

	if (!find_parents(job, repo, &p))
		return false;
	if (!git_job_asks(job, GIT_ASK_EMPTY) && same_tree(&p, tree_id))
		return git_job_fail(job, REPO_NOTHING, "Nothing to commit");
	if (!git_commit_who(job, repo, &who))
		return false;
	memcpy(list, p.at, sizeof(list));
	r = git_tree_lookup(&tree, repo, tree_id);
	if (r == 0)
		r = git_message_prettify(&message, job->rq.message, 0, '#');
	if (r == 0)
		r = git_commit_create(&id, repo, "HEAD", who, who, NULL,
				      message.ptr, tree, p.n, list);
	git_buf_dispose(&message);
	if (r == 0)
		r = git_repository_state_cleanup(repo);
	return r == 0 ? true : git_job_failed(job, r, "The commit failed");
}

static bool tell_changes(struct git_job *job, git_repository *repo)
{
	OWN(own_object) git_object *before = NULL;
	OWN(own_object) git_object *after = NULL;
	OWN(own_diff) git_diff *diff = NULL;
	int r = git_revparse_single(&after, repo, "HEAD^{tree}");

	(void)git_revparse_single(&before, repo, "HEAD^1^{tree}");
	if (r == 0)
		r = git_diff_tree_to_tree(&diff, repo, (git_tree *)before,
					  (git_tree *)after, NULL);
	for (size_t i = 0; r == 0 && i < git_diff_num_deltas(diff); i++) {
		struct git_row row = {.kind = GIT_ROW_PATH};

		if (i == job->rq.limit) {
			job->flags |= GIT_DID_MORE;
			break;
		}
		row.texts[0] = git_diff_get_delta(diff, i)->new_file.path;
		(void)git_job_row(&row);
	}
	return r == 0 ? true : git_job_failed(job, r, "The commit is there");
}

bool git_commit_run(struct git_job *job, git_repository *repo)
{
	OWN(own_index) git_index *index = NULL;
	git_oid tree;
	int r;

	r = git_repository_is_bare(repo) ? GIT_EBAREREPO
					 : git_repository_index(&index, repo);
	if (r < 0)
		return git_job_failed(job, r, "There are no files to commit");
	if (!stage(job, repo, index))
		return false;
	if (git_index_has_conflicts(index))
		return git_job_fail(job, REPO_CONFLICT,
				    "Files are in conflict: resolve and stage "
				    "them first");
	r = git_index_write_tree(&tree, index);
	if (r < 0)
		return git_job_failed(job, r, "The tree cannot be written");
	return put_commit(job, repo, &tree) && tell_changes(job, repo);
}

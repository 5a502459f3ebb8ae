/* Branches: which there are, a new one, and going to one. */
#include <stdio.h>
#include <string.h>

#include "sandbox/git_job.h"
#include "sandbox/git_own.h"

#define REF_MAX (GIT_BRANCH_MAX + 64)

/* ---- list ---- */

static void distance(git_repository *repo, git_reference *ref,
		     git_reference *upstream, struct git_row *row)
{
	size_t ahead, behind;

	row->texts[1] = git_reference_shorthand(upstream);
	if (git_graph_ahead_behind(&ahead, &behind, repo,
				   git_reference_target(ref),
				   git_reference_target(upstream)) == 0) {
		row->numbers[2] = ahead;
		row->numbers[3] = behind;
	}
}

static bool tell_branch(git_repository *repo, git_reference *ref, bool remote)
{
	OWN(own_reference) git_reference *upstream = NULL;
	OWN(own_object) git_object *commit = NULL;
	struct git_row row = {.kind = GIT_ROW_BRANCH,
			      .numbers = {remote, 0, UINT64_MAX, UINT64_MAX}};
	char id[GIT_OID_HEXSZ + 1];

	if (git_reference_type(ref) == GIT_REFERENCE_SYMBOLIC ||
	    git_reference_peel(&commit, ref, GIT_OBJECT_COMMIT) < 0)
		return true; /* origin/HEAD, or what is no branch */
	row.texts[0] = git_reference_shorthand(ref);
	row.texts[2] = git_oid_tostr(id, sizeof(id), git_object_id(commit));
	row.texts[3] = git_commit_summary((git_commit *)commit);
	row.numbers[1] = !remote && git_branch_is_head(ref) == 1;
	if (!remote && git_branch_upstream(&upstream, ref) == 0)
		distance(repo, ref, upstream, &row);
	return git_job_row(&row);
}

bool git_branch_list(struct git_job *job, git_repository *repo)
{
	OWN(own_branch_iterator) git_branch_iterator *it = NULL;
	git_branch_t which = git_job_asks(job, GIT_ASK_REMOTE)
				 ? GIT_BRANCH_ALL
				 : GIT_BRANCH_LOCAL;
	uint32_t told = 0;
	int r = git_branch_iterator_new(&it, repo, which);

	while (r == 0) {
		OWN(own_reference) git_reference *ref = NULL;

		r = git_branch_next(&ref, &which, it);
		if (r < 0)
			break;
		if (told++ == job->rq.limit) {
			job->flags |= GIT_DID_MORE;
			return true;
		}
		if (!tell_branch(repo, ref, which == GIT_BRANCH_REMOTE))
			job->flags |= GIT_DID_MORE;
	}
	return r == GIT_ITEROVER
		   ? true
		   : git_job_failed(job, r, "Branches cannot be read");
}

/* ---- a new one ---- */

static bool commit_of(struct git_job *job, git_repository *repo,
		      const char *rev, git_object **commit)
{
	OWN(own_object) git_object *object = NULL;
	int r = git_revparse_single(&object, repo, rev);

	if (r == 0)
		r = git_object_peel(commit, object, GIT_OBJECT_COMMIT);
	return r == 0 ? true
		      : git_job_fail(job, REPO_NO_BRANCH,
				     "There is no commit '%s'", rev);
}

static bool make_branch(struct git_job *job, git_repository *repo,
			git_reference **branch)
{
	OWN(own_object) git_object *commit = NULL;
	const struct git_request *rq = &job->rq;
	const char *from = rq->from[0] != '\0' ? rq->from : "HEAD";
	bool force = git_job_asks(job, GIT_ASK_FORCE) &&
		     rq->op == GIT_OP_BRANCH;
	int valid = 0;
	int r;

	if (git_branch_name_is_valid(&valid, rq->branch) < 0 || !valid)
		return git_job_fail(job, REPO_INVALID,
				    "'%s' is not a name for a branch",
				    rq->branch);
	if (!commit_of(job, repo, from, &commit))
		return false;
	r = git_branch_create(branch, repo, rq->branch,
			      (const git_commit *)commit, force);
	if (r == GIT_EEXISTS)
		return git_job_fail(job, REPO_EXISTS,
				    "A branch '%s' is there already",
				    rq->branch);
	return r == 0 ? true
		      : git_job_failed(job, r, "The branch cannot be made");
}

/* ---- going there ---- */

static int on_conflict(git_checkout_notify_t why, const char *path,
		       const git_diff_file *baseline,
		       const git_diff_file *target,
		       const git_diff_file *workdir, void *arg)
{
	struct git_row row = {.kind = GIT_ROW_PATH, .texts = {path}};
	unsigned *n = arg;

	(void)why;
	(void)baseline;
	(void)target;
	(void)workdir;
	if ((*n)++ < 1000)
		(void)git_job_row(&row);
	return 0;
}

/* All of it or, when a changed file is in the way, nothing. */
bool git_branch_checkout(struct git_job *job, git_repository *repo,
			 const git_object *to, bool force)
{
	git_checkout_options opts;
	unsigned conflicts = 0;
	int r;

	must(git_checkout_options_init(&opts, GIT_CHECKOUT_OPTIONS_VERSION) ==
	     0);
	opts.checkout_strategy = force ? GIT_CHECKOUT_FORCE : GIT_CHECKOUT_SAFE;
	opts.notify_flags = GIT_CHECKOUT_NOTIFY_CONFLICT;
	opts.notify_cb = on_conflict;
	opts.notify_payload = &conflicts;
	r = git_checkout_tree(repo, to, &opts);
	if (r == GIT_ECONFLICT)
		return git_job_fail(job, REPO_DIRTY,
				    "%u changed file%s would be overwritten: "
				    "commit or discard %s first",
				    conflicts, conflicts == 1 ? "" : "s",
				    conflicts == 1 ? "it" : "them");
	return r == 0 ? true
		      : git_job_failed(job, r, "The files cannot be changed");
}

/* Of exactly one remote: then a branch here begins there and follows it. */
static bool take_from_remote(struct git_job *job, git_repository *repo,
			     git_reference **branch)
{
	OWN(own_reference) git_reference *found = NULL;
	OWN(own_object) git_object *commit = NULL;
	git_strarray remotes = {0};
	char name[2 * REF_MAX];
	size_t n = 0;
	int r = git_remote_list(&remotes, repo);

	for (size_t i = 0; r == 0 && i < remotes.count; i++) {
		OWN(own_reference) git_reference *ref = NULL;

		snprintf(name, sizeof(name), "%s/%s", remotes.strings[i],
			 job->rq.branch);
		if (git_branch_lookup(&ref, repo, name, GIT_BRANCH_REMOTE) ==
			0 &&
		    n++ == 0)
			found = STEAL(ref);
	}
	git_strarray_dispose(&remotes);
	if (n != 1)
		return git_job_fail(job, REPO_NO_BRANCH,
				    n == 0 ? "There is no branch '%s'"
					   : "Several remotes have '%s'",
				    job->rq.branch);
	r = git_reference_peel(&commit, found, GIT_OBJECT_COMMIT);
	if (r == 0)
		r = git_branch_create(branch, repo, job->rq.branch,
				      (const git_commit *)commit, 0);
	if (r == 0)
		r = git_branch_set_upstream(*branch,
					    git_reference_shorthand(found));
	job->flags |= GIT_DID_CREATE;
	return r == 0 ? true
		      : git_job_failed(job, r, "The branch cannot be made");
}

static bool quiet(struct git_job *job, git_repository *repo)
{
	return git_repository_state(repo) == GIT_REPOSITORY_STATE_NONE
		   ? true
		   : git_job_fail(job, REPO_BUSY,
				  "A merge, rebase or the like is not "
				  "finished");
}

/* One that was only just made is of no use when it cannot be gone to. */
static bool go_to(struct git_job *job, git_repository *repo,
		  git_reference *branch)
{
	OWN(own_object) git_object *commit = NULL;
	int r = git_reference_peel(&commit, branch, GIT_OBJECT_COMMIT);

	if (r < 0)
		return git_job_failed(job, r, "The branch cannot be read");
	if (!git_branch_checkout(job, repo, commit,
				 job->rq.op == GIT_OP_SWITCH &&
				     git_job_asks(job, GIT_ASK_FORCE))) {
		if ((job->flags & GIT_DID_CREATE) != 0)
			(void)git_reference_delete(branch);
		return false;
	}
	r = git_repository_set_head(repo, git_reference_name(branch));
	return r == 0 ? true : git_job_failed(job, r, "HEAD cannot be set");
}

static bool detach(struct git_job *job, git_repository *repo)
{
	OWN(own_object) git_object *commit = NULL;
	int r;

	if (!commit_of(job, repo, job->rq.branch, &commit) ||
	    !git_branch_checkout(job, repo, commit,
				 git_job_asks(job, GIT_ASK_FORCE)))
		return false;
	r = git_repository_set_head_detached(repo, git_object_id(commit));
	return r == 0 ? true : git_job_failed(job, r, "HEAD cannot be set");
}

bool git_branch_switch(struct git_job *job, git_repository *repo)
{
	OWN(own_reference) git_reference *branch = NULL;
	int r;

	if (!quiet(job, repo))
		return false;
	if (git_job_asks(job, GIT_ASK_DETACH))
		return detach(job, repo);
	if (git_job_asks(job, GIT_ASK_CREATE)) {
		if (!make_branch(job, repo, &branch))
			return false;
		job->flags |= GIT_DID_CREATE;
		return go_to(job, repo, branch);
	}
	r = git_branch_lookup(&branch, repo, job->rq.branch, GIT_BRANCH_LOCAL);
	if (r < 0 && !take_from_remote(job, repo, &branch))
		return false;
	return go_to(job, repo, branch);
}

bool git_branch_make(struct git_job *job, git_repository *repo)
{
	OWN(own_reference) git_reference *branch = NULL;
	bool go = git_job_asks(job, GIT_ASK_SWITCH);

	if (go && !quiet(job, repo))
		return false;
	if (!make_branch(job, repo, &branch))
		return false;
	if (!go)
		return true;
	if (!git_job_asks(job, GIT_ASK_FORCE))
		job->flags |= GIT_DID_CREATE;
	return go_to(job, repo, branch);
}

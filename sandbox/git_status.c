/* What differs between HEAD, the index and the files. */
#include <string.h>

#include "sandbox/git_job.h"
#include "sandbox/git_own.h"

static enum git_change index_change(unsigned s)
{
	if ((s & GIT_STATUS_INDEX_NEW) != 0)
		return GIT_CHANGE_ADDED;
	if ((s & GIT_STATUS_INDEX_RENAMED) != 0)
		return GIT_CHANGE_RENAMED;
	if ((s & GIT_STATUS_INDEX_DELETED) != 0)
		return GIT_CHANGE_DELETED;
	if ((s & GIT_STATUS_INDEX_TYPECHANGE) != 0)
		return GIT_CHANGE_TYPE;
	return (s & GIT_STATUS_INDEX_MODIFIED) != 0 ? GIT_CHANGE_MODIFIED
						    : GIT_CHANGE_NONE;
}

static enum git_change tree_change(unsigned s)
{
	if ((s & GIT_STATUS_WT_NEW) != 0)
		return GIT_CHANGE_UNTRACKED;
	if ((s & GIT_STATUS_IGNORED) != 0)
		return GIT_CHANGE_IGNORED;
	if ((s & GIT_STATUS_WT_RENAMED) != 0)
		return GIT_CHANGE_RENAMED;
	if ((s & GIT_STATUS_WT_DELETED) != 0)
		return GIT_CHANGE_DELETED;
	if ((s & GIT_STATUS_WT_TYPECHANGE) != 0)
		return GIT_CHANGE_TYPE;
	return (s & GIT_STATUS_WT_MODIFIED) != 0 ? GIT_CHANGE_MODIFIED
						 : GIT_CHANGE_NONE;
}

static bool tell_entry(const git_status_entry *e)
{
	const git_diff_delta *a = e->head_to_index;
	const git_diff_delta *b = e->index_to_workdir;
	struct git_row row = {.kind = GIT_ROW_FILE};

	row.texts[0] = b != NULL ? b->new_file.path : a->new_file.path;
	if (a != NULL && a->status == GIT_DELTA_RENAMED)
		row.texts[1] = a->old_file.path;
	row.numbers[0] = index_change(e->status);
	row.numbers[1] = tree_change(e->status);
	row.numbers[2] = (e->status & GIT_STATUS_CONFLICTED) != 0;
	return git_job_row(&row);
}

static bool tell_files(struct git_job *job, git_repository *repo)
{
	OWN(own_status_list) git_status_list *list = NULL;
	git_status_options opts;
	size_t n;
	size_t i;
	int r;

	must(git_status_options_init(&opts, GIT_STATUS_OPTIONS_VERSION) == 0);
	opts.flags = GIT_STATUS_OPT_INCLUDE_UNTRACKED |
		     GIT_STATUS_OPT_RECURSE_UNTRACKED_DIRS |
		     GIT_STATUS_OPT_RENAMES_HEAD_TO_INDEX |
		     GIT_STATUS_OPT_SORT_CASE_SENSITIVELY;
	if (git_job_asks(job, GIT_ASK_IGNORED))
		opts.flags |= GIT_STATUS_OPT_INCLUDE_IGNORED;
	r = git_status_list_new(&list, repo, &opts);
	if (r < 0)
		return git_job_failed(job, r, "The status cannot be read");
	n = git_status_list_entrycount(list);
	for (i = 0; i < n && i < job->rq.limit; i++) {
		if (!tell_entry(git_status_byindex(list, i)))
			job->flags |= GIT_DID_MORE;
	}
	if (i < n)
		job->flags |= GIT_DID_MORE;
	return true;
}

/* Of a branch that follows one; anything else has none. */
static void tell_upstream(git_repository *repo)
{
	OWN(own_reference) git_reference *head = NULL;
	OWN(own_reference) git_reference *upstream = NULL;
	struct git_row row = {.kind = GIT_ROW_UPSTREAM,
			      .numbers = {UINT64_MAX, UINT64_MAX}};
	size_t ahead, behind;

	if (git_repository_head(&head, repo) < 0 ||
	    git_branch_upstream(&upstream, head) < 0)
		return;
	row.texts[0] = git_reference_shorthand(upstream);
	if (git_graph_ahead_behind(&ahead, &behind, repo,
				   git_reference_target(head),
				   git_reference_target(upstream)) == 0) {
		row.numbers[0] = ahead;
		row.numbers[1] = behind;
	}
	(void)git_job_row(&row);
}

static const char *state_name(int state)
{
	switch (state) {
	case GIT_REPOSITORY_STATE_NONE:
		return NULL;
	case GIT_REPOSITORY_STATE_MERGE:
		return "merge";
	case GIT_REPOSITORY_STATE_REVERT:
	case GIT_REPOSITORY_STATE_REVERT_SEQUENCE:
		return "revert";
	case GIT_REPOSITORY_STATE_CHERRYPICK:
	case GIT_REPOSITORY_STATE_CHERRYPICK_SEQUENCE:
		return "cherry-pick";
	case GIT_REPOSITORY_STATE_BISECT:
		return "bisect";
	default:
		return "rebase";
	}
}

bool git_status_run(struct git_job *job, git_repository *repo)
{
	struct git_row row = {.kind = GIT_ROW_STATE};

	if (git_repository_is_bare(repo))
		return git_job_fail(job, REPO_NO_DIR,
				    "'%s' is a repository without files",
				    job->rq.dir);
	if (git_repository_head_detached(repo) == 1)
		job->flags |= GIT_DID_DETACHED;
	row.texts[0] = state_name(git_repository_state(repo));
	if (row.texts[0] != NULL)
		(void)git_job_row(&row);
	tell_upstream(repo);
	return tell_files(job, repo);
}

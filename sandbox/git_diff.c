/* What differs, by file and as text. */
#include <string.h>

#include "sandbox/git_job.h"
#include "sandbox/git_own.h"

#define PIECE_MAX (32U << 10)

static enum git_change change_of(git_delta_t status)
{
	switch (status) {
	case GIT_DELTA_ADDED:
	case GIT_DELTA_COPIED:
		return GIT_CHANGE_ADDED;
	case GIT_DELTA_DELETED:
		return GIT_CHANGE_DELETED;
	case GIT_DELTA_RENAMED:
		return GIT_CHANGE_RENAMED;
	case GIT_DELTA_TYPECHANGE:
		return GIT_CHANGE_TYPE;
	case GIT_DELTA_UNTRACKED:
		return GIT_CHANGE_UNTRACKED;
	case GIT_DELTA_IGNORED:
		return GIT_CHANGE_IGNORED;
	case GIT_DELTA_UNMODIFIED:
	case GIT_DELTA_MODIFIED:
	case GIT_DELTA_UNREADABLE:
	case GIT_DELTA_CONFLICTED:
		break;
	}
	return GIT_CHANGE_MODIFIED;
}

/* NUL inside a patch (of a file that looks like text) ends the piece. */
static void tell_text(struct git_job *job, const char *p, size_t n)
{
	OWN(buf_free) struct buf piece = BUF_INIT(PIECE_MAX + 1);
	struct git_row row = {.kind = GIT_ROW_PATCH};

	while (n > 0) {
		size_t k = n < PIECE_MAX ? n : PIECE_MAX;

		if (job->rq.skip < k) { /* the rest of what may be told */
			job->flags |= GIT_DID_CUT;
			return;
		}
		buf_reset(&piece);
		buf_add(&piece, p, k);
		row.texts[0] = buf_str(&piece);
		if (!buf_ok(&piece) || !git_job_row(&row))
			job->flags |= GIT_DID_CUT;
		job->rq.skip -= (uint32_t)k;
		p += k;
		n -= k;
	}
}

static bool tell_delta(struct git_job *job, git_diff *diff, size_t i)
{
	OWN(own_patch) git_patch *patch = NULL;
	const git_diff_delta *d = git_diff_get_delta(diff, i);
	struct git_row row = {.kind = GIT_ROW_DIFF};
	git_buf text = {0};
	size_t added = 0, removed = 0;
	int r = git_patch_from_diff(&patch, diff, i);

	if (r == 0 && patch != NULL)
		r = git_patch_line_stats(NULL, &added, &removed, patch);
	if (r < 0)
		return git_job_failed(job, r, "A difference cannot be read");
	d = patch != NULL ? git_patch_get_delta(patch) : d;
	row.texts[0] = d->new_file.path;
	if (d->status == GIT_DELTA_RENAMED)
		row.texts[1] = d->old_file.path;
	row.numbers[0] = change_of(d->status);
	row.numbers[1] = added;
	row.numbers[2] = removed;
	row.numbers[3] = (d->flags & GIT_DIFF_FLAG_BINARY) != 0;
	if (!git_job_row(&row))
		job->flags |= GIT_DID_MORE;
	if (patch != NULL && git_job_asks(job, GIT_ASK_PATCH) &&
	    git_patch_to_buf(&text, patch) == 0)
		tell_text(job, text.ptr, text.size);
	git_buf_dispose(&text);
	return true;
}

static int tree_of(git_tree **tree, git_repository *repo, const char *rev)
{
	OWN(own_object) git_object *object = NULL;
	int r = git_revparse_single(&object, repo, rev);

	return r < 0 ? r
		     : git_object_peel((git_object **)tree, object,
				       GIT_OBJECT_TREE);
}

/* Which two are compared: see fcgi/API.md. */
static int make(struct git_job *job, git_repository *repo,
		const git_diff_options *opts, git_diff **diff)
{
	OWN(own_tree) git_tree *from = NULL;
	OWN(own_tree) git_tree *to = NULL;
	const struct git_request *rq = &job->rq;
	bool staged = git_job_asks(job, GIT_ASK_STAGED);
	const char *first = rq->from[0] != '\0' ? rq->from : "HEAD";
	int r = 0;

	if (rq->from[0] == '\0' && rq->to[0] == '\0' && !staged)
		return git_diff_index_to_workdir(diff, repo, NULL, opts);
	if (rq->from[0] != '\0' || git_repository_head_unborn(repo) != 1)
		r = tree_of(&from, repo, first);
	if (r == 0 && rq->to[0] != '\0')
		r = tree_of(&to, repo, rq->to);
	if (r < 0)
		return r;
	if (rq->to[0] != '\0')
		return git_diff_tree_to_tree(diff, repo, from, to, opts);
	if (staged)
		return git_diff_tree_to_index(diff, repo, from, NULL, opts);
	return git_diff_tree_to_workdir_with_index(diff, repo, from, opts);
}

bool git_diff_run(struct git_job *job, git_repository *repo)
{
	OWN(own_diff) git_diff *diff = NULL;
	git_diff_options opts;
	size_t n;
	size_t i;
	int r;

	must(git_diff_options_init(&opts, GIT_DIFF_OPTIONS_VERSION) == 0);
	opts.context_lines = job->rq.context;
	opts.flags = GIT_DIFF_DISABLE_PATHSPEC_MATCH;
	opts.pathspec.count = job->rq.npaths;
	memcpy(&opts.pathspec.strings, &job->rq.paths,
	       sizeof(opts.pathspec.strings));
	r = make(job, repo, &opts, &diff);
	if (r == 0)
		r = git_diff_find_similar(diff, NULL);
	if (r < 0)
		return git_job_failed(job, r, "The difference cannot be read");
	n = git_diff_num_deltas(diff);
	for (i = 0; i < n && i < job->rq.limit; i++) {
		if (!tell_delta(job, diff, i))
			return false;
	}
	if (i < n)
		job->flags |= GIT_DID_MORE;
	return true;
}

/*
 * Fetch a branch and bring it in: by moving forward, or by a merge that is
 * made whole in memory first. When anything is in the way, nothing that the
 * sandbox has is touched.
 */
#include <stdio.h>
#include <string.h>

#include "sandbox/git_modules.h"
#include "sandbox/git_own.h"
#include "sandbox/git_track.h"

struct pull {
	struct git_job *job;
	struct git_track track;
	struct git_net net;
	struct git_shallow shallow;
	git_repository *repo; /* opened after the fetch */
};

static void pull_close(struct pull *p)
{
	git_track_free(&p->track);
	git_shallow_free(&p->shallow);
	git_repository_free(p->repo);
}

/* ---- fetch ---- */

static bool there(git_remote *remote, const char *branch)
{
	const git_remote_head **heads;
	char full[GIT_BRANCH_MAX + 16];
	size_t n;
	size_t i;

	snprintf(full, sizeof(full), "refs/heads/%s", branch);
	if (git_remote_ls(&heads, &n, remote) < 0)
		return false;
	for (i = 0; i < n; i++) {
		if (strcmp(heads[i]->name, full) == 0)
			return true;
	}
	return false;
}

static bool fetch(struct pull *p, git_repository *repo)
{
	OWN(own_remote) git_remote *remote = NULL;
	const struct git_track *t = &p->track;
	char text[4 * GIT_BRANCH_MAX];
	char *spec = text;
	git_strarray specs = {&spec, 1};
	git_fetch_options opts;
	int r;

	if (!git_net_remote(&p->net, repo, &remote) ||
	    !git_net_connect(&p->net, remote, GIT_DIRECTION_FETCH))
		return false;
	if (!there(remote, t->branch))
		return git_job_fail(p->job, REPO_NO_BRANCH,
				    "Remote branch %s not found in %s",
				    t->branch, t->remote);
	snprintf(text, sizeof(text), "+refs/heads/%s:%s", t->branch, t->ref);
	git_net_fetch_options(&p->net, &opts);
	r = git_remote_download(remote, &specs, &opts);
	git_remote_disconnect(remote);
	if (r == 0 && p->net.shallow != NULL &&
	    !git_shallow_save(&p->shallow, repo))
		r = -1;
	if (r == 0)
		r = git_remote_update_tips(remote, &opts.callbacks, 1,
					   opts.download_tags, "pull");
	return r == 0 ? true : git_net_failed(&p->net, r);
}

/* ---- bring it in ---- */

static bool forward(struct pull *p, git_object *to)
{
	OWN(own_reference) git_reference *ref = NULL;
	char name[GIT_BRANCH_MAX + 16];
	int r;

	if (!git_branch_checkout(p->job, p->repo, to, false))
		return false;
	snprintf(name, sizeof(name), "refs/heads/%s", p->track.local);
	r = git_reference_create(&ref, p->repo, name, git_object_id(to), 1,
				 "pull: Fast-forward");
	p->job->flags |= GIT_DID_FF;
	return r == 0 ? true
		      : git_job_failed(p->job, r, "The branch cannot be moved");
}

static bool tell_conflicts(struct git_job *job, git_index *index)
{
	git_index_conflict_iterator *it = NULL;
	const git_index_entry *base, *ours, *theirs;
	unsigned n = 0;

	if (git_index_conflict_iterator_new(&it, index) == 0) {
		while (git_index_conflict_next(&base, &ours, &theirs, it) ==
		       0) {
			struct git_row row = {.kind = GIT_ROW_PATH};
			const git_index_entry *any = ours != NULL ? ours
								  : theirs;

			row.texts[0] = any != NULL ? any->path : base->path;
			if (n++ < 1000)
				(void)git_job_row(&row);
		}
		git_index_conflict_iterator_free(it);
	}
	return git_job_fail(job, REPO_CONFLICT,
			    "The merge has conflicts in %u file%s; nothing "
			    "was changed",
			    n, n == 1 ? "" : "s");
}

static bool put_merge(struct pull *p, git_index *index, git_commit *ours,
		      git_commit *theirs)
{
	OWN(own_signature) git_signature *who = NULL;
	OWN(own_object) git_object *tree = NULL;
	const git_commit *parents[2] = {ours, theirs};
	char message[GIT_BRANCH_MAX + GIT_URL_MAX + 64];
	git_oid id;
	int r;

	if (!git_commit_who(p->job, p->repo, &who))
		return false;
	r = git_index_write_tree_to(&id, index, p->repo);
	if (r == 0)
		r = git_object_lookup(&tree, p->repo, &id, GIT_OBJECT_TREE);
	if (r < 0)
		return git_job_failed(p->job, r, "The merge failed");
	if (!git_branch_checkout(p->job, p->repo, tree, false))
		return false;
	snprintf(message, sizeof(message), "Merge branch '%s' of %s\n",
		 p->track.branch, p->net.shown);
	r = git_commit_create(&id, p->repo, "HEAD", who, who, NULL, message,
			      (const git_tree *)tree, 2, parents);
	p->job->flags |= GIT_DID_MERGE;
	return r == 0 ? true : git_job_failed(p->job, r, "The merge failed");
}

static bool merge(struct pull *p, const git_oid *mine, git_object *to)
{
	OWN(own_commit) git_commit *ours = NULL;
	OWN(own_index) git_index *index = NULL;
	git_commit *theirs = (git_commit *)to;
	git_merge_options opts;
	int r;

	if (git_job_asks(p->job, GIT_ASK_FF))
		return git_job_fail(
		    p->job, REPO_DIVERGED, "%s and %s/%s have diverged",
		    p->track.local, p->track.remote, p->track.branch);
	must(git_merge_options_init(&opts, GIT_MERGE_OPTIONS_VERSION) == 0);
	r = git_commit_lookup(&ours, p->repo, mine);
	if (r == 0)
		r = git_merge_commits(&index, p->repo, ours, theirs, &opts);
	if (r < 0)
		return git_job_failed(p->job, r, "The merge failed");
	if (git_index_has_conflicts(index))
		return tell_conflicts(p->job, index);
	return put_merge(p, index, ours, theirs);
}

static bool related(struct pull *p, const git_oid *mine, const git_oid *theirs)
{
	git_oid base;
	int r = git_merge_base(&base, p->repo, mine, theirs);

	if (r == 0)
		return true;
	if (r != GIT_ENOTFOUND)
		return git_job_failed(p->job, r, "The merge failed");
	return git_job_fail(p->job, REPO_DIVERGED,
			    git_repository_is_shallow(p->repo) == 1
				? "The history here is too short for a merge: "
				  "clone with more depth"
				: "The histories have nothing in common");
}

static bool bring_in(struct pull *p)
{
	OWN(own_annotated_commit) git_annotated_commit *to = NULL;
	OWN(own_object) git_object *commit = NULL;
	git_merge_analysis_t what = 0;
	git_merge_preference_t wish;
	const git_annotated_commit *list[1];
	git_oid theirs;
	git_oid mine;
	int r = git_reference_name_to_id(&theirs, p->repo, p->track.ref);

	if (r == 0)
		r = git_object_lookup(&commit, p->repo, &theirs,
				      GIT_OBJECT_COMMIT);
	if (r < 0)
		return git_job_failed(p->job, r, "What came cannot be read");
	if (git_reference_name_to_id(&mine, p->repo, "HEAD") < 0)
		return forward(p, commit); /* no commit here yet */
	r = git_annotated_commit_lookup(&to, p->repo, &theirs);
	list[0] = to;
	if (r == 0)
		r = git_merge_analysis(&what, &wish, p->repo, list, 1);
	if (r < 0)
		return git_job_failed(p->job, r, "The merge failed");
	if ((what & GIT_MERGE_ANALYSIS_UP_TO_DATE) != 0) {
		p->job->flags |= GIT_DID_NOTHING;
		return true;
	}
	if ((what & GIT_MERGE_ANALYSIS_FASTFORWARD) != 0)
		return forward(p, commit);
	return related(p, &mine, &theirs) && merge(p, &mine, commit);
}

/* ---- all of it ---- */

static void tell_moved(struct pull *p, git_repository *repo)
{
	struct git_row row = {
	    .kind = GIT_ROW_MOVED,
	    .texts = {"", p->track.remote, p->track.branch, p->net.shown}};
	char before[GIT_OID_HEXSZ + 1];
	git_oid id;

	if (git_reference_name_to_id(&id, repo, "HEAD") == 0)
		row.texts[0] = git_oid_tostr(before, sizeof(before), &id);
	(void)git_job_row(&row);
}

static bool begin(struct pull *p, git_repository *repo)
{
	if (git_repository_is_bare(repo))
		return git_job_fail(p->job, REPO_NO_DIR,
				    "'%s' is a repository without files",
				    p->job->rq.dir);
	if (git_repository_state(repo) != GIT_REPOSITORY_STATE_NONE)
		return git_job_fail(p->job, REPO_BUSY,
				    "A merge, rebase or the like is not "
				    "finished");
	if (!git_track_find(p->job, repo, false, &p->track))
		return false;
	if (!git_shallow_load(&p->shallow, repo))
		return git_job_fail(p->job, REPO_OTHER,
				    "where its history ends cannot be read");
	p->shallow.depth = p->job->rq.depth;
	if (p->shallow.list.len > 0)
		p->net.shallow = &p->shallow;
	git_net_begin(&p->net, p->job, buf_str(&p->track.url));
	return true;
}

bool git_pull_run(struct git_job *job, git_repository *repo)
{
	OWN(pull_close)
	struct pull p = {
	    .job = job, .track = GIT_TRACK_INIT, .shallow = GIT_SHALLOW_INIT};

	if (!begin(&p, repo))
		return false;
	tell_moved(&p, repo);
	if (!fetch(&p, repo))
		return false;
	/* once more: its history may end elsewhere now */
	if (!git_job_open(job, &p.repo))
		return false;
	if (!git_shallow_graft(p.repo))
		return git_job_fail(job, REPO_OTHER,
				    "where its history ends cannot be read");
	if (!bring_in(&p))
		return false;
	return !git_job_asks(job, GIT_ASK_SUBMODULES) ||
	       git_modules_update(job, p.repo);
}

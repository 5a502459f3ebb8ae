/* Give a branch to a remote. */
#include <stdio.h>
#include <string.h>

#include "sandbox/git_own.h"
#include "sandbox/git_track.h"

struct push {
	struct git_job *job;
	struct git_track track;
	struct git_net net;
	git_oid id; /* what is pushed */
};

static void push_close(struct push *p)
{
	git_track_free(&p->track);
}

/* What the branch is there; false: it is not. */
static bool there(git_remote *remote, const struct git_track *t, git_oid *id)
{
	const git_remote_head **heads;
	char full[GIT_BRANCH_MAX + 16];
	size_t n;
	size_t i;

	snprintf(full, sizeof(full), "refs/heads/%s", t->branch);
	if (git_remote_ls(&heads, &n, remote) < 0)
		return false;
	for (i = 0; i < n; i++) {
		if (strcmp(heads[i]->name, full) == 0) {
			git_oid_cpy(id, &heads[i]->oid);
			return true;
		}
	}
	return false;
}

static bool rejected(struct push *p, const char *why)
{
	return git_job_fail(p->job, REPO_REJECTED, "%s/%s was not changed: %s",
			    p->track.remote, p->track.branch, why);
}

/* Why not, in one sentence: libgit2 has several for one reason. */
static bool push_failed(struct push *p, int r)
{
	const git_error *err = git_error_last();
	const char *text = err != NULL ? err->message : "";

	if (p->net.refused_ref)
		return rejected(p, p->net.said);
	if (r == GIT_ENONFASTFORWARD)
		return rejected(p, "it has commits that are not here "
				   "(non-fast-forward): pull first");
	if (strstr(text, "non-bare") != NULL)
		return rejected(p, text);
	return git_net_failed(&p->net, r);
}

static bool send(struct push *p, git_remote *remote)
{
	const struct git_track *t = &p->track;
	char text[3 * GIT_BRANCH_MAX];
	char *spec = text;
	git_strarray specs = {&spec, 1};
	git_push_options opts;
	int r;

	snprintf(text, sizeof(text), "%srefs/heads/%s:refs/heads/%s",
		 git_job_asks(p->job, GIT_ASK_FORCE) ? "+" : "", t->local,
		 t->branch);
	must(git_push_options_init(&opts, GIT_PUSH_OPTIONS_VERSION) == 0);
	git_net_callbacks(&p->net, &opts.callbacks);
	opts.follow_redirects = git_net_redirects(p->job);
	opts.proxy_opts.type = GIT_PROXY_NONE;
	r = git_remote_upload(remote, &specs, &opts);
	return r == 0 && !p->net.refused_ref ? true : push_failed(p, r);
}

static bool remember(struct push *p, git_repository *repo)
{
	OWN(own_reference) git_reference *ref = NULL;
	int r = git_reference_create(&ref, repo, p->track.ref, &p->id, 1,
				     "update by push");

	if (r < 0)
		return git_job_failed(p->job, r, "The push is done");
	return !git_job_asks(p->job, GIT_ASK_UPSTREAM) || p->track.follows ||
	       git_track_follow(p->job, repo, &p->track);
}

static void tell_moved(struct push *p, const char *before)
{
	struct git_row row = {
	    .kind = GIT_ROW_MOVED,
	    .texts = {before, p->track.remote, p->track.branch, p->net.shown}};

	(void)git_job_row(&row);
}

static bool push_to(struct push *p, git_repository *repo, git_remote *remote)
{
	char before[GIT_OID_HEXSZ + 1] = "";
	git_oid old;
	bool is_there;

	if (!git_net_connect(&p->net, remote, GIT_DIRECTION_PUSH))
		return false;
	is_there = there(remote, &p->track, &old);
	if (is_there)
		git_oid_tostr(before, sizeof(before), &old);
	tell_moved(p, before);
	if (!is_there)
		p->job->flags |= GIT_DID_CREATE;
	if (is_there && git_oid_equal(&old, &p->id))
		p->job->flags |= GIT_DID_NOTHING;
	else if (!send(p, remote))
		return false;
	git_remote_disconnect(remote);
	return remember(p, repo);
}

bool git_push_run(struct git_job *job, git_repository *repo)
{
	OWN(push_close) struct push p = {.job = job, .track = GIT_TRACK_INIT};
	OWN(own_remote) git_remote *remote = NULL;
	char local[GIT_BRANCH_MAX + 16];

	if (!git_track_find(job, repo, true, &p.track))
		return false;
	snprintf(local, sizeof(local), "refs/heads/%s", p.track.local);
	if (git_reference_name_to_id(&p.id, repo, local) < 0)
		return git_job_fail(job, REPO_NO_BRANCH,
				    "There is no commit on branch '%s'",
				    p.track.local);
	git_net_begin(&p.net, job, buf_str(&p.track.url));
	return git_net_remote(&p.net, repo, &remote) &&
	       push_to(&p, repo, remote);
}

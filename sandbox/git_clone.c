/*
 * Cloning with libgit2: look what the remote has, choose, fetch that, check
 * it out; so that a branch, a tag, a commit and an empty repository all work.
 */
#include <stdio.h>
#include <string.h>

#include "sandbox/git_modules.h"
#include "sandbox/git_net.h"
#include "sandbox/git_own.h"

#define REF_MAX (GIT_BRANCH_MAX + 64)

enum chosen { CHOSEN_NOTHING, CHOSEN_BRANCH, CHOSEN_TAG, CHOSEN_COMMIT };

struct clone {
	struct git_job *job;
	struct git_net net;
	struct git_shallow shallow;
	git_repository *repo;
	git_remote *remote;
	enum chosen chosen;
	char name[GIT_BRANCH_MAX]; /* of the branch, the tag, or an id */
};

static void clone_close(struct clone *c)
{
	git_remote_free(c->remote);
	git_repository_free(c->repo);
	git_shallow_free(&c->shallow);
}

static bool failed(struct clone *c, int r)
{
	return git_net_failed(&c->net, r);
}

static bool no_branch(struct clone *c, const char *name)
{
	return git_job_fail(c->job, REPO_NO_BRANCH,
			    "Remote branch %s not found in upstream origin",
			    name);
}

static bool single(const struct clone *c)
{
	return git_job_asks(c->job, GIT_ASK_SINGLE);
}

/* ---- what to fetch ---- */

static bool start(struct clone *c)
{
	git_repository_init_options init;
	git_remote_create_options opts;
	const struct git_request *rq = &c->job->rq;
	int r;

	must(git_repository_init_options_init(
		 &init, GIT_REPOSITORY_INIT_OPTIONS_VERSION) == 0);
	init.flags = GIT_REPOSITORY_INIT_MKDIR | GIT_REPOSITORY_INIT_MKPATH;
	init.initial_head = "main";
	r = git_repository_init_ext(&c->repo, c->job->dir, &init);
	must(git_remote_create_options_init(
		 &opts, GIT_REMOTE_CREATE_OPTIONS_VERSION) == 0);
	opts.repository = c->repo;
	opts.name = "origin";
	opts.flags = GIT_REMOTE_CREATE_SKIP_INSTEADOF;
	if (r == 0)
		r = git_remote_create_with_opts(&c->remote, rq->url, &opts);
	return r == 0 ? true : failed(c, r);
}

static bool has_ref(struct clone *c, const char *prefix, const char *name)
{
	const git_remote_head **heads;
	char full[REF_MAX];
	size_t n;
	size_t i;

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	if (git_remote_ls(&heads, &n, c->remote) < 0)
		return false;
	for (i = 0; i < n; i++) {
		if (strcmp(heads[i]->name, full) == 0)
			return true;
	}
	return false;
}

static void choose(struct clone *c, enum chosen what, const char *name)
{
	c->chosen = what;
	snprintf(c->name, sizeof(c->name), "%s", name);
}

/* HEAD's branch; a HEAD that is on none; or nothing at all. */
static void choose_head(struct clone *c)
{
	static const char prefix[] = "refs/heads/";
	const git_remote_head **heads;
	git_buf branch = {0};
	char id[GIT_COMMIT_LEN + 1];
	size_t n;

	if (git_remote_default_branch(&branch, c->remote) == 0 &&
	    strncmp(branch.ptr, prefix, sizeof(prefix) - 1) == 0 &&
	    has_ref(c, "", branch.ptr)) {
		choose(c, CHOSEN_BRANCH, branch.ptr + sizeof(prefix) - 1);
	} else if (git_remote_ls(&heads, &n, c->remote) == 0 && n > 0 &&
		   strcmp(heads[0]->name, "HEAD") == 0) {
		choose(c, CHOSEN_COMMIT,
		       git_oid_tostr(id, sizeof(id), &heads[0]->oid));
	}
	git_buf_dispose(&branch);
}

static bool choose_any(struct clone *c)
{
	const struct git_request *rq = &c->job->rq;

	if (rq->branch[0] == '\0')
		choose_head(c);
	else if (has_ref(c, "refs/heads/", rq->branch))
		choose(c, CHOSEN_BRANCH, rq->branch);
	else if (has_ref(c, "refs/tags/", rq->branch))
		choose(c, CHOSEN_TAG, rq->branch);
	else if (git_job_is_commit(rq->branch))
		choose(c, CHOSEN_COMMIT, rq->branch);
	else
		return no_branch(c, rq->branch);
	return true;
}

/* The remote's setting, for later fetches. */
static bool set_refspec(struct clone *c, const char *spec)
{
	OWN(own_config) git_config *config = NULL;
	int r = git_repository_config(&config, c->repo);

	if (r == 0)
		r = git_config_set_string(config, "remote.origin.fetch", spec);
	return r == 0 ? true : failed(c, r);
}

static bool download(struct clone *c, char *spec)
{
	git_strarray specs = {&spec, spec != NULL ? 1 : 0};
	git_fetch_options opts;
	char note[GIT_URL_MAX + 32];
	int r;

	if (!git_remote_connected(c->remote) &&
	    !git_net_connect(&c->net, c->remote, GIT_DIRECTION_FETCH))
		return false;
	git_net_fetch_options(&c->net, &opts);
	opts.download_tags = single(c) ? GIT_REMOTE_DOWNLOAD_TAGS_AUTO
				       : GIT_REMOTE_DOWNLOAD_TAGS_ALL;
	r = git_remote_download(c->remote, &specs, &opts);
	git_remote_disconnect(c->remote);
	if (r < 0)
		return failed(c, r);
	if (!git_shallow_save(&c->shallow, c->repo))
		return git_job_fail(c->job, REPO_OTHER,
				    "the list of cut histories cannot be "
				    "written");
	snprintf(note, sizeof(note), "clone: from %s", c->net.shown);
	r = git_remote_update_tips(c->remote, &opts.callbacks, 1,
				   opts.download_tags, note);
	return r == 0 ? true : failed(c, r);
}

static bool fetch_one(struct clone *c)
{
	char spec[2 * REF_MAX + 32];

	snprintf(spec, sizeof(spec),
		 c->chosen == CHOSEN_TAG
		     ? "+refs/tags/%s:refs/tags/%s"
		     : "+refs/heads/%s:refs/remotes/origin/%s",
		 c->name, c->name);
	return set_refspec(c, spec) && download(c, spec);
}

/* A commit that no branch or tag leads to is asked for by its id. */
static bool fetch_commit(struct clone *c, const char *id)
{
	OWN(own_object) git_object *commit = NULL;
	char spec[GIT_BRANCH_MAX];
	git_oid oid;

	if (git_oid_fromstr(&oid, id) < 0)
		return no_branch(c, id);
	if (git_object_lookup(&commit, c->repo, &oid, GIT_OBJECT_COMMIT) == 0)
		return true;
	snprintf(spec, sizeof(spec), "%s", id);
	if (download(c, spec) &&
	    git_object_lookup(&commit, c->repo, &oid, GIT_OBJECT_COMMIT) == 0)
		return true;
	/* a server that has no such commit hangs up */
	if (c->job->by_id || c->job->result == REPO_OTHER ||
	    c->job->result == REPO_OK ||
	    strstr(c->job->text, "early EOF") != NULL)
		return no_branch(c, id);
	return false;
}

static bool fetch(struct clone *c)
{
	const char *commit = c->job->rq.commit;

	if (!git_net_connect(&c->net, c->remote, GIT_DIRECTION_FETCH) ||
	    !choose_any(c))
		return false;
	if (single(c) && commit[0] != '\0') {
		choose(c, CHOSEN_COMMIT, commit);
		return fetch_commit(c, commit);
	}
	if (single(c) && c->chosen == CHOSEN_COMMIT)
		return fetch_commit(c, c->name);
	if (single(c) && c->chosen != CHOSEN_NOTHING)
		return fetch_one(c);
	if (!download(c, NULL))
		return false;
	if (commit[0] != '\0')
		choose(c, CHOSEN_COMMIT, commit);
	return c->chosen != CHOSEN_COMMIT || fetch_commit(c, c->name);
}

/* ---- what to check out ---- */

/* HEAD on a local branch that follows the remote's. */
static bool set_branch(struct clone *c)
{
	OWN(own_reference) git_reference *local = NULL;
	OWN(own_reference) git_reference *remote = NULL;
	OWN(own_reference) git_reference *link = NULL;
	OWN(own_object) git_object *commit = NULL;
	char full[REF_MAX];
	int r;

	snprintf(full, sizeof(full), "refs/remotes/origin/%s", c->name);
	r = git_reference_lookup(&remote, c->repo, full);
	if (r == 0)
		r = git_reference_peel(&commit, remote, GIT_OBJECT_COMMIT);
	if (r == 0)
		r = git_branch_create(&local, c->repo, c->name,
				      (const git_commit *)commit, 1);
	if (r == 0)
		r = git_branch_set_upstream(local,
					    full + sizeof("refs/remotes/") - 1);
	if (r == 0)
		r = git_repository_set_head(c->repo, git_reference_name(local));
	if (r == 0 && c->job->rq.branch[0] == '\0')
		r = git_reference_symbolic_create(
		    &link, c->repo, "refs/remotes/origin/HEAD", full, 1, NULL);
	return r == 0 ? true : failed(c, r);
}

static bool set_detached(struct clone *c)
{
	OWN(own_object) git_object *object = NULL;
	OWN(own_object) git_object *commit = NULL;
	char full[REF_MAX];
	int r;

	snprintf(full, sizeof(full), "%s%s",
		 c->chosen == CHOSEN_TAG ? "refs/tags/" : "", c->name);
	r = git_revparse_single(&object, c->repo, full);
	if (r == 0)
		r = git_object_peel(&commit, object, GIT_OBJECT_COMMIT);
	if (r < 0)
		return no_branch(c, c->name);
	r = git_repository_set_head_detached(c->repo, git_object_id(commit));
	return r == 0 ? true : failed(c, r);
}

static bool checkout(struct clone *c)
{
	git_checkout_options opts;
	int r;

	if (git_repository_head_unborn(c->repo) == 1)
		return true;
	must(git_checkout_options_init(&opts, GIT_CHECKOUT_OPTIONS_VERSION) ==
	     0);
	opts.checkout_strategy = GIT_CHECKOUT_FORCE;
	git_net_checkout(&c->net, &opts);
	r = git_checkout_head(c->repo, &opts);
	return r == 0 ? true : failed(c, r);
}

bool git_clone_run(struct git_job *job)
{
	OWN(clone_close)
	struct clone c = {.job = job, .shallow = GIT_SHALLOW_INIT};

	c.shallow.depth = job->rq.depth;
	c.net.shallow = job->rq.depth > 0 ? &c.shallow : NULL;
	git_net_begin(&c.net, job, job->rq.url);
	if (!start(&c) || !fetch(&c))
		return false;
	if (c.chosen == CHOSEN_BRANCH && !set_branch(&c))
		return false;
	if ((c.chosen == CHOSEN_TAG || c.chosen == CHOSEN_COMMIT) &&
	    !set_detached(&c))
		return false;
	return checkout(&c);
}

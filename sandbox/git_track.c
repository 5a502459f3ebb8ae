#include <stdio.h>
#include <string.h>

#include "sandbox/git_own.h"
#include "sandbox/git_track.h"

void git_track_free(struct git_track *t)
{
	buf_free(&t->url);
}

static void set(char *to, const char *from)
{
	snprintf(to, GIT_BRANCH_MAX, "%s", from);
}

static bool find_local(struct git_job *job, git_repository *repo,
		       struct git_track *t)
{
	static const char prefix[] = "refs/heads/";
	OWN(own_reference) git_reference *head = NULL;
	const char *target = NULL;

	if (job->rq.op == GIT_OP_PUSH && job->rq.branch[0] != '\0') {
		set(t->local, job->rq.branch);
		return true;
	}
	if (git_reference_lookup(&head, repo, "HEAD") == 0)
		target = git_reference_symbolic_target(head);
	if (target == NULL || strncmp(target, prefix, sizeof(prefix) - 1) != 0)
		return git_job_fail(job, REPO_NO_BRANCH,
				    "HEAD is on no branch: switch to one "
				    "first");
	set(t->local, target + sizeof(prefix) - 1);
	return true;
}

/* What the settings say of the local branch: its remote, its branch there. */
static void find_settings(git_repository *repo, const struct git_track *t,
			  char *remote, char *branch)
{
	static const char prefix[] = "refs/heads/";
	OWN(own_config) git_config *config = NULL;
	OWN(own_config) git_config *snapshot = NULL;
	char key[GIT_BRANCH_MAX + 32];
	const char *v;

	remote[0] = branch[0] = '\0';
	if (git_repository_config(&config, repo) < 0 ||
	    git_config_snapshot(&snapshot, config) < 0)
		return;
	snprintf(key, sizeof(key), "branch.%s.remote", t->local);
	if (git_config_get_string(&v, snapshot, key) == 0)
		set(remote, v);
	snprintf(key, sizeof(key), "branch.%s.merge", t->local);
	if (git_config_get_string(&v, snapshot, key) == 0 &&
	    strncmp(v, prefix, sizeof(prefix) - 1) == 0)
		set(branch, v + sizeof(prefix) - 1);
}

static bool find_names(struct git_job *job, git_repository *repo,
		       struct git_track *t)
{
	const struct git_request *rq = &job->rq;
	/* a pull's branch is the remote's, a push's the local one */
	const char *asked = rq->op == GIT_OP_PUSH ? rq->remote_branch
						  : rq->branch;
	char remote[GIT_BRANCH_MAX];
	char branch[GIT_BRANCH_MAX];
	int valid = 0;

	find_settings(repo, t, remote, branch);
	set(t->remote, rq->remote[0] != '\0' ? rq->remote
		       : remote[0] != '\0'   ? remote
					     : "origin");
	if (strcmp(remote, t->remote) != 0)
		branch[0] = '\0'; /* of another remote */
	set(t->branch, asked[0] != '\0'    ? asked
		       : branch[0] != '\0' ? branch
					   : t->local);
	t->follows = strcmp(branch, t->branch) == 0;
	if (git_remote_name_is_valid(&valid, t->remote) < 0 || !valid)
		return git_job_fail(job, REPO_INVALID,
				    "'%s' is not a name for a remote",
				    t->remote);
	snprintf(t->ref, sizeof(t->ref), "refs/remotes/%s/%s", t->remote,
		 t->branch);
	if (git_reference_name_is_valid(&valid, t->ref) < 0 || !valid)
		return git_job_fail(job, REPO_INVALID,
				    "'%s' is not a name for a branch",
				    t->branch);
	return true;
}

static bool find_url(struct git_job *job, git_repository *repo, bool push,
		     struct git_track *t)
{
	OWN(own_remote) git_remote *remote = NULL;
	const char *url = NULL;

	if (job->rq.url[0] != '\0') {
		buf_adds(&t->url, job->rq.url);
		return buf_ok(&t->url);
	}
	if (job->rq.ncreds > 0)
		return git_job_fail(job, REPO_INVALID,
				    "credentials need a repository URL in the "
				    "request");
	if (git_remote_lookup(&remote, repo, t->remote) == 0) {
		url = push ? git_remote_pushurl(remote) : NULL;
		url = url != NULL ? url : git_remote_url(remote);
	}
	if (url == NULL)
		return git_job_fail(job, REPO_NOT_FOUND,
				    "There is no remote '%s'", t->remote);
	/* with the password that it may hold: that is the sandbox's own */
	if (!git_url_ok(url))
		return git_job_fail(job, REPO_INVALID,
				    "The URL of remote '%s' cannot be used",
				    t->remote);
	buf_adds(&t->url, url);
	return buf_ok(&t->url);
}

bool git_track_find(struct git_job *job, git_repository *repo, bool push,
		    struct git_track *t)
{
	return find_local(job, repo, t) && find_names(job, repo, t) &&
	       find_url(job, repo, push, t);
}

bool git_track_follow(struct git_job *job, git_repository *repo,
		      const struct git_track *t)
{
	OWN(own_config) git_config *config = NULL;
	char key[GIT_BRANCH_MAX + 32];
	char merge[GIT_BRANCH_MAX + 16];
	int r = git_repository_config(&config, repo);

	snprintf(key, sizeof(key), "branch.%s.remote", t->local);
	if (r == 0)
		r = git_config_set_string(config, key, t->remote);
	snprintf(key, sizeof(key), "branch.%s.merge", t->local);
	snprintf(merge, sizeof(merge), "refs/heads/%s", t->branch);
	if (r == 0)
		r = git_config_set_string(config, key, merge);
	return r == 0 ? true : git_job_failed(job, r, "Settings");
}

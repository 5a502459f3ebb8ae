/*
 * Cloning with libgit2: fetch everything, then choose what to check out, so
 * that a branch, a tag, a commit and an empty repository all work.
 */
#include <errno.h>
#include <git2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "sandbox/git_job.h"

#define TELL_MS 250

struct clone {
	struct git_job *job;
	git_repository *repo;
	git_remote *remote;
	bool asked; /* the credential was offered; asked again: refused */
	bool refused;
	int64_t told_ms;
};

static void clone_close(struct clone *c)
{
	git_remote_free(c->remote);
	git_repository_free(c->repo);
}

static void ref_free(git_reference **r)
{
	git_reference_free(*r);
}

static void object_free(git_object **o)
{
	git_object_free(*o);
}

static int on_progress(const git_indexer_progress *p, void *arg)
{
	struct clone *c = arg;
	struct git_record rec = {.kind = GIT_RECORD_PROGRESS};
	OWN(buf_free) struct buf b = BUF_INIT(128);
	int64_t now = clock_mono_ms();

	if (now - c->told_ms < TELL_MS)
		return 0;
	c->told_ms = now;
	rec.received = p->received_objects;
	rec.total = p->total_objects;
	rec.bytes = p->received_bytes;
	git_put_record(&b, &rec);
	/* one write of less than PIPE_BUF: whole or not at all */
	return write(STDOUT_FILENO, b.data, b.len) < 0 && errno != EINTR ? -1
									 : 0;
}

/* The host of a URL: where the credential may go. */
static size_t host_len(const char *url)
{
	const char *host = strstr(url, "://");
	size_t n = host != NULL ? (size_t)(host + 3 - url) : 0;

	return n + strcspn(url + n, n > 0 ? "/?#" : ":/");
}

static bool same_host(const char *a, const char *b)
{
	size_t n = host_len(a);

	return n == host_len(b) && strncmp(a, b, n) == 0;
}

static int on_credential(git_credential **out, const char *url,
			 const char *user_in_url, unsigned allowed, void *arg)
{
	struct clone *c = arg;
	const struct git_request *rq = &c->job->rq;
	const char *user = rq->user[0] != '\0' ? rq->user : user_in_url;
	bool again = c->asked;

	if (user == NULL)
		user = "git";
	if ((allowed & GIT_CREDENTIAL_USERNAME) != 0)
		return git_credential_username_new(out, user);
	c->asked = true;
	c->refused = true;
	if (again || rq->auth == CHECKOUT_AUTH_NONE || !same_host(url, rq->url))
		return GIT_EAUTH;
	c->refused = false;
	if (rq->auth == CHECKOUT_AUTH_BASIC &&
	    (allowed & GIT_CREDENTIAL_USERPASS_PLAINTEXT) != 0)
		return git_credential_userpass_plaintext_new(out, user,
							     rq->secret);
	if (rq->auth == CHECKOUT_AUTH_SSH &&
	    (allowed & GIT_CREDENTIAL_SSH_MEMORY) != 0)
		return git_credential_ssh_key_memory_new(out, user, NULL,
							 rq->secret, NULL);
	c->refused = true;
	return GIT_EAUTH;
}

/*
 * A sandbox has no known hosts, so an SSH host is taken as it comes (a key
 * pair is not given away by that); a TLS one must be valid.
 */
static int on_certificate(git_cert *cert, int valid, const char *host,
			  void *arg)
{
	(void)host;
	(void)arg;
	if (cert->cert_type == GIT_CERT_HOSTKEY_LIBSSH2 || valid)
		return 0;
	return GIT_ECERTIFICATE;
}

static enum checkout_result result_of(const struct clone *c, int r,
				      const git_error *err)
{
	const char *text = err != NULL ? err->message : "";
	int klass = err != NULL ? err->klass : GIT_ERROR_NONE;

	if (r == GIT_EAUTH || c->refused)
		return CHECKOUT_AUTH;
	if (strstr(text, "No space left") || strstr(text, "quota exceeded"))
		return CHECKOUT_NO_SPACE;
	if (strstr(text, "status code: 401") ||
	    strstr(text, "status code: 403"))
		return CHECKOUT_AUTH;
	if (strstr(text, "status code: 404") ||
	    strstr(text, "failed to resolve path") ||
	    strstr(text, "could not find repository") ||
	    strstr(text, "unsupported URL protocol"))
		return CHECKOUT_NOT_FOUND;
	if (r == GIT_ECERTIFICATE || klass == GIT_ERROR_NET ||
	    klass == GIT_ERROR_SSL || klass == GIT_ERROR_OS ||
	    klass == GIT_ERROR_HTTP || klass == GIT_ERROR_SSH)
		return CHECKOUT_NETWORK;
	return CHECKOUT_OTHER;
}

static bool failed(struct clone *c, int r)
{
	const git_error *err = git_error_last();
	enum checkout_result result = result_of(c, r, err);
	const char *text = err != NULL ? err->message : "unknown error";
	const char *url = c->job->rq.url;

	/* A server of files answers with their type, not with git's. */
	c->job->dumb = strstr(text, "invalid content-type") != NULL;
	if (result == CHECKOUT_AUTH)
		return git_job_fail(c->job, result,
				    "Authentication failed for '%s'", url);
	if (result == CHECKOUT_NOT_FOUND)
		return git_job_fail(c->job, result,
				    "repository '%s' not found: %s", url, text);
	return git_job_fail(c->job, result, "unable to access '%s': %s", url,
			    text);
}

static bool fetch(struct clone *c)
{
	git_fetch_options opts;
	char note[GIT_TEXT_MAX];
	int r;

	must(git_fetch_options_init(&opts, GIT_FETCH_OPTIONS_VERSION) == 0);
	opts.callbacks.transfer_progress = on_progress;
	opts.callbacks.credentials = on_credential;
	opts.callbacks.certificate_check = on_certificate;
	opts.callbacks.payload = c;
	opts.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_ALL;
	snprintf(note, sizeof(note), "clone: from %s", c->job->rq.url);
	r = git_remote_fetch(c->remote, NULL, &opts, note);
	return r == 0 ? true : failed(c, r);
}

static bool start(struct clone *c)
{
	git_repository_init_options opts;
	const struct git_request *rq = &c->job->rq;
	int r;

	must(git_repository_init_options_init(
		 &opts, GIT_REPOSITORY_INIT_OPTIONS_VERSION) == 0);
	opts.flags = GIT_REPOSITORY_INIT_MKDIR | GIT_REPOSITORY_INIT_MKPATH;
	opts.initial_head = "main";
	r = git_repository_init_ext(&c->repo, c->job->dir, &opts);
	if (r == 0)
		r = git_remote_create(&c->remote, c->repo, "origin", rq->url);
	return r == 0 ? true : failed(c, r);
}

/* HEAD on a local branch that follows the remote's, or on a commit. */
static bool set_branch(struct clone *c, const char *name,
		       const git_reference *remote_ref)
{
	OWN(ref_free) git_reference *local = NULL;
	OWN(object_free) git_object *commit = NULL;
	char upstream[GIT_BRANCH_MAX + 16];
	int r;

	r = git_reference_peel(&commit, remote_ref, GIT_OBJECT_COMMIT);
	if (r == 0)
		r = git_branch_create(&local, c->repo, name,
				      (const git_commit *)commit, 1);
	snprintf(upstream, sizeof(upstream), "origin/%s", name);
	if (r == 0)
		r = git_branch_set_upstream(local, upstream);
	if (r == 0)
		r = git_repository_set_head(c->repo, git_reference_name(local));
	return r == 0 ? true : failed(c, r);
}

static bool set_detached(struct clone *c, const git_oid *id)
{
	int r = git_repository_set_head_detached(c->repo, id);

	return r == 0 ? true : failed(c, r);
}

static bool no_branch(struct clone *c)
{
	return git_job_fail(c->job, CHECKOUT_NO_BRANCH,
			    "Remote branch %s not found in upstream origin",
			    c->job->rq.branch);
}

/* A branch, else a tag, else a commit that came along. */
static bool choose_named(struct clone *c, const char *name)
{
	OWN(ref_free) git_reference *ref = NULL;
	OWN(object_free) git_object *commit = NULL;
	char full[GIT_BRANCH_MAX + 32];
	git_oid id;

	snprintf(full, sizeof(full), "refs/remotes/origin/%s", name);
	if (git_reference_lookup(&ref, c->repo, full) == 0)
		return set_branch(c, name, ref);
	snprintf(full, sizeof(full), "refs/tags/%s", name);
	if (git_reference_lookup(&ref, c->repo, full) == 0) {
		if (git_reference_peel(&commit, ref, GIT_OBJECT_COMMIT) == 0)
			return set_detached(c, git_object_id(commit));
		return no_branch(c);
	}
	if (git_job_is_commit(name) && git_oid_fromstr(&id, name) == 0 &&
	    git_object_lookup(&commit, c->repo, &id, GIT_OBJECT_COMMIT) == 0)
		return set_detached(c, &id);
	return no_branch(c);
}

/* The id that the remote's HEAD has; false: it has no commit yet. */
static bool remote_head(struct clone *c, git_oid *id)
{
	const git_remote_head **heads;
	size_t n;
	size_t i;

	if (git_remote_ls(&heads, &n, c->remote) < 0)
		return false;
	for (i = 0; i < n; i++) {
		if (strcmp(heads[i]->name, "HEAD") == 0) {
			git_oid_cpy(id, &heads[i]->oid);
			return true;
		}
	}
	return false;
}

static bool choose_head(struct clone *c)
{
	static const char heads[] = "refs/heads/";
	OWN(ref_free) git_reference *ref = NULL;
	OWN(ref_free) git_reference *link = NULL;
	git_buf name = {0};
	char full[GIT_BRANCH_MAX + 32];
	git_oid id;
	bool ok = true;

	if (git_remote_default_branch(&name, c->remote) == 0 &&
	    strncmp(name.ptr, heads, sizeof(heads) - 1) == 0) {
		const char *branch = name.ptr + sizeof(heads) - 1;

		snprintf(full, sizeof(full), "refs/remotes/origin/%s", branch);
		if (git_reference_lookup(&ref, c->repo, full) == 0) {
			(void)git_reference_symbolic_create(
			    &link, c->repo, "refs/remotes/origin/HEAD", full, 1,
			    NULL);
			ok = set_branch(c, branch, ref);
			git_buf_dispose(&name);
			return ok;
		}
	}
	git_buf_dispose(&name);
	if (remote_head(c, &id))
		ok = set_detached(c, &id);
	return ok; /* no HEAD: an empty repository */
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
	r = git_checkout_head(c->repo, &opts);
	return r == 0 ? true : failed(c, r);
}

bool git_clone_run(struct git_job *job)
{
	OWN(clone_close) struct clone c = {.job = job};

	if (!start(&c) || !fetch(&c))
		return false;
	if (job->rq.branch[0] != '\0' && !choose_named(&c, job->rq.branch))
		return false;
	if (job->rq.branch[0] == '\0' && !choose_head(&c))
		return false;
	return checkout(&c);
}

static bool read_head(struct git_job *job, git_repository *repo)
{
	static const char heads[] = "refs/heads/";
	OWN(ref_free) git_reference *head = NULL;
	const char *target;
	git_oid id;

	if (git_reference_lookup(&head, repo, "HEAD") < 0)
		return git_job_fail(job, CHECKOUT_OTHER, "no HEAD");
	job->branch[0] = '\0';
	job->commit[0] = '\0';
	target = git_reference_symbolic_target(head);
	if (target != NULL && strncmp(target, heads, sizeof(heads) - 1) == 0)
		snprintf(job->branch, sizeof(job->branch), "%s",
			 target + sizeof(heads) - 1);
	if (git_reference_name_to_id(&id, repo, "HEAD") == 0)
		git_oid_tostr(job->commit, sizeof(job->commit), &id);
	return true;
}

bool git_clone_head(struct git_job *job)
{
	git_repository *repo = NULL;
	bool ok;

	if (git_repository_open(&repo, job->dir) < 0)
		return git_job_fail(job, CHECKOUT_OTHER,
				    "the clone cannot be read");
	ok = read_head(job, repo);
	git_repository_free(repo);
	return ok;
}

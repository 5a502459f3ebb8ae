#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "sandbox/git_deepen.h"
#include "sandbox/git_host.h"
#include "sandbox/git_net.h"

#define TELL_MS 250

void git_net_begin(struct git_net *n, struct git_job *job, const char *url)
{
	OWN(buf_free) struct buf clean = BUF_INIT(GIT_URL_MAX + 1);
	OWN(buf_free) struct buf user = BUF_INIT(GIT_URL_MAX + 1);
	OWN(buf_free) struct buf secret = BUF_INIT(GIT_URL_MAX + 1);
	struct git_shallow *shallow = n->shallow;

	*n = (struct git_net){.job = job, .shallow = shallow};
	snprintf(n->url, sizeof(n->url), "%s", url);
	snprintf(n->shown, sizeof(n->shown), "%s",
		 git_url_split(url, &clean, &user, &secret) ? buf_str(&clean)
							    : "the remote");
}

/* ---- telling ---- */

static bool due(struct git_net *n)
{
	int64_t now = clock_mono_ms();

	if (now - n->told_ms < TELL_MS)
		return false;
	n->told_ms = now;
	return true;
}

static int on_receive(const git_indexer_progress *p, void *arg)
{
	struct git_net *n = arg;

	n->progress.phase = p->received_objects < p->total_objects
				? GIT_PHASE_RECEIVE
				: GIT_PHASE_RESOLVE;
	n->progress.objects = p->received_objects;
	n->progress.objects_all = p->total_objects;
	n->progress.bytes = p->received_bytes;
	if (due(n))
		git_job_progress(&n->progress);
	return 0;
}

static int on_send(unsigned current, unsigned total, size_t bytes, void *arg)
{
	struct git_net *n = arg;

	n->progress.phase = GIT_PHASE_SEND;
	n->progress.objects = current;
	n->progress.objects_all = total;
	n->progress.bytes = bytes;
	if (due(n))
		git_job_progress(&n->progress);
	return 0;
}

static void on_file(const char *path, size_t done, size_t total, void *arg)
{
	struct git_net *n = arg;

	(void)path;
	n->progress.phase = GIT_PHASE_CHECKOUT;
	n->progress.files = done;
	n->progress.files_all = total;
	if (done == total || due(n))
		git_job_progress(&n->progress);
}

void git_net_checkout(struct git_net *n, git_checkout_options *opts)
{
	opts->progress_cb = on_file;
	opts->progress_payload = n;
}

/* The last words of the remote: why it refuses is among them. */
static int on_words(const char *text, int len, void *arg)
{
	struct git_net *n = arg;
	size_t have = strlen(n->said);
	size_t more = len > 0 ? (size_t)len : 0;

	if (more >= sizeof(n->said))
		return 0;
	if (have + more >= sizeof(n->said))
		have = 0;
	memcpy(n->said + have, text, more);
	n->said[have + more] = '\0';
	return 0;
}

/* ---- credentials ---- */

static const struct git_cred *cred_for(const struct git_request *rq,
				       const char *url)
{
	OWN(buf_free) struct buf origin = BUF_INIT(GIT_URL_MAX + 16);

	if (!git_url_origin(url, &origin))
		return NULL;
	for (uint32_t i = 0; i < rq->ncreds; i++) {
		if (strcmp(rq->creds[i].origin, buf_str(&origin)) == 0)
			return &rq->creds[i];
	}
	return NULL;
}

static int give(git_credential **out, const struct git_cred *cred,
		const char *user, unsigned allowed)
{
	if (cred->auth == REPO_AUTH_BASIC &&
	    (allowed & GIT_CREDENTIAL_USERPASS_PLAINTEXT) != 0)
		return git_credential_userpass_plaintext_new(out, user,
							     cred->secret);
	if (cred->auth == REPO_AUTH_SSH &&
	    (allowed & GIT_CREDENTIAL_SSH_MEMORY) != 0)
		return git_credential_ssh_key_memory_new(
		    out, user, NULL, cred->secret,
		    cred->passphrase[0] != '\0' ? cred->passphrase : NULL);
	return GIT_EAUTH;
}

/* libgit2 names the URL that we gave it, also behind a redirect: that is why
 * none leaves the host while there is a credential (git_net_redirects). */
static int on_credential(git_credential **out, const char *url,
			 const char *user_in_url, unsigned allowed, void *arg)
{
	struct git_net *n = arg;
	const struct git_cred *cred = cred_for(&n->job->rq, url);
	const char *user = cred != NULL ? cred->user : "";
	int r;

	if (user[0] == '\0')
		user = user_in_url != NULL ? user_in_url : "git";
	if ((allowed & GIT_CREDENTIAL_USERNAME) != 0)
		return git_credential_username_new(out, user);
	n->refused = n->asked || cred == NULL;
	if (n->refused)
		return GIT_EAUTH;
	n->asked = true;
	r = give(out, cred, user, allowed);
	n->refused = r < 0;
	return r;
}

static int on_certificate(git_cert *cert, int valid, const char *host,
			  void *arg)
{
	struct git_net *n = arg;
	const git_cert_hostkey *key = (const git_cert_hostkey *)(void *)cert;

	if (cert->cert_type != GIT_CERT_HOSTKEY_LIBSSH2)
		return valid ? 0 : GIT_ECERTIFICATE;
	/* what the sandbox's own known_hosts says (valid) counts for nothing */
	return git_host_known(&n->job->rq, host, key, n->host_key,
			      sizeof(n->host_key))
		   ? 0
		   : GIT_ECERTIFICATE;
}

static int on_refused_ref(const char *ref, const char *status, void *arg)
{
	struct git_net *n = arg;

	(void)ref;
	if (status != NULL) {
		snprintf(n->said, sizeof(n->said), "%s", status);
		n->refused_ref = true;
	}
	return 0;
}

void git_net_callbacks(struct git_net *n, git_remote_callbacks *cb)
{
	cb->transfer_progress = on_receive;
	cb->push_transfer_progress = on_send;
	cb->push_update_reference = on_refused_ref;
	cb->sideband_progress = on_words;
	cb->credentials = on_credential;
	cb->certificate_check = on_certificate;
	cb->payload = n;
	if (n->shallow != NULL && !git_url_is_local(n->url)) {
		cb->transport = git_deepen_transport;
		n->shallow->url = n->url;
	}
}

git_remote_redirect_t git_net_redirects(const struct git_job *job)
{
	return job->rq.ncreds > 0 ? GIT_REMOTE_REDIRECT_NONE
				  : GIT_REMOTE_REDIRECT_INITIAL;
}

/* ---- the remote ---- */

bool git_net_remote(struct git_net *n, git_repository *repo,
		    git_remote **remote)
{
	git_remote_create_options opts;
	int r;

	must(git_remote_create_options_init(
		 &opts, GIT_REMOTE_CREATE_OPTIONS_VERSION) == 0);
	opts.repository = repo;
	opts.flags = GIT_REMOTE_CREATE_SKIP_INSTEADOF |
		     GIT_REMOTE_CREATE_SKIP_DEFAULT_FETCHSPEC;
	r = git_remote_create_with_opts(remote, n->url, &opts);
	return r == 0 ? true : git_net_failed(n, r);
}

bool git_net_connect(struct git_net *n, git_remote *remote,
		     git_direction direction)
{
	git_remote_connect_options opts;
	int r;

	must(git_remote_connect_options_init(
		 &opts, GIT_REMOTE_CONNECT_OPTIONS_VERSION) == 0);
	git_net_callbacks(n, &opts.callbacks);
	opts.callbacks.payload = n;
	opts.follow_redirects = git_net_redirects(n->job);
	opts.proxy_opts.type = GIT_PROXY_NONE;
	n->asked = false;
	r = git_remote_connect_ext(remote, direction, &opts);
	return r == 0 ? true : git_net_failed(n, r);
}

void git_net_fetch_options(struct git_net *n, git_fetch_options *opts)
{
	must(git_fetch_options_init(opts, GIT_FETCH_OPTIONS_VERSION) == 0);
	git_net_callbacks(n, &opts->callbacks);
	opts->follow_redirects = git_net_redirects(n->job);
	opts->proxy_opts.type = GIT_PROXY_NONE;
}

/* ---- failures ---- */

static bool one_of(const char *text, const char *const *words)
{
	for (; *words != NULL; words++) {
		if (strstr(text, *words) != NULL)
			return true;
	}
	return false;
}

static enum repo_result result_of(const struct git_net *n, int r,
				  const char *text, int klass)
{
	static const char *const no_auth[] = {
	    "status code: 401", "status code: 403", "authenticate", NULL};
	static const char *const no_space[] = {"No space left",
					       "quota exceeded", NULL};
	static const char *const none[] = {"status code: 404",
					   "failed to resolve path",
					   "could not find repository",
					   "unsupported URL protocol",
					   "does not appear to be a git",
					   NULL};

	if (n->host_key[0] != '\0')
		return REPO_HOST_KEY;
	if (r == GIT_EAUTH || n->refused)
		return REPO_AUTH;
	if (one_of(text, no_space))
		return REPO_NO_SPACE;
	if (r == GIT_ENONFASTFORWARD)
		return REPO_REJECTED;
	if (one_of(text, no_auth))
		return REPO_AUTH;
	if (one_of(text, none) || one_of(n->said, none))
		return REPO_NOT_FOUND;
	if (r == GIT_ECERTIFICATE || klass == GIT_ERROR_NET ||
	    klass == GIT_ERROR_SSL || klass == GIT_ERROR_OS ||
	    klass == GIT_ERROR_HTTP || klass == GIT_ERROR_SSH)
		return REPO_NETWORK;
	return REPO_OTHER;
}

bool git_net_failed(struct git_net *n, int r)
{
	const git_error *err = git_error_last();
	const char *text = err != NULL ? err->message : "unknown error";
	int klass = err != NULL ? err->klass : GIT_ERROR_NONE;
	enum repo_result result = result_of(n, r, text, klass);

	/* A server of files answers with their type, not with git's. */
	n->job->dumb = strstr(text, "invalid content-type") != NULL;
	n->job->by_id = strstr(text, "cannot fetch a specific object") != NULL;
	if (result == REPO_HOST_KEY)
		return git_job_fail(n->job, result, "%s", n->host_key);
	if (result == REPO_AUTH)
		return git_job_fail(n->job, result,
				    "Authentication failed for '%s'", n->shown);
	if (result == REPO_NOT_FOUND)
		return git_job_fail(n->job, result,
				    "repository '%s' not found: %s", n->shown,
				    n->said[0] != '\0' ? n->said : text);
	return git_job_fail(n->job, result, "unable to access '%s': %s",
			    n->shown, text);
}

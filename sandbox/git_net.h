/*
 * Speaking to a remote: who is believed, who gets which credential, what is
 * told meanwhile, and what went wrong.
 *
 * A credential is given to the origin that it was named for and to no other:
 * not after a redirect, not by what a configuration says. The repository's and
 * the user's settings cannot change whom we speak to: url.insteadOf is not
 * looked at for URLs of the request, a proxy never, and certificates and host
 * keys are judged here.
 */
#ifndef SANDBOX_GIT_NET_H
#define SANDBOX_GIT_NET_H

#include "base/git_url.h"
#include "sandbox/git_job.h"
#include "sandbox/git_shallow.h"

struct git_net {
	struct git_job *job;
	char url[GIT_URL_MAX + 1];   /* whom we speak to */
	char shown[GIT_URL_MAX + 1]; /* the same for people: no password */
	struct git_shallow *shallow; /* NULL: whole histories only */
	struct git_progress progress;
	int64_t told_ms;
	bool asked;         /* a credential was given on this connection */
	bool refused;       /* it, or none, was not enough */
	bool refused_ref;   /* push: why is in what was said */
	char host_key[512]; /* why a host is not believed; "": it is */
	char said[1024];    /* what the remote printed, or a reason */
};

/** git_net_begin(n, job, url): A remote that is spoken to. n->shallow stays. */
void git_net_begin(struct git_net *n, struct git_job *job, const char *url);

/** git_net_callbacks(n, cb): All that libgit2 may ask while it does. */
void git_net_callbacks(struct git_net *n, git_remote_callbacks *cb);

/** git_net_redirects(job): With credentials only within the same host. */
git_remote_redirect_t git_net_redirects(const struct git_job *job);

/** git_net_remote(n, repo, remote): One without a name, for n->url. */
bool git_net_remote(struct git_net *n, git_repository *repo,
		    git_remote **remote);

/** git_net_connect(n, remote, direction): Its heads can be read then. */
bool git_net_connect(struct git_net *n, git_remote *remote,
		     git_direction direction);

/** git_net_fetch_options(n, opts): For a fetch of this remote. */
void git_net_fetch_options(struct git_net *n, git_fetch_options *opts);

/** git_net_failed(n, r): libgit2 answered ${r}; returns false. */
bool git_net_failed(struct git_net *n, int r);

/** git_net_checkout(n, opts): Tells of files as they are written. */
void git_net_checkout(struct git_net *n, git_checkout_options *opts);

#endif

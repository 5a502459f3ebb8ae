/* Which branch of which remote a local branch goes with. */
#ifndef SANDBOX_GIT_TRACK_H
#define SANDBOX_GIT_TRACK_H

#include "sandbox/git_net.h"

struct git_track {
	char local[GIT_BRANCH_MAX];
	char remote[GIT_BRANCH_MAX];       /* its name */
	char branch[GIT_BRANCH_MAX];       /* there */
	char ref[2 * GIT_BRANCH_MAX + 32]; /* refs/remotes/… here */
	struct buf url;
	bool follows; /* that is what the settings say */
};

#define GIT_TRACK_INIT                                                         \
	{                                                                      \
		.url = BUF_INIT(GIT_URL_MAX + 1)                               \
	}

void git_track_free(struct git_track *t);

/**
 * git_track_find(job, repo, push, t):
 * From what the request names; what it does not, the settings say. A URL of
 * the settings is used only without credentials: who gets one is named in the
 * request.
 */
bool git_track_find(struct git_job *job, git_repository *repo, bool push,
		    struct git_track *t);

/** git_track_follow(job, repo, t): Remember it for the local branch. */
bool git_track_follow(struct git_job *job, git_repository *repo,
		      const struct git_track *t);

#endif

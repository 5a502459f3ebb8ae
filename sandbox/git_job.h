/* One clone, in the child that does it. */
#ifndef SANDBOX_GIT_JOB_H
#define SANDBOX_GIT_JOB_H

#include <stdbool.h>

#include "base/git_msg.h"

#define GIT_BRANCH_MAX 1024
#define GIT_COMMIT_LEN 64

struct git_job {
	struct git_request rq; /* the URL is without credentials */
	const char *dir;       /* there, empty */
	enum checkout_result result;
	bool dumb;                   /* the server only has files */
	char branch[GIT_BRANCH_MAX]; /* what HEAD is on; "": detached */
	char commit[GIT_COMMIT_LEN + 1];
	char text[GIT_TEXT_MAX];
};

/** git_job_fail(job, result, fmt, ...): Set both; returns false. */
bool git_job_fail(struct git_job *job, enum checkout_result result,
		  const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** git_job_is_commit(s): ${s} is a whole commit id in hex. */
bool git_job_is_commit(const char *s);

/**
 * git_clone_run(job):
 * Clone with libgit2. On failure job->dumb says that only the git program
 * can read this server. Sends progress on fd 1.
 */
bool git_clone_run(struct git_job *job);

/** git_clone_head(job): Read branch and commit of what was cloned. */
bool git_clone_head(struct git_job *job);

/** git_prog_here(): The sandbox has the git program. */
bool git_prog_here(void);

/** git_prog_run(job): Clone with the git program. */
bool git_prog_run(struct git_job *job);

#endif

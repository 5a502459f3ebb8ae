/* One operation on a repository, in the child that does it. */
#ifndef SANDBOX_GIT_JOB_H
#define SANDBOX_GIT_JOB_H

#include <git2.h>
#include <stdbool.h>

#include "base/git_msg.h"

#define GIT_BRANCH_MAX 1024
#define GIT_COMMIT_LEN 64

struct git_job {
	struct git_request rq; /* the URL is without credentials */
	const char *dir;       /* clone: there, empty; else the repository */
	enum repo_result result;
	uint64_t flags;              /* GIT_DID_… */
	bool dumb;                   /* the server only has files */
	bool by_id;                  /* it does not give commits by their ids */
	char branch[GIT_BRANCH_MAX]; /* what HEAD is on; "": detached */
	char commit[GIT_COMMIT_LEN + 1];
	char text[GIT_TEXT_MAX];
};

/** git_job_fail(job, result, fmt, ...): Set both; returns false. */
bool git_job_fail(struct git_job *job, enum repo_result result, const char *fmt,
		  ...) __attribute__((format(printf, 3, 4)));

/**
 * git_job_failed(job, r, what):
 * libgit2 answered ${r} to ${what}, which begins a sentence; returns false.
 */
bool git_job_failed(struct git_job *job, int r, const char *what);

/** git_job_is_commit(s): ${s} is a whole commit id in hex. */
bool git_job_is_commit(const char *s);

/** git_job_asks(job, flag): GIT_ASK_… is set. */
bool git_job_asks(const struct git_job *job, uint32_t flag);

/** git_job_row(row): Tell it. One that is too long is left out: false. */
bool git_job_row(const struct git_row *row);

/** git_job_progress(p): Tell it; may be lost. */
void git_job_progress(const struct git_progress *p);

/** git_job_open(job, repo): The repository at job->dir or above it. */
bool git_job_open(struct git_job *job, git_repository **repo);

/** git_job_head(job, repo): Read branch and commit of HEAD. */
bool git_job_head(struct git_job *job, git_repository *repo);

/** git_job_scrub(job): No secret of the request in its words. */
void git_job_scrub(struct git_job *job);

/* The operations; those on one that is there are in git_main.c's table. */
bool git_clone_run(struct git_job *job);
bool git_status_run(struct git_job *job, git_repository *repo);
bool git_log_run(struct git_job *job, git_repository *repo);
bool git_diff_run(struct git_job *job, git_repository *repo);
bool git_branch_list(struct git_job *job, git_repository *repo);
bool git_branch_make(struct git_job *job, git_repository *repo);
bool git_branch_switch(struct git_job *job, git_repository *repo);
bool git_commit_run(struct git_job *job, git_repository *repo);
bool git_pull_run(struct git_job *job, git_repository *repo);
bool git_push_run(struct git_job *job, git_repository *repo);

/**
 * git_branch_checkout(job, repo, to, force):
 * Make the files and the index those of ${to}; when a changed file is in the
 * way nothing is touched, and it is told.
 */
bool git_branch_checkout(struct git_job *job, git_repository *repo,
			 const git_object *to, bool force);

/** git_commit_who(job, repo, out): The request's, else the settings'. */
bool git_commit_who(struct git_job *job, git_repository *repo,
		    git_signature **out);

/** git_prog_here(): The sandbox has the git program. */
bool git_prog_here(void);

/**
 * git_prog_run(job):
 * Clone with the git program, which is the tenant's: without any credential.
 */
bool git_prog_run(struct git_job *job);

#endif

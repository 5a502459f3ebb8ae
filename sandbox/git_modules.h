/* Submodules, and files of Git LFS. */
#ifndef SANDBOX_GIT_MODULES_H
#define SANDBOX_GIT_MODULES_H

#include "sandbox/git_job.h"

/**
 * git_modules_update(job, repo):
 * Fetch and check out the submodules of HEAD, and theirs. Each host gets its
 * own credential or none.
 */
bool git_modules_update(struct git_job *job, git_repository *repo);

/** git_modules_lfs(repo): HEAD says that some files are LFS pointers. */
bool git_modules_lfs(git_repository *repo);

#endif

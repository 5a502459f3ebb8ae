/*
 * The directory that a clone goes to. What does not exist yet is made under
 * another name and gets its own when it is whole, so that half a clone is
 * never taken for a good one; an empty directory is filled in place.
 */
#ifndef SANDBOX_GIT_DIR_H
#define SANDBOX_GIT_DIR_H

#include <stdbool.h>

#include "sandbox/fs_path.h"
#include "sandbox/fs_temp.h"

struct git_dir {
	struct fs_at at;
	char temp[FS_TEMP_LEN]; /* "": in place */
	bool done;
};

/**
 * git_dir_open(d, path, op):
 * Find ${path}, make its parents and go to the directory that holds it, so
 * that git_dir_name() is a path. Fails with FS_EXISTS for a file or a
 * directory that is not empty.
 */
int git_dir_open(struct git_dir *d, const char *path, struct fs_op *op);

/** git_dir_name(d): Where to clone to, seen from the current directory. */
const char *git_dir_name(const struct git_dir *d);

/** git_dir_commit(d, op): The clone is whole. FS_EXISTS: someone was first. */
int git_dir_commit(struct git_dir *d, struct fs_op *op);

/** git_dir_close(d): For OWN; removes what was not committed. */
void git_dir_close(struct git_dir *d);

#endif

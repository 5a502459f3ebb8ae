/* A file in the making: it gets its name when it is whole. */
#ifndef SANDBOX_FS_TEMP_H
#define SANDBOX_FS_TEMP_H

#include "sandbox/fs_op.h"

#define FS_TEMP_LEN 32

struct fs_temp {
	int fd;
	int dir;                /* not owned */
	char name[FS_TEMP_LEN]; /* "": it has none yet */
};

/** fs_temp_name(out): A new name for something of ours in a directory. */
void fs_temp_name(char out[FS_TEMP_LEN]);

/** fs_temp_is(name): It is such a name. */
bool fs_temp_is(const char *name);

/**
 * fs_temp_open(dir, temp):
 * A new file in ${dir}, without a name where the file system can do that, so
 * that it is gone if we are killed. Returns 0, or -1 and errno.
 */
int fs_temp_open(int dir, struct fs_temp *temp);

/**
 * fs_temp_commit(temp, name, fresh):
 * Give it ${name}, in place of what has it now; ${fresh}: EEXIST instead.
 * Returns 0, or -1 and errno.
 */
int fs_temp_commit(struct fs_temp *temp, const char *name, bool fresh);

/** fs_temp_close(temp): For OWN; what was not committed is removed. */
void fs_temp_close(struct fs_temp *temp);

#endif

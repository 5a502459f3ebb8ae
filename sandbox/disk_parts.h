/* What lies in a sandbox's files, whatever bounds them. */
#ifndef SANDBOX_DISK_PARTS_H
#define SANDBOX_DISK_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/disk_image.h"

#define DISK_PARTS_BALLAST 8
#define DISK_PARTS_DIRS (8 + 1 + DISK_PARTS_BALLAST) /* with overlay's own */

/** disk_parts_make(dir, owner): {root,usr}/{upper,work} and the ballast, as
 * far as missing; an upper is ${owner}'s. Only root gets through ${dir}.
 * -1 with errno. */
int disk_parts_make(int dir, uid_t owner);

/**
 * disk_parts_yield(dir), disk_parts_hold(dir):
 * Give a few blocks and inodes free if few are, and take them again. Mounting
 * an overlay needs some for a moment, and must not fail because the sandbox
 * has filled its disk. Without effect on files that have no such ballast.
 * True: hold them afterwards.
 */
bool disk_parts_yield(int dir);
void disk_parts_hold(int dir);

/** disk_parts_there(dir): Whether that was made in there before. */
bool disk_parts_there(int dir);

/** disk_parts_shift(mount, user_ns): Shift the ids of a new detached mount by
 * that namespace's map. -1 with errno. */
int disk_parts_shift(int mount, int user_ns);

/** disk_parts_tmpfs(limits): A detached mount in memory; -1 with errno. */
int disk_parts_tmpfs(const struct disk_limits *limits);

#endif

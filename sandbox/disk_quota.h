/* Project quotas of ext4 and xfs, by the one interface that both have. */
#ifndef SANDBOX_DISK_QUOTA_H
#define SANDBOX_DISK_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/disk_image.h"

#define DISK_PROJECT_BASE 0x57000000U /* above what an operator uses */

struct disk_usage {
	uint64_t limit_bytes;
	uint64_t used_bytes;
};

/** disk_quota_usable(dir): Its file system enforces project quotas, and we
 * may set them. */
bool disk_quota_usable(int dir);

/** disk_quota_project(dir): The project of a directory; 0: none of ours. */
uint32_t disk_quota_project(int dir);

/** disk_quota_set(dir, project, limits): Make an empty directory that
 * project, and set its limits. -1 with errno. */
int disk_quota_set(int dir, uint32_t project, const struct disk_limits *limits);

/** disk_quota_usage(dir, out): Of the directory's project; false: none. */
bool disk_quota_usage(int dir, struct disk_usage *out);

#endif

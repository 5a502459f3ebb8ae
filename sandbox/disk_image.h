/*
 * Images: sparse files with an ext4 file system that mke2fs made. One
 * template for each pair of limits, with the directories that all have, is
 * kept beside the sandboxes' images, and copied. No image that anyone else
 * wrote is ever mounted.
 *
 * There is no journal: a host that crashes leaves images that are not clean.
 * Those are repaired by e2fsck before they are mounted again; what a program
 * had synced is there then. A journal would cost each sandbox 4 MiB and every
 * write twice. What it costs to have none: for some minutes ext4 gives no inode
 * that was freed to a new file, and looks at each of them for every new one.
 * After 3,000 deletions a file took 0.7 ms to make, beside 0.03 before.
 */
#ifndef SANDBOX_DISK_IMAGE_H
#define SANDBOX_DISK_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define DISK_TEMPLATES_MAX 32 /* the oldest one goes then */
#define DISK_BYTES_MIN (UINT64_C(1) << 20)
#define DISK_BYTES_MAX (UINT64_C(1) << 42)
#define DISK_INODES_MIN 64U

/* What its user may have; not the file system's own tables. */
struct disk_limits {
	uint64_t bytes;  /* 0: no limits at all */
	uint64_t inodes; /* 0: one for each 16 KiB */
};

enum disk_state {
	DISK_CLEAN,
	DISK_UNCLEAN, /* must go through disk_image_check_start() */
	DISK_BLANK    /* nothing of it ever came to the disk */
};

/**
 * disk_limits_fit(limits, out):
 * ${out}: bytes as whole blocks, inodes at most one for each KiB and at
 * least DISK_INODES_MIN. False: no image can have such.
 */
bool disk_limits_fit(const struct disk_limits *limits, struct disk_limits *out);

/** disk_image_kernel_reserve(blocks): What the kernel keeps back of a file
 * system that large: 2 %, at most 4096. Source: fs/ext4/super.c,
 * ext4_set_resv_clusters(). */
uint64_t disk_image_kernel_reserve(uint64_t blocks);

/**
 * disk_image_template(dir, limits, fd, e):
 * The template in the directory ${dir} for limits that fit, made on first
 * use. Exactly the bytes can be used; inodes are rounded up to full blocks
 * of their table.
 * Owns: ${fd} is the caller's. Errors: ERR_IO. Blocks: 30 ms on first use.
 */
FALLIBLE enum err disk_image_template(int dir, const struct disk_limits *limits,
				      int *fd, struct errinfo *e);

/**
 * disk_image_new(dir, template, fd, e), disk_image_fill(template, to, e):
 * A file without a name (see linkat()) in the file system of ${dir}, as large
 * as the template and empty; then what is in the template, to the file or to
 * a device of that size. Blocks: about 0.1 ms. Errors: ERR_IO.
 */
FALLIBLE enum err disk_image_new(int dir, int template_fd, int *fd,
				 struct errinfo *e);
FALLIBLE enum err disk_image_fill(int template_fd, int to, struct errinfo *e);

/** disk_image_state(fd): By the superblock. It must not be mounted. */
enum disk_state disk_image_state(int fd);

/**
 * disk_image_check_start(fd, pid, pidfd, e):
 * Start e2fsck as a user without rights. It ends with 0 or 1 when the image
 * can be mounted. Afterwards: disk_image_check_done(). The lock on ${fd}
 * (flock) is held as long as e2fsck runs.
 */
FALLIBLE enum err disk_image_check_start(int fd, pid_t *pid, int *pidfd,
					 struct errinfo *e);

/** disk_image_check_done(fd, status): Whether it is fit to be mounted;
 * ${status} as in wait(2). */
bool disk_image_check_done(int fd, int status);

#endif

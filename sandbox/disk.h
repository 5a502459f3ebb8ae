/*
 * The files of each sandbox are bounded in bytes and inodes, by what this
 * machine can do; asked at start, in this order:
 *
 *   quota   the file system of D/sandboxes enforces project quotas: each
 *           D/sandboxes/<id> is a project
 *   loop    D/sandboxes/<id>/disk.img, see disk_image.h, mounted nowhere in
 *           the host's tree
 *   none    a directory, not bounded; also for those who ask for no limits
 *           and for sandboxes that were made so
 *
 * and a tmpfs for a sandbox whose files end with it. What is promised to all
 * may be more than there is (overcommit): most never use what they may. See
 * disk_brake.h for when they do.
 */
#ifndef SANDBOX_DISK_H
#define SANDBOX_DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/disk_brake.h"
#include "sandbox/disk_image.h"
#include "sandbox/disk_job.h"
#include "sandbox/disk_spare.h"

#define DISK_IMAGE_NAME "disk.img"
#define DISK_OVERCOMMIT 10 /* unless the operator says otherwise */
#define DISK_OVERCOMMIT_MAX 1000

enum disk_kind { DISK_NONE, DISK_LOOP, DISK_QUOTA };

struct disk_root {
	int sandboxes; /* D/sandboxes: the broker's */
	enum disk_kind kind;
	uint32_t overcommit; /* promised at most so many times what is free */
	uint64_t promised;   /* bytes of all images or projects */
	uint64_t capacity;   /* bytes they could have without overcommit … */
	int64_t capacity_ms; /* … as of then */
	uint32_t project;    /* the last one given out */
	struct disk_spares spares;
	struct disk_brake brake;
};

/* What a start asks for. */
struct disk_want {
	struct disk_limits limits;
	bool ephemeral; /* in memory, gone when it stops */
	int map_ns;     /* disk ids -> the slot's ids */
	uid_t root_uid; /* the slot's root */
	int *mount;     /* of the image, by a disk_job: taken if used; or -1 */
};

struct disk_files {
	int mount;    /* detached, ids shifted */
	bool bounded; /* fstatvfs() of it tells limits and use */
	bool image;   /* it is an image: disk_forsake() may be used */
};

/**
 * disk_root_open(root, sandboxes, images, overcommit):
 * Find out what works here. ${overcommit} is at least 1. Owns: the
 * descriptors stay the caller's.
 */
void disk_root_open(struct disk_root *root, int sandboxes, int images,
		    uint32_t overcommit);
void disk_root_close(struct disk_root *root);

/** disk_tick(root): Several times a second: disk_brake.h, disk_spare.h. */
void disk_tick(struct disk_root *root);

/**
 * disk_open(root, id, want, out, e):
 * The sandbox's {root,usr}/{upper,work}, made on first use with these
 * limits, which it then keeps.
 * Owns: ${out->mount} is the caller's. Errors: ERR_LIMIT (does not fit),
 * ERR_ARG (no such limits), ERR_STATE (in use, or must be checked: ask
 * disk_prepare() before), ERR_IO. Blocks: 0.1 ms with a spare, else 1 to 5 ms.
 */
FALLIBLE enum err disk_open(struct disk_root *root, const char *id,
			    const struct disk_want *want,
			    struct disk_files *out, struct errinfo *e);

/** disk_forsake(root, image_mount): Its files will be deleted: do not write
 * them back when it is unmounted. Before that begins; -1 is fine. */
void disk_forsake(const struct disk_root *root, int image_mount);

/** disk_forget(root, id): Its files go: nothing is promised to it then. */
void disk_forget(struct disk_root *root, const char *id);

#endif

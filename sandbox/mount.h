/*
 * The file tree of a sandbox. Runs in the child of the clone, as real root in
 * its own mount namespace. Everything goes by descriptors: no name that a
 * tenant made is followed.
 */
#ifndef SANDBOX_MOUNT_H
#define SANDBOX_MOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/mount_check.h"

/* Layers are detached mounts, made by mount_layer(). */
struct mount_plan {
	const char *point; /* an empty directory of the host to build on */
	int image;         /* the image's root directory */
	int tools;         /* -1, or what lies over that: our /opt/warren */
	int ours;       /* -1, or host/fixed: /opt/warren for all, as it is */
	int usr_over;   /* -1, or what lies over the machine's own /usr … */
	int usr;        /* … and that */
	int files;      /* the sandbox's own: {root,usr}/{upper,work} */
	uid_t root_uid; /* the sandbox's root, as the host sees it */
	uint64_t tmp_bytes;
	uint64_t shm_bytes;
};

/**
 * mount_layer(dir, path, user_ns):
 * A detached copy of the mount at ${path} below ${dir} ("": ${dir} itself),
 * with its ids shifted by ${user_ns}'s map. -1 with errno on failure. In the
 * caller's mount namespace: before the clone.
 */
int mount_layer(int dir, const char *path, int user_ns);

/** mount_fixed(dir, path): A detached copy with its ids as they are. */
int mount_fixed(int dir, const char *path);

/* /dev and /proc, made before anything else of the sandbox is known. */
struct mount_stage {
	int dev;
	int proc;
	struct mount_count before; /* when nothing was made yet */
	int made;                  /* mounts in those two, if that is known */
};

#define MOUNT_STAGE_NONE                                                       \
	{                                                                      \
		.dev = -1, .proc = -1                                          \
	}

/**
 * mount_stage(point, root_uid, out):
 * Make them where the tree will be built. 0, or -1 with errno. Owns: ${out}
 * is the caller's. Blocks: about 1 ms.
 */
int mount_stage(const char *point, uid_t root_uid, struct mount_stage *out);
void mount_stage_close(struct mount_stage *s);

/**
 * mount_tree(plan, stage):
 * Build the tree at the point: overlay root, /usr, /tmp, /dev, /proc with
 * its masks; the last two from ${stage} unless it is NULL. 0, or -1 with
 * errno; nothing to undo: the namespace dies with the caller. Threads: none.
 * Blocks: about 1 ms, 0.4 ms with a stage.
 */
int mount_tree(const struct mount_plan *plan, const struct mount_stage *stage);

/** mount_pivot(point): Make the tree at ${point} the root, drop the old. */
int mount_pivot(const char *point);

/**
 * mount_is_ours(plan, stage, self):
 * After the pivot: nothing is mounted but what these functions did; see
 * mount_check.h. Where there is a stage and the kernel counts, that is
 * enough; debug builds read the whole list as well.
 */
bool mount_is_ours(const struct mount_plan *plan,
		   const struct mount_stage *stage, int self);

#endif

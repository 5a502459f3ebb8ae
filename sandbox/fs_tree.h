/*
 * Whole trees, by descriptors; links are never followed. A tree deeper than
 * FS_DEPTH_MAX is FS_TOO_DEEP.
 */
#ifndef SANDBOX_FS_TREE_H
#define SANDBOX_FS_TREE_H

#include "sandbox/fs_op.h"

#define FS_DEPTH_MAX 500

/** fs_tree_room(): Let us have as many descriptors as trees need. */
void fs_tree_room(void);

/** fs_tree_remove(op, dir, name): Remove ${name}, whatever it is. */
int fs_tree_remove(struct fs_op *op, int dir, const char *name);

/**
 * fs_tree_each(op, dir, name, each, ctx):
 * Call ${each} for all that is below ${name}, and then for itself.
 */
int fs_tree_each(struct fs_op *op, int dir, const char *name,
		 int (*each)(void *ctx, int dir, const char *name), void *ctx);

/**
 * fs_copy_tree(op, from, name, to, new_name):
 * Copy ${name} of directory ${from} to the new name ${new_name} in ${to}, with
 * modes and times, and owners where we may. On failure a part may be there.
 */
int fs_copy_tree(struct fs_op *op, int from, const char *name, int to,
		 const char *new_name);

#endif

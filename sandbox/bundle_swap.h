/*
 * A directory that is replaced as a whole. The new one is made in a stage, a
 * directory of ours beside the target (or in it, where that cannot be), and
 * takes its place by one rename.
 *
 *	stage/restore   locked by who works on it; without one it is left over
 *	stage/new       the new tree
 *	stage/old       what was in the target, where it is swapped by content
 *	stage/out       that is being moved out: to be undone
 *	stage/in        that is moved out, the new is being moved in: go on
 *
 * By content: a mount point, and what is in a directory that we may not write
 * to. It takes a rename for each name in the target; what broke off is undone
 * or finished by the next one (bundle_swap_heal).
 */
#ifndef SANDBOX_BUNDLE_SWAP_H
#define SANDBOX_BUNDLE_SWAP_H

#include <limits.h>

#include "sandbox/fs_op.h"
#include "sandbox/fs_temp.h"

struct bundle_swap {
	struct fs_op *op;
	int parent; /* of the target; -1: only by content */
	int target; /* -1: there is none */
	int at;     /* where the stage is: one of the two */
	int stage;
	int lock;
	int root; /* where the new tree is made */
	char target_name[NAME_MAX + 1];
	char name[FS_TEMP_LEN]; /* of the stage; "": none */
};

#define BUNDLE_SWAP_INIT(o)                                                    \
	{                                                                      \
		.op = (o), .parent = -1, .target = -1, .at = -1, .stage = -1,  \
		.lock = -1, .root = -1                                         \
	}

/**
 * bundle_swap_open(s, path):
 * Make the stage for ${path}, a directory or what may become one; s->root is
 * empty then. Directories above that are missing come with it. 0 or -1.
 */
int bundle_swap_open(struct bundle_swap *s, const char *path);

/** bundle_swap_commit(s): The new tree is ${path} from here on; or nothing
 * has changed. 0 or -1. */
int bundle_swap_commit(struct bundle_swap *s);

/** bundle_swap_close(s): For OWN; the stage and what is in it go. */
void bundle_swap_close(struct bundle_swap *s);

/** bundle_swap_heal(path): Undo or finish what broke off in the directory
 * ${path}. */
void bundle_swap_heal(const char *path);

#endif

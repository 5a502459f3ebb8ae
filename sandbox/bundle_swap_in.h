/* The content of a directory, swapped name by name (bundle_swap.h). */
#ifndef SANDBOX_BUNDLE_SWAP_IN_H
#define SANDBOX_BUNDLE_SWAP_IN_H

#include "base/buf.h"
#include "sandbox/fs_op.h"

#define BUNDLE_SWAP_NAMES_MAX (256U << 20)

/** bundle_swap_in_names(op, dir, but, out): The names in ${dir}, each with its
 * 0, without ${but}. 0 or -1. */
int bundle_swap_in_names(struct fs_op *op, int dir, const char *but,
			 struct buf *out);

/**
 * bundle_swap_in_run(op, target, stage, name, open):
 * What is in stage/new against what is in ${target}, where the stage is
 * ${name}. 0, or -1: all is as it was, or ${open}: neither here nor there,
 * and the stage has to stay for who settles it.
 */
int bundle_swap_in_run(struct fs_op *op, int target, int stage,
		       const char *name, bool *open);

/** bundle_swap_in_settle(target, stage): One that broke off is undone, or
 * finished. 0: the stage is not needed any more. */
int bundle_swap_in_settle(int target, int stage);

#endif

/*
 * From an archive to an image's root file system. The archive is a stranger's
 * and we are root: it is read by a child that has nothing but the new
 * directory as its root, and only the powers over files.
 */
#ifndef STORE_WARREN_UNPACK_H
#define STORE_WARREN_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* What an image has of what sandboxes use. */
enum unpack_has { UNPACK_BASH = 1, UNPACK_PYTHON = 2, UNPACK_NODE = 4 };

struct unpack_done {
	uint64_t files;
	uint64_t bytes;
	uint32_t has;    /* enum unpack_has */
	uint32_t nobody; /* files whose owner's id no sandbox has */
};

/**
 * warren_unpack(archive, dir, done, e):
 * Unpack the tar file that ${archive} is read from (plain, or by gzip, bzip2,
 * xz or zstd) into the empty directory ${dir}, and give it what each image
 * has: warren_unpack_finish(). Nothing is written outside of ${dir}. What is
 * in /dev, /proc and /sys stays out, since sandboxes have their own.
 * Errors: ERR_ARG, a sentence: no such archive, a name that leads outside, a
 * device elsewhere, a layer instead of a whole tree; ERR_IO. ${dir} then holds
 * what came before.
 * Owns: nothing. Threads: none may run. Blocks: as long as it takes.
 */
FALLIBLE enum err warren_unpack(int archive, int dir, struct unpack_done *done,
				struct errinfo *e);

/**
 * warren_unpack_finish(done, e):
 * Of the tree that is this process' root: directories that sandboxes need,
 * the names of hosts, the resolver, user sandbox; and look what is in it.
 * Errors: ERR_ARG: it holds no system; ERR_IO.
 */
FALLIBLE enum err warren_unpack_finish(struct unpack_done *done,
				       struct errinfo *e);

#endif

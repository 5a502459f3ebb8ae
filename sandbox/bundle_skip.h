/* What a backup leaves out: by globs (fs_glob.h), and by git's rules. */
#ifndef SANDBOX_BUNDLE_SKIP_H
#define SANDBOX_BUNDLE_SKIP_H

#include <stdbool.h>

#include "base/buf.h"
#include "sandbox/bundle.h"

#define BUNDLE_GLOBS_MAX (256U << 10)  /* bytes of all, with their ends */
#define BUNDLE_IGNORED_MAX (64U << 20) /* of paths that git ignores */

struct bundle_skip {
	struct buf globs;            /* each with its 0 */
	struct buf ignored;          /* likewise, paths from the directory on */
	struct bundle_path *by_name; /* a table of them */
};

#define BUNDLE_SKIP_INIT                                                       \
	{                                                                      \
		.globs = BUF_INIT(BUNDLE_GLOBS_MAX),                           \
		.ignored = BUF_INIT(BUNDLE_IGNORED_MAX)                        \
	}

/** bundle_skip_free(s): For OWN. */
void bundle_skip_free(struct bundle_skip *s);

/** bundle_skip_read(b, s): The globs, from fd 0. 0 or -1. */
int bundle_skip_read(struct bundle *b, struct bundle_skip *s);

/**
 * bundle_skip_git(b, s, path):
 * What git ignores in the directory ${path}; nothing where there is no
 * repository. The program warren-git tells it. 0 or -1.
 */
int bundle_skip_git(struct bundle *b, struct bundle_skip *s, const char *path);

/** bundle_skip_hits(s, path): ${path} is left out, and all below it. */
bool bundle_skip_hits(const struct bundle_skip *s, const char *path);

#endif

/*
 * Histories that are cut off, which libgit2 1.5 does not know: the list of
 * where they end, and an object store that shows those commits without their
 * parents.
 */
#ifndef SANDBOX_GIT_SHALLOW_H
#define SANDBOX_GIT_SHALLOW_H

#include <git2.h>
#include <stdbool.h>

#include "base/buf.h"

#define GIT_SHALLOW_MAX (16U << 20)
#define GIT_SHALLOW_ID 40U
#define GIT_SHALLOW_LINE (GIT_SHALLOW_ID + 1)

struct git_shallow {
	const char *url; /* whom the transport speaks to */
	uint32_t depth;  /* commits from each tip; 0: as it is */
	struct buf list; /* ids in hex, each and a newline */
};

#define GIT_SHALLOW_INIT                                                       \
	{                                                                      \
		.list = BUF_INIT(GIT_SHALLOW_MAX)                              \
	}

/** git_shallow_is_id(p): GIT_SHALLOW_ID digits of an id are at ${p}. */
bool git_shallow_is_id(const char *p);

/** git_shallow_add(s, id), _remove: What git_shallow_is_id() says. */
void git_shallow_add(struct git_shallow *s, const char *id);
void git_shallow_remove(struct git_shallow *s, const char *id);

/** git_shallow_load(s, repo): The repository's list; none is fine. */
bool git_shallow_load(struct git_shallow *s, git_repository *repo);

/** git_shallow_save(s, repo): Write the list, which a fetch may have changed;
 * the objects are as it says from here on. */
bool git_shallow_save(const struct git_shallow *s, git_repository *repo);

/** git_shallow_graft(repo): Show the commits of its list as first ones. A
 * repository that is whole costs nothing. */
bool git_shallow_graft(git_repository *repo);

void git_shallow_free(struct git_shallow *s);

#endif

/* OWN() for what libgit2 gives. */
#ifndef SANDBOX_GIT_OWN_H
#define SANDBOX_GIT_OWN_H

#include <git2.h>

#include "base/own.h"

#define GIT_OWN(type)                                                          \
	static inline void own_##type(git_##type **p)                          \
	{                                                                      \
		git_##type##_free(*p);                                         \
	}

GIT_OWN(annotated_commit)
GIT_OWN(branch_iterator)
GIT_OWN(commit)
GIT_OWN(config)
GIT_OWN(diff)
GIT_OWN(index)
GIT_OWN(object)
GIT_OWN(odb)
GIT_OWN(patch)
GIT_OWN(reference)
GIT_OWN(remote)
GIT_OWN(repository)
GIT_OWN(revwalk)
GIT_OWN(signature)
GIT_OWN(status_list)
GIT_OWN(submodule)
GIT_OWN(tree)
GIT_OWN(tree_entry)

#undef GIT_OWN

#endif

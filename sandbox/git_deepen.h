/*
 * A transport that asks for a history of some depth, and tells where the one
 * here ends: what is missing in libgit2's own, which it goes through.
 */
#ifndef SANDBOX_GIT_DEEPEN_H
#define SANDBOX_GIT_DEEPEN_H

#include <git2.h>

/**
 * git_deepen_transport(out, owner, param):
 * A git_transport_cb whose param is a git_net with a git_shallow, which is
 * asked for and kept up to date.
 */
int git_deepen_transport(git_transport **out, git_remote *owner, void *param);

#endif

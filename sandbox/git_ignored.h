/* What git ignores in a directory that is in a repository. */
#ifndef SANDBOX_GIT_IGNORED_H
#define SANDBOX_GIT_IGNORED_H

/**
 * git_ignored_tell(path):
 * The paths below ${path} that are ignored and not tracked, from ${path} on,
 * each with its 0, on fd 1; of a directory that is ignored with all that is
 * in it only its own. In a repository inside another its own rules count,
 * too. Nothing where there is none. 0, or -1 when the rules cannot be read.
 */
int git_ignored_tell(const char *path);

#endif

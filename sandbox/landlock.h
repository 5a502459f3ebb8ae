/*
 * A second wall round the files of a sandbox, beside its mount namespace: a
 * path that does not lead through the sandbox's own root is refused, however
 * somebody came by a descriptor to begin it at. Nothing in it mounts.
 */
#ifndef SANDBOX_LANDLOCK_H
#define SANDBOX_LANDLOCK_H

#define LANDLOCK_ABI_MIN 2 /* without REFER no file leaves its directory */

/**
 * landlock_abi():
 * What this kernel offers, as probed; 0: nothing, and then landlock_confine()
 * does nothing.
 */
int landlock_abi(void);

/**
 * landlock_confine(program, cgroup):
 * Files only below our own root, for us and all that we start; devices are
 * spoken to below /dev only, and none is made. Besides, if not -1:
 * ${program} may be executed, in ${cgroup} directories be made and files be
 * written. 0, or -1 with errno: it is not confined. Needs no_new_privs. Fit
 * for use between clone and exec. Blocks: no, about 15 us.
 */
int landlock_confine(int program, int cgroup);

#endif

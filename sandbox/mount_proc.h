/* /proc of a sandbox: its own processes, and nothing of the machine. */
#ifndef SANDBOX_MOUNT_PROC_H
#define SANDBOX_MOUNT_PROC_H

#include <sys/types.h>

/** mount_onto(mount, target): Attach a detached mount at a descriptor. */
int mount_onto(int mount, int target);

/**
 * mount_proc(root, target, root_uid):
 * A new proc (of the caller's PID namespace, others' processes hidden but
 * from the group of the sandbox's root) at ${target}, which is ${root}/proc;
 * PID 1 and what tells of the machine are covered, what sets something is
 * read-only. 0, or -1 with errno.
 */
int mount_proc(int root, int target, uid_t root_uid);

#endif

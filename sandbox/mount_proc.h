/* /proc of a sandbox: its own processes, and nothing of the machine. */
#ifndef SANDBOX_MOUNT_PROC_H
#define SANDBOX_MOUNT_PROC_H

/** mount_onto(mount, target): Attach a detached mount at a descriptor. */
int mount_onto(int mount, int target);

/**
 * mount_proc(root, target):
 * A new proc (of the caller's PID namespace, others' processes hidden) at
 * ${target}, which is ${root}/proc; what tells of the machine is covered,
 * what sets something is read-only. 0, or -1 with errno.
 */
int mount_proc(int root, int target);

#endif

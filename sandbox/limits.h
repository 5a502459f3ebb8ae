/* What every process of a sandbox starts with, whoever made it. */
#ifndef SANDBOX_LIMITS_H
#define SANDBOX_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Those that differ between sandboxes. */
struct limits {
	uint32_t open_files; /* of one process; 0: LIMITS_OPEN_FILES */
	uint64_t file_bytes; /* of one file; 0: no limit */
};

#define LIMITS_OPEN_FILES 65536U
#define LIMITS_OPEN_FILES_MAX (1U << 20)

/**
 * limits_set(l):
 * The resource limits of a sandbox's processes. 0, or -1 with errno.
 * Fit for use between clone and exec.
 */
int limits_set(const struct limits *l);

/**
 * limits_copy(pid):
 * Those of struct limits that the process ${pid} has, where they are lower
 * than ours. 0, or -1 with errno. Fit for use after fork.
 */
int limits_copy(pid_t pid);

/**
 * limits_user(proc), limits_user_last(proc_user):
 * In a user namespace of which we are the root: no further namespaces below
 * it, and its share of inotify. The first when it is new; the last by a
 * descriptor of the host's /proc/sys/user, when the sandbox has its own mount
 * namespace, which it could not make afterwards. What these files show is by
 * who asks. 0, or -1 with errno. Fit for use between clone and exec.
 */
int limits_user(int proc);
int limits_user_last(int proc_user);

/** limits_oom(self): Killed before the machine's own when its memory is
 * short; ${self}: a descriptor of our own directory in /proc. */
int limits_oom(int self);

/** limits_keyring(): A session keyring of its own, or none at all. */
int limits_keyring(void);

/** limits_signals(faults): Every signal as after boot, none blocked. Those of
 * faults only if ${faults}: an interpreter's own code may handle its own. */
void limits_signals(bool faults);

#endif

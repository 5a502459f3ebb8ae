/* Start one of our own programs with exactly the descriptors it is to have. */
#ifndef SANDBOX_CHILD_H
#define SANDBOX_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define CHILD_FDS_MAX 14
#define CHILD_FD_FIRST 3

struct child_spec {
	int program; /* open for reading; run by execveat */
	char *const *argv;
	const int *fds; /* become 3, 4, … */
	int nfds;
	bool quiet; /* 1 and 2 are /dev/null too */
	uid_t uid;  /* 0: stays root (a keeper drops by itself) */
	gid_t gid;
	int net_ns;       /* 0: ours; else it runs in that one */
	const char *jail; /* NULL, or where net_jail() builds its root */
};

/**
 * child_start(spec, pid, pidfd, e):
 * Fork and exec; 0 is /dev/null, 1 and 2 stay ours, the environment is
 * empty. Owns: the caller closes ${pidfd} and reaps. Errors: ERR_IO.
 */
FALLIBLE enum err child_start(const struct child_spec *spec, pid_t *pid,
			      int *pidfd, struct errinfo *e);

/**
 * child_fork(pidfd):
 * fork(2) with a pidfd and default signals: 0 in the child, which ends by
 * _exit; the pid in the parent, or -1 with errno. For work in a process
 * without threads that its loop cannot wait for. The child has all that is
 * open here, also locks, so it is killed when this process dies.
 */
pid_t child_fork(int *pidfd);

/**
 * child_started_at(pid):
 * When the process was started, in clock ticks since boot (proc(5) stat,
 * field 22): with the pid it names one process for ever. 0: no such process.
 */
uint64_t child_started_at(pid_t pid);

/** child_open(pid, started_at): A pidfd of exactly that process, or -1. */
int child_open(pid_t pid, uint64_t started_at);

/** child_signal(pidfd, sig): Send; one that has ended is fine. */
void child_signal(int pidfd, int sig);

/** child_reap(pidfd, status): Reap it if it is our child and has ended;
 * ${status} as in wait(2), 0 for one that is not our child. */
void child_reap(int pidfd, int *status);

#endif

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/net_jail.h"

#define FD_HIGH 64

noreturn static void child_main(const struct child_spec *s)
{
	char *const env[] = {NULL};
	sigset_t none;
	int up[CHILD_FDS_MAX], null = open("/dev/null", O_RDWR);
	/* Not where the given ones go. */
	int program = fcntl(s->program, F_DUPFD_CLOEXEC, FD_HIGH);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (program < 0 || null < 0)
		_exit(126);
	for (int i = 0; i < (s->quiet ? 3 : 1); i++)
		if (dup2(null, i) < 0)
			_exit(126);
	if (s->net_ns > 0 && setns(s->net_ns, CLONE_NEWNET) < 0)
		_exit(126);
	if (s->jail != NULL && net_jail(s->jail) < 0)
		_exit(126);
	for (int i = 0; i < s->nfds; i++) {
		up[i] = fcntl(s->fds[i], F_DUPFD_CLOEXEC, FD_HIGH);
		if (up[i] < 0)
			_exit(126);
	}
	for (int i = 0; i < s->nfds; i++)
		if (dup2(up[i], CHILD_FD_FIRST + i) < 0)
			_exit(126);
	if (close_range((unsigned)(CHILD_FD_FIRST + s->nfds), ~0U,
			CLOSE_RANGE_CLOEXEC) < 0)
		_exit(126);
	if (s->uid != 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(s->gid, s->gid, s->gid) < 0 ||
	     setresuid(s->uid, s->uid, s->uid) < 0 ||
	     prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
		_exit(126);
	syscall(SYS_execveat, program, "", s->argv, env, AT_EMPTY_PATH);
	_exit(127);
}

enum err child_start(const struct child_spec *spec, pid_t *pid, int *pidfd,
		     struct errinfo *e)
{
	int fd = -1;
	struct clone_args a = {
	    .flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
	    .pidfd = (__u64)(uintptr_t)&fd,
	    .exit_signal = SIGCHLD,
	};
	pid_t p;

	must(spec->nfds <= CHILD_FDS_MAX);
	p = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
	if (p < 0)
		return err_set(e, ERR_IO, errno, "clone3");
	if (p == 0)
		child_main(spec);
	*pid = p;
	*pidfd = fd;
	return ERR_NONE;
}

pid_t child_fork(int *pidfd)
{
	const pid_t parent = getpid();
	sigset_t none;
	int fd = -1;
	struct clone_args a = {
	    .flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
	    .pidfd = (__u64)(uintptr_t)&fd,
	    .exit_signal = SIGCHLD,
	};
	pid_t p = (pid_t)syscall(SYS_clone3, &a, sizeof(a));

	if (p == 0) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
		    getppid() != parent)
			_exit(126);
	}
	if (p > 0)
		*pidfd = fd;
	return p;
}

uint64_t child_started_at(pid_t pid)
{
	char path[64], text[1024], *p;
	OWN(own_fd) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name may hold anything */
	if (p == NULL)
		return 0;
	for (int field = 2; field < 22 && p != NULL; field++)
		p = strchr(p + 1, ' ');
	return p != NULL ? strtoull(p + 1, NULL, 10) : 0;
}

int child_open(pid_t pid, uint64_t started_at)
{
	OWN(own_fd) int fd = -1;

	if (pid <= 1 || started_at == 0)
		return -1;
	fd = pidfd_open(pid, 0);
	/* Read after opening: the number cannot be used anew in between. */
	if (fd < 0 || child_started_at(pid) != started_at)
		return -1;
	return STEAL_FD(fd);
}

void child_signal(int pidfd, int sig)
{
	if (pidfd >= 0)
		syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

void child_reap(int pidfd, int *status)
{
	siginfo_t si = {0};

	*status = 0;
	if (waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED | WNOHANG) < 0)
		return;
	if (si.si_pid != 0)
		*status = si.si_code == CLD_EXITED ? si.si_status << 8
						   : si.si_status;
}

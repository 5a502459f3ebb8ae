#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/keeper_seat.h"
#include "sandbox/keeper_template.h"
#include "sandbox/maker_order.h"

#define FORKS_MAX 32

enum { FD_ORDERS = SEAT_FD, FD_PROGRAM };

/* A child of our own parent, the broker. 0 in it; -1 with errno. */
static pid_t fork_beside(int *pidfd)
{
	int fd = -1;
	const struct clone_args a = {
	    .flags = CLONE_PIDFD | CLONE_PARENT,
	    .pidfd = (__u64)(uintptr_t)&fd,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));

	*pidfd = fd;
	return pid;
}

static void become_waiting(char **argv, int socket_fd)
{
	if (dup2(socket_fd, SEAT_FD) < 0 ||
	    close_range(SEAT_FD + 1, ~0U, 0) < 0)
		_exit(126);
	memcpy(argv[1], SEAT_WAITING, sizeof(SEAT_WAITING));
}

/* True in the copy. */
static bool make(char **argv, struct maker_parcel *p)
{
	OWN(own_fd) int its = -1;
	OWN(own_fd) int ours = -1;
	int fds[2], pidfd;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0) {
		p->order.err = ERR_IO;
		return false;
	}
	ours = fds[0];
	its = fds[1];
	p->order.pid = fork_beside(&pidfd);
	if (p->order.pid == 0) {
		become_waiting(argv, STEAL_FD(its));
		STEAL_FD(ours);
		return true;
	}
	p->order.err = p->order.pid < 0 ? ERR_IO : ERR_NONE;
	if (p->order.pid > 0)
		p->fds = (struct parcel_fds){{pidfd, STEAL_FD(ours)}, 2};
	return false;
}

void keeper_template(char **argv)
{
	char *const env[] = {NULL};
	struct maker_parcel p;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, 0, MAKER_NICE);
	for (int i = 0; i < FORKS_MAX; i++) {
		if (!maker_parcel_receive(FD_ORDERS, &p, 0))
			_exit(0);
		parcel_close(&p.fds);
		if (p.order.kind != MAKER_KEEPER)
			p.order.err = ERR_ARG;
		else if (make(argv, &p))
			return;
		if (!maker_parcel_send(FD_ORDERS, &p, 0))
			_exit(0);
		parcel_close(&p.fds);
	}
	syscall(SYS_execveat, FD_PROGRAM, "", argv, env, AT_EMPTY_PATH);
	_exit(127);
}

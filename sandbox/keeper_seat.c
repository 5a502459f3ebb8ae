#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/keeper_seat.h"

#define FD_HIGH 64

noreturn static void waiting_main(int program, const char *empty, int socket_fd)
{
	char name[] = "warren-keeper", id[] = SEAT_WAITING, dir[256];
	char *const argv[] = {name, id, dir, NULL};
	char *const env[] = {NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int socket_up = fcntl(socket_fd, F_DUPFD_CLOEXEC, FD_HIGH);
	int program_up = fcntl(program, F_DUPFD_CLOEXEC, FD_HIGH);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (strlen(empty) >= sizeof(dir))
		_exit(126);
	memcpy(dir, empty, strlen(empty) + 1);
	if (null < 0 || socket_up < 0 || program_up < 0 || dup2(null, 0) < 0 ||
	    dup2(socket_up, SEAT_FD) < 0 ||
	    close_range(SEAT_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		_exit(126);
	syscall(SYS_execveat, program_up, "", argv, env, AT_EMPTY_PATH);
	_exit(127);
}

bool keeper_seat_start(int program, const char *empty,
		       struct keeper_waiting *out)
{
	int fds[2], pidfd = -1;
	struct clone_args a = {
	    .flags = CLONE_PIDFD | CLONE_PARENT | CLONE_CLEAR_SIGHAND,
	    .pidfd = (__u64)(uintptr_t)&pidfd,
	};
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return false;
	pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
	if (pid == 0)
		waiting_main(program, empty, fds[1]);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return false;
	}
	*out = (struct keeper_waiting){
	    .pid = pid, .pidfd = pidfd, .socket = fds[0]};
	return true;
}

void keeper_seat_end(struct keeper_waiting *w)
{
	siginfo_t si;

	own_fd(&w->socket);
	child_signal(w->pidfd, SIGKILL);
	waitid(P_PIDFD, (id_t)w->pidfd, &si, WEXITED);
	own_fd(&w->pidfd);
}

void keeper_seat_add(struct keeper_pool *pool, struct keeper_waiting *w)
{
	if (pool->nready < SEATS_READY)
		pool->ready[pool->nready++] = *w;
	else
		keeper_seat_end(w);
}

bool keeper_seat_give(struct keeper_pool *pool, const struct keeper_seat *seat,
		      const struct parcel_fds *fds, pid_t *pid, int *pidfd)
{
	while (pool->nready > 0) {
		struct keeper_waiting w = pool->ready[--pool->nready];

		if (parcel_send(w.socket, seat, sizeof(*seat), fds,
				MSG_DONTWAIT)) {
			own_fd(&w.socket);
			*pid = w.pid;
			*pidfd = w.pidfd;
			return true;
		}
		keeper_seat_end(&w); /* it has died while it waited */
	}
	return false;
}

bool keeper_seat_wait(struct keeper_seat *seat, int first)
{
	struct parcel_fds fds;

	if (!parcel_receive(SEAT_FD, seat, sizeof(*seat), &fds, 0))
		return false;
	for (int i = 0; i < fds.n; i++) {
		int up = fcntl(fds.at[i], F_DUPFD_CLOEXEC, FD_HIGH);

		close(fds.at[i]);
		fds.at[i] = up;
	}
	for (int i = 0; i < fds.n; i++)
		if (fds.at[i] < 0 || dup2(fds.at[i], first + i) < 0)
			return false;
	parcel_close(&fds);
	return true;
}

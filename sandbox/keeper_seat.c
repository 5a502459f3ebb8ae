#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/inject.h"
#include "sandbox/keeper_seat.h"

#define FD_HIGH 64

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

		if (!inject_at(INJECT_KEEPER_SEAT) &&
		    parcel_send(w.socket, seat, sizeof(*seat), fds,
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

/* They came where they belong, as nothing else was open there; or are put
 * there. */
static bool place(struct parcel_fds *fds, int first)
{
	bool there = true;

	for (int i = 0; i < fds->n; i++)
		there = there && fds->at[i] == first + i;
	if (there)
		return true;
	for (int i = 0; i < fds->n; i++) {
		int up = fcntl(fds->at[i], F_DUPFD_CLOEXEC, FD_HIGH);

		close(fds->at[i]);
		fds->at[i] = up;
	}
	for (int i = 0; i < fds->n; i++)
		if (fds->at[i] < 0 ||
		    dup3(fds->at[i], first + i, O_CLOEXEC) < 0)
			return false;
	parcel_close(fds);
	return true;
}

bool keeper_seat_wait(struct keeper_seat *seat, int first)
{
	OWN(own_fd) int socket_fd = fcntl(SEAT_FD, F_DUPFD_CLOEXEC, FD_HIGH);
	struct parcel_fds fds;

	if (socket_fd < 0 || close(SEAT_FD) < 0 ||
	    !parcel_receive(socket_fd, seat, sizeof(*seat), &fds, 0))
		return false;
	/* Not as what it was forked from any more. */
	setpriority(PRIO_PROCESS, 0, 0);
	return place(&fds, first);
}

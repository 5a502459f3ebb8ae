#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/fork_msg.h"
#include "base/own.h"

static enum err fork_connect(const char *run_dir, int *fd, struct errinfo *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	OWN(own_fd) int s = -1;
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/fork.sock",
			 run_dir);

	if (n < 0 || (size_t)n >= sizeof(a.sun_path))
		return err_set(e, ERR_ARG, 0, "run directory too long");
	s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s < 0)
		return err_set(e, ERR_IO, errno, "socket");
	if (connect(s, (struct sockaddr *)&a, sizeof(a)) < 0)
		return err_set(e, ERR_NOT_FOUND, errno, "broker");
	*fd = STEAL_FD(s);
	return ERR_NONE;
}

static enum err fork_send(int fd, const struct fork_req *req,
			  const int fds[FORK_FDS], struct errinfo *e)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(FORK_FDS * sizeof(int))];
	} control = {0};
	struct fork_req copy = *req;
	struct iovec v = {.iov_base = &copy, .iov_len = sizeof(copy)};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(FORK_FDS * sizeof(int));
	memcpy(CMSG_DATA(c), fds, FORK_FDS * sizeof(int));
	if (sendmsg(fd, &m, MSG_NOSIGNAL) != sizeof(copy))
		return err_set(e, ERR_IO, errno, "ask the broker");
	return ERR_NONE;
}

/* Room for one descriptor beside a reply. */
union fork_control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

void fork_reply_send(int fd, const struct fork_reply *r, int listener)
{
	union fork_control control = {
	    .head = {.cmsg_level = SOL_SOCKET,
		     .cmsg_type = SCM_RIGHTS,
		     .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct fork_reply copy = *r;
	struct iovec v = {.iov_base = &copy, .iov_len = sizeof(copy)};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	if (listener >= 0) {
		memcpy(CMSG_DATA(&control.head), &listener, sizeof(listener));
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
	}
	sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool reply_receive(int fd, struct fork_reply *r, int *listener)
{
	union fork_control control;
	struct iovec v = {.iov_base = r, .iov_len = sizeof(*r)};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);

	if (c != NULL && c->cmsg_level == SOL_SOCKET &&
	    c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(listener, CMSG_DATA(c), sizeof(int));
	return n == sizeof(*r) && r->magic == FORK_MAGIC && r->err <= ERR_GONE;
}

enum err fork_call(const char *run_dir, struct fork_req *req,
		   const int fds[FORK_FDS], int64_t deadline_ms,
		   struct fork_done *out, struct errinfo *e)
{
	OWN(own_fd) int fd = -1;
	OWN(own_fd) int listener = -1;
	struct fork_reply reply;
	struct pollfd p;
	enum err r = fork_connect(run_dir, &fd, e);
	int n;

	req->magic = FORK_MAGIC;
	if (r == ERR_NONE)
		r = fork_send(fd, req, fds, e);
	if (r != ERR_NONE)
		return r;
	p = (struct pollfd){.fd = fd, .events = POLLIN};
	while ((n = poll(&p, 1, clock_left_ms(deadline_ms))) <= 0) {
		if (n == 0)
			return err_set(e, ERR_TIMEOUT, 0, "broker");
		if (errno != EINTR)
			return err_set(e, ERR_IO, errno, "poll");
	}
	if (!reply_receive(fd, &reply, &listener))
		return err_set(e, ERR_PEER, 0, "broker's answer");
	if (reply.err != ERR_NONE)
		return err_set(e, (enum err)reply.err, 0,
			       "not forked (step %u)", reply.step);
	*out = (struct fork_done){reply.pid, STEAL_FD(listener)};
	return ERR_NONE;
}

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/broker_msg.h"
#include "base/clock.h"
#include "base/own.h"

static enum err broker_connect(const char *run_dir, int *fd, struct errinfo *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	OWN(own_fd) int s = -1;
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/broker.sock",
			 run_dir);

	if (n < 0 || (size_t)n >= sizeof(a.sun_path))
		return err_set(e, ERR_ARG, 0, "run directory too long");
	s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s < 0)
		return err_set(e, ERR_IO, errno, "socket");
	if (connect(s, (struct sockaddr *)&a, sizeof(a)) < 0) {
		if (errno == ENOENT || errno == ECONNREFUSED)
			return err_set(e, ERR_NOT_FOUND, errno, "broker");
		return err_set(e, ERR_IO, errno, "broker");
	}
	*fd = STEAL_FD(s);
	return ERR_NONE;
}

enum err broker_call(const char *run_dir, struct broker_req *req,
		     int64_t deadline_ms, struct errinfo *e)
{
	static atomic_ullong cookies;
	OWN(own_fd) int fd = -1;
	struct broker_reply reply;
	struct pollfd p;
	ssize_t n;
	enum err r = broker_connect(run_dir, &fd, e);

	if (r != ERR_NONE)
		return r;
	req->magic = BROKER_MAGIC;
	req->cookie = atomic_fetch_add(&cookies, 1) + 1;
	if (send(fd, req, sizeof(*req), MSG_NOSIGNAL) != sizeof(*req))
		return err_set(e, ERR_IO, errno, "ask the broker");
	p = (struct pollfd){.fd = fd, .events = POLLIN};
	while ((n = poll(&p, 1, clock_left_ms(deadline_ms))) <= 0) {
		if (n == 0)
			return err_set(e, ERR_TIMEOUT, 0, "broker");
		if (errno != EINTR)
			return err_set(e, ERR_IO, errno, "poll");
	}
	n = recv(fd, &reply, sizeof(reply), 0);
	if (n != sizeof(reply) || reply.magic != BROKER_MAGIC ||
	    reply.cookie != req->cookie || reply.err > ERR_GONE)
		return err_set(e, ERR_PEER, 0, "broker's answer");
	if (reply.err != ERR_NONE)
		return err_set(e, (enum err)reply.err, 0,
			       "broker refused at step %u", reply.step);
	return ERR_NONE;
}

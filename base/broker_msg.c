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

/* Send ${req}, receive exactly ${size} bytes that begin with a reply. */
static enum err exchange(const char *run_dir, struct broker_req *req,
			 void *answer, size_t size, int64_t deadline_ms,
			 struct errinfo *e)
{
	static atomic_ullong cookies;
	OWN(own_fd) int fd = -1;
	size_t len = req->ndeny + req->nallow > 0 ? sizeof(*req)
						  : BROKER_REQ_SHORT;
	struct broker_reply reply;
	struct pollfd p;
	ssize_t n;
	enum err r = broker_connect(run_dir, &fd, e);

	if (r != ERR_NONE)
		return r;
	req->magic = BROKER_MAGIC;
	req->cookie = atomic_fetch_add(&cookies, 1) + 1;
	if (send(fd, req, len, MSG_NOSIGNAL) != (ssize_t)len)
		return err_set(e, ERR_IO, errno, "ask the broker");
	p = (struct pollfd){.fd = fd, .events = POLLIN};
	while ((n = poll(&p, 1, clock_left_ms(deadline_ms))) <= 0) {
		if (n == 0)
			return err_set(e, ERR_TIMEOUT, 0, "broker");
		if (errno != EINTR)
			return err_set(e, ERR_IO, errno, "poll");
	}
	n = recv(fd, answer, size, MSG_TRUNC);
	if (n < (ssize_t)sizeof(reply))
		return err_set(e, ERR_PEER, 0, "broker's answer");
	memcpy(&reply, answer, sizeof(reply));
	if (reply.magic != BROKER_MAGIC || reply.cookie != req->cookie ||
	    reply.err > ERR_GONE ||
	    (reply.err == ERR_NONE && n != (ssize_t)size))
		return err_set(e, ERR_PEER, 0, "broker's answer");
	if (reply.err == ERR_NONE)
		return ERR_NONE;
	if (reply.step == BROKER_STEP_NETWORK)
		return err_set(e, (enum err)reply.err, 0, BROKER_NO_INTERNET);
	return err_set(e, (enum err)reply.err, 0, "broker refused at step %u",
		       reply.step);
}

enum err broker_call(const char *run_dir, struct broker_req *req,
		     int64_t deadline_ms, struct errinfo *e)
{
	struct broker_reply reply;

	return exchange(run_dir, req, &reply, sizeof(reply), deadline_ms, e);
}

enum err broker_denials(const char *run_dir, const char *id,
			struct broker_denials *out, int64_t deadline_ms,
			struct errinfo *e)
{
	struct broker_req req = {.type = BROKER_DENIALS};
	struct broker_denials got;
	enum err r;

	snprintf(req.id, sizeof(req.id), "%s", id);
	r = exchange(run_dir, &req, &got, sizeof(got), deadline_ms, e);
	if (r == ERR_NONE)
		*out = got;
	return r;
}

const char *broker_denial_word(enum broker_denial d)
{
	static const char *const words[] = {
#define DENIAL(name, word, text) word,
#include "base/broker_denial.def"
#undef DENIAL
	};

	must((unsigned)d < BROKER_DENIAL_COUNT);
	return words[d];
}

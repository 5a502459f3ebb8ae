/* The writing half of wire.h, and the blocking calls. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/wire.h"

void wire_tx_init(struct wire_tx *tx, size_t max_bytes)
{
	*tx = (struct wire_tx){.out = BUF_INIT(max_bytes)};
}

void wire_tx_free(struct wire_tx *tx)
{
	for (int i = 0; i < tx->nmarks; i++)
		for (int j = 0; j < tx->marks[i].nfds; j++)
			own_fd(&tx->marks[i].fds[j]);
	tx->nmarks = 0;
	tx->at = 0;
	buf_free(&tx->out);
}

/* Forget what went out. */
static void wire_tx_compact(struct wire_tx *tx)
{
	buf_drop(&tx->out, tx->at);
	for (int i = 0; i < tx->nmarks; i++)
		tx->marks[i].at -= tx->at;
	tx->at = 0;
	if (tx->out.len == 0 && tx->out.cap > WIRE_KEEP_BYTES)
		buf_free(&tx->out);
}

static void wire_head(struct buf *b, uint16_t type, uint32_t tag, size_t len,
		      int nfds)
{
	wire_u32(b, (uint32_t)len);
	wire_u16(b, type);
	wire_u16(b, (uint16_t)nfds);
	wire_u32(b, tag);
	wire_u32(b, 0);
}

enum err wire_tx_put(struct wire_tx *tx, uint16_t type, uint32_t tag,
		     const struct buf *payload, struct errinfo *e)
{
	return wire_tx_put_fds(tx, type, tag, payload, NULL, 0, e);
}

enum err wire_tx_put_fds(struct wire_tx *tx, uint16_t type, uint32_t tag,
			 const struct buf *payload, const int *fds, int nfds,
			 struct errinfo *e)
{
	size_t len = payload != NULL ? payload->len : 0;

	must(nfds <= WIRE_FDS_MAX);
	if (payload != NULL && payload->failed)
		return err_set(e, ERR_ARG, 0, "payload too large");
	if (nfds > 0 && tx->nmarks == WIRE_FDS_QUEUE)
		return err_set(e, ERR_LIMIT, 0, "too many descriptors wait");
	if (tx->out.max_bytes - tx->out.len < WIRE_HEAD_LEN + len)
		wire_tx_compact(tx);
	if (nfds > 0) {
		struct wire_mark *m = &tx->marks[tx->nmarks++];

		m->at = tx->out.len;
		m->nfds = nfds;
		memcpy(m->fds, fds, sizeof(int) * (size_t)nfds);
	}
	wire_head(&tx->out, type, tag, len, nfds);
	if (len > 0)
		buf_add(&tx->out, payload->data, len);
	if (!buf_ok(&tx->out)) {
		if (nfds > 0)
			tx->nmarks--;
		return err_set(e, ERR_LIMIT, 0, "too much waits to be sent");
	}
	return ERR_NONE;
}

/* One sendmsg of n bytes with descriptors; returns as sendmsg does. */
static ssize_t wire_sendmsg(int fd, const char *p, size_t n, const int *fds,
			    int nfds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX)];
	} control;
	struct iovec v;
	struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
	ssize_t r;

	/* sendmsg does not write through iov_base. */
	memcpy(&v.iov_base, &p, sizeof(p));
	v.iov_len = n;
	if (nfds > 0) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)nfds);
	}
	do {
		r = sendmsg(fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (r < 0 && errno == EINTR);
	return r;
}

enum err wire_tx_flush(struct wire_tx *tx, int fd, struct errinfo *e)
{
	while (tx->at < tx->out.len) {
		struct wire_mark *m = tx->nmarks > 0 ? &tx->marks[0] : NULL;
		bool with = m != NULL && m->at == tx->at;
		size_t end = tx->out.len;
		ssize_t n;

		if (m != NULL && !with)
			end = m->at;
		else if (with && tx->nmarks > 1)
			end = tx->marks[1].at;
		n = wire_sendmsg(fd, tx->out.data + tx->at, end - tx->at,
				 with ? m->fds : NULL, with ? m->nfds : 0);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0)
			return err_set(e, ERR_PEER, errno, "sendmsg");
		if (with) {
			for (int i = 0; i < m->nfds; i++)
				own_fd(&m->fds[i]);
			tx->nmarks--;
			memmove(tx->marks, tx->marks + 1,
				sizeof(*m) * (size_t)tx->nmarks);
		}
		tx->at += (size_t)n;
	}
	/* Moving is rare, so that a long queue costs its length once. */
	if (tx->at > tx->out.len / 2)
		wire_tx_compact(tx);
	return ERR_NONE;
}

enum err wire_send(int fd, uint16_t type, uint32_t tag,
		   const struct buf *payload, int64_t deadline_ms,
		   struct errinfo *e)
{
	return wire_send_fds(fd, type, tag, payload, (struct wire_fds){0},
			     deadline_ms, e);
}

enum err wire_send_fds(int fd, uint16_t type, uint32_t tag,
		       const struct buf *payload, struct wire_fds fds,
		       int64_t deadline_ms, struct errinfo *e)
{
	size_t len = payload != NULL ? payload->len : 0, sent = 0;
	OWN(buf_free) struct buf b = BUF_INIT(WIRE_HEAD_LEN + len);

	must(fds.n <= WIRE_FDS_MAX);
	if (payload != NULL && payload->failed)
		return err_set(e, ERR_ARG, 0, "payload too large");
	wire_head(&b, type, tag, len, fds.n);
	if (len > 0)
		buf_add(&b, payload->data, len);
	if (!buf_ok(&b))
		return err_set(e, ERR_NOMEM, 0, "frame");
	while (sent < b.len) {
		bool first = sent == 0;
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		ssize_t n = wire_sendmsg(fd, b.data + sent, b.len - sent,
					 first ? fds.at : NULL,
					 first ? fds.n : 0);

		if (n >= 0) {
			sent += (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return err_set(e, ERR_PEER, errno, "sendmsg");
		if (poll(&p, 1, clock_left_ms(deadline_ms)) == 0)
			return err_set(e, ERR_TIMEOUT, 0, "send");
	}
	return ERR_NONE;
}

enum err wire_recv(struct wire_rx *rx, int fd, int watch_fd,
		   int64_t deadline_ms, struct wire_msg **msg,
		   struct errinfo *e)
{
	for (;;) {
		struct pollfd p[2] = {
		    {.fd = fd, .events = POLLIN},
		    {.fd = watch_fd, .events = POLLRDHUP},
		};
		bool more;
		enum err r = wire_rx_next(rx, msg, e);
		int n;

		if (r != ERR_NONE || *msg != NULL)
			return r;
		r = wire_rx_fill(rx, fd, &more, e);
		if (r != ERR_NONE)
			return r;
		if (more)
			continue;
		n = poll(p, 2, clock_left_ms(deadline_ms));
		if (n == 0)
			return err_set(e, ERR_TIMEOUT, 0, "receive");
		if (n > 0 && p[0].revents == 0 && p[1].revents != 0)
			return err_set(e, ERR_GONE, 0, "client went away");
	}
}

enum err wire_connect(const char *path, int *fd, struct errinfo *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct timeval wait = {.tv_sec = 1};
	OWN(own_fd) int s = -1;
	int n;

	if (strlen(path) >= sizeof(a.sun_path))
		return err_set(e, ERR_ARG, 0, "socket path too long");
	memcpy(a.sun_path, path, strlen(path) + 1);
	/*
	 * Nonblocking only later: a full queue would refuse at once, and a
	 * burst of calls to one keeper is no failure.
	 */
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return err_set(e, ERR_IO, errno, "socket");
	if (setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0)
		return err_set(e, ERR_IO, errno, "setsockopt");
	do {
		n = connect(s, (struct sockaddr *)&a, sizeof(a));
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		if (errno == ENOENT || errno == ECONNREFUSED)
			return err_set(e, ERR_NOT_FOUND, errno, "connect");
		if (errno == EAGAIN)
			return err_set(e, ERR_TIMEOUT, errno, "connect");
		return err_set(e, ERR_IO, errno, "connect");
	}
	if (fcntl(s, F_SETFL, O_NONBLOCK) < 0)
		return err_set(e, ERR_IO, errno, "fcntl");
	*fd = STEAL_FD(s);
	return ERR_NONE;
}

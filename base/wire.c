#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "base/wire.h"

#define FILL_FIRST 4095U        /* with the 0 behind it a round number */
#define FILL_BYTES (66U * 1024) /* what a pipe holds, and its heads */

/* ---- payloads ---- */

void wire_u8(struct buf *b, uint8_t v)
{
	buf_add(b, &v, 1);
}

void wire_u16(struct buf *b, uint16_t v)
{
	uint16_t le = htole16(v);

	buf_add(b, &le, sizeof(le));
}

void wire_u32(struct buf *b, uint32_t v)
{
	uint32_t le = htole32(v);

	buf_add(b, &le, sizeof(le));
}

void wire_u64(struct buf *b, uint64_t v)
{
	uint64_t le = htole64(v);

	buf_add(b, &le, sizeof(le));
}

void wire_i32(struct buf *b, int32_t v)
{
	wire_u32(b, (uint32_t)v);
}

void wire_i64(struct buf *b, int64_t v)
{
	wire_u64(b, (uint64_t)v);
}

void wire_bytes(struct buf *b, const void *p, size_t n)
{
	if (n > UINT32_MAX) {
		b->failed = true;
		return;
	}
	wire_u32(b, (uint32_t)n);
	buf_add(b, p, n);
	wire_u8(b, 0);
}

void wire_str(struct buf *b, const char *s)
{
	wire_bytes(b, s, strlen(s));
}

struct wire_in wire_in(const struct wire_msg *msg)
{
	return (struct wire_in){.p = msg->data, .end = msg->data + msg->len};
}

static const uint8_t *wire_take(struct wire_in *in, size_t n)
{
	const uint8_t *p = in->p;

	if (in->bad || (size_t)(in->end - in->p) < n) {
		in->bad = true;
		return NULL;
	}
	in->p += n;
	return p;
}

uint8_t wire_in_u8(struct wire_in *in)
{
	const uint8_t *p = wire_take(in, 1);

	return p != NULL ? *p : 0;
}

uint16_t wire_in_u16(struct wire_in *in)
{
	const uint8_t *p = wire_take(in, 2);
	uint16_t le = 0;

	if (p != NULL)
		memcpy(&le, p, sizeof(le));
	return le16toh(le);
}

uint32_t wire_in_u32(struct wire_in *in)
{
	const uint8_t *p = wire_take(in, 4);
	uint32_t le = 0;

	if (p != NULL)
		memcpy(&le, p, sizeof(le));
	return le32toh(le);
}

uint64_t wire_in_u64(struct wire_in *in)
{
	const uint8_t *p = wire_take(in, 8);
	uint64_t le = 0;

	if (p != NULL)
		memcpy(&le, p, sizeof(le));
	return le64toh(le);
}

int32_t wire_in_i32(struct wire_in *in)
{
	return (int32_t)wire_in_u32(in);
}

int64_t wire_in_i64(struct wire_in *in)
{
	return (int64_t)wire_in_u64(in);
}

const char *wire_in_bytes(struct wire_in *in, size_t *n)
{
	uint32_t len = wire_in_u32(in);
	const uint8_t *p = wire_take(in, (size_t)len + 1);

	*n = 0;
	if (p == NULL)
		return "";
	if (p[len] != 0) {
		in->bad = true;
		return "";
	}
	*n = len;
	return (const char *)p;
}

const char *wire_in_str(struct wire_in *in)
{
	size_t n;
	const char *s = wire_in_bytes(in, &n);

	if (strlen(s) != n)
		in->bad = true;
	return in->bad ? "" : s;
}

bool wire_in_done(const struct wire_in *in)
{
	return !in->bad && in->p == in->end;
}

/* ---- reading ---- */

void wire_rx_init(struct wire_rx *rx, size_t payload_max)
{
	*rx = (struct wire_rx){
	    .in = BUF_INIT(payload_max + WIRE_HEAD_LEN + FILL_BYTES),
	    .payload_max = payload_max,
	    .room = FILL_FIRST,
	};
	for (int i = 0; i < WIRE_FDS_MAX; i++)
		rx->msg.fds[i] = -1;
}

static void wire_close_all(int *fds, int n)
{
	for (int i = 0; i < n; i++)
		own_fd(&fds[i]);
}

void wire_rx_free(struct wire_rx *rx)
{
	wire_close_all(rx->msg.fds, rx->msg.nfds);
	wire_close_all(rx->fds, rx->nfds);
	rx->msg.nfds = rx->nfds = 0;
	buf_free(&rx->in);
	rx->at = 0;
}

/* Take the descriptors of one recvmsg; too many for the queue is an error. */
static bool wire_rx_rights(struct wire_rx *rx, struct msghdr *h)
{
	bool ok = (h->msg_flags & MSG_CTRUNC) == 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (rx->nfds == WIRE_FDS_QUEUE) {
				own_fd(&fd);
				ok = false;
			} else {
				rx->fds[rx->nfds++] = fd;
			}
		}
	}
	return ok;
}

/* The frame given out last ends here: close what nobody took of it. */
static void wire_rx_release(struct wire_rx *rx)
{
	wire_close_all(rx->msg.fds, rx->msg.nfds);
	rx->msg.nfds = 0;
}

enum err wire_rx_fill(struct wire_rx *rx, int fd, bool *more, struct errinfo *e)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * WIRE_FDS_QUEUE)];
	} control;
	struct iovec v;
	struct msghdr h = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t n;
	size_t room = rx->room;

	*more = false;
	wire_rx_release(rx);
	/* Moved once for each read, not once for each of its many frames. */
	buf_drop(&rx->in, rx->at);
	rx->at = 0;
	if (rx->in.len == 0 && rx->in.cap > WIRE_KEEP_BYTES)
		buf_free(&rx->in);
	if (room > rx->in.max_bytes - rx->in.len)
		room = rx->in.max_bytes - rx->in.len;
	v.iov_base = room > 0 ? buf_space(&rx->in, room) : NULL;
	v.iov_len = room;
	if (v.iov_base == NULL)
		return err_set(e, ERR_PEER, 0, "frame too large to hold");
	do {
		n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
		/* Who waits needs none; a large one may be filled again. */
		if (rx->in.cap <= FILL_FIRST + 1)
			wire_rx_rest(rx);
		return ERR_NONE;
	}
	if (n < 0)
		return err_set(e, ERR_PEER, errno, "recvmsg");
	if (!wire_rx_rights(rx, &h))
		return err_set(e, ERR_PEER, 0, "too many descriptors");
	if (n == 0)
		return err_set(e, ERR_PEER, 0, "end of stream");
	/* Most say little, and a large buffer is mapped and unmapped. */
	if ((size_t)n == rx->room)
		rx->room = FILL_BYTES;
	buf_grow(&rx->in, (size_t)n);
	*more = true;
	return ERR_NONE;
}

void wire_rx_rest(struct wire_rx *rx)
{
	if (rx->at == rx->in.len && rx->msg.nfds == 0) {
		buf_free(&rx->in);
		rx->at = 0;
	}
}

enum err wire_rx_next(struct wire_rx *rx, struct wire_msg **msg,
		      struct errinfo *e)
{
	size_t left = rx->in.len - rx->at;
	struct wire_in in;
	uint32_t len, zero;
	uint16_t nfds;

	*msg = NULL;
	wire_rx_release(rx);
	if (left < WIRE_HEAD_LEN)
		return ERR_NONE;
	in.p = (const uint8_t *)rx->in.data + rx->at;
	in.end = in.p + WIRE_HEAD_LEN;
	in.bad = false;
	len = wire_in_u32(&in);
	rx->msg.type = wire_in_u16(&in);
	nfds = wire_in_u16(&in);
	rx->msg.tag = wire_in_u32(&in);
	zero = wire_in_u32(&in);
	if (len > rx->payload_max || nfds > WIRE_FDS_MAX || zero != 0)
		return err_set(e, ERR_PEER, 0, "malformed head");
	if (left < WIRE_HEAD_LEN + (size_t)len)
		return ERR_NONE;
	if (nfds > rx->nfds)
		return err_set(e, ERR_PEER, 0, "descriptors missing");
	memcpy(rx->msg.fds, rx->fds, sizeof(int) * nfds);
	memmove(rx->fds, rx->fds + nfds,
		sizeof(int) * (size_t)(rx->nfds - nfds));
	rx->nfds -= nfds;
	rx->msg.nfds = nfds;
	rx->msg.data = in.p;
	rx->msg.len = len;
	rx->at += WIRE_HEAD_LEN + (size_t)len;
	*msg = &rx->msg;
	return ERR_NONE;
}

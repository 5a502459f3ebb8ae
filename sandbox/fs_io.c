#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_op.h"

#define COPY_BYTES (256U << 10)

/* Our ends may share their open file with a nonblocking one. */
static int wait_for(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	while (poll(&p, 1, -1) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return 0;
}

int fs_send(const void *p, size_t n)
{
	const char *at = p;
	ssize_t r;

	while (n > 0) {
		r = write(STDOUT_FILENO, at, n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && errno == EAGAIN) {
			if (wait_for(STDOUT_FILENO, POLLOUT) < 0)
				return -1;
			continue;
		}
		if (r < 0)
			return -1;
		at += r;
		n -= (size_t)r;
	}
	return 0;
}

int fs_fail_fd(struct fs_op *op, int fd, int sys)
{
	struct statfs s;

	if (sys == EIO && fstatfs(fd, &s) == 0 && s.f_type == PROC_SUPER_MAGIC)
		return fs_fail_as(op, FS_INVALID);
	return fs_fail(op, sys);
}

int fs_send_head(struct fs_op *op)
{
	OWN(buf_free) struct buf b = BUF_INIT(FS_HEAD_LEN);

	op->told = true;
	fs_put_head(&b, &op->head);
	return buf_ok(&b) ? fs_send(b.data, b.len) : -1;
}

/* Up to n bytes of fd 0; 0 at its end. */
static ssize_t take_some(void *p, size_t n)
{
	ssize_t r;

	for (;;) {
		r = read(STDIN_FILENO, p, n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && errno == EAGAIN) {
			if (wait_for(STDIN_FILENO, POLLIN) < 0)
				return -1;
			continue;
		}
		return r;
	}
}

int fs_take_all(void *p, size_t n)
{
	size_t have = 0;
	ssize_t r;

	while (have < n) {
		r = take_some((char *)p + have, n - have);
		if (r <= 0)
			return r == 0 && have == 0 ? 1 : -1;
		have += (size_t)r;
	}
	return 0;
}

static int take_length(struct fs_op *op, uint32_t *len)
{
	uint32_t le = 0;

	if (fs_take_all(&le, sizeof(le)) != 0)
		return fs_fail_as(op, FS_CUT);
	*len = le32toh(le);
	return *len <= FS_CHUNK_MAX ? 0 : fs_fail_as(op, FS_INVALID);
}

/* All n bytes to fd, at *at (moved on) if that is not negative. */
static int put_all(struct fs_op *op, int fd, const char *p, size_t n, off_t *at)
{
	ssize_t r;

	while (n > 0) {
		r = *at < 0 ? write(fd, p, n) : pwrite(fd, p, n, *at);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return fs_fail_fd(op, fd, errno);
		if (r == 0)
			return fs_fail(op, EIO);
		p += r;
		n -= (size_t)r;
		if (*at >= 0)
			*at += r;
	}
	return 0;
}

/*
 * Up to ${n} bytes of fd 0 to ${fd}, without a copy of ours. -1: not between
 * these two; what else is wrong is told by the usual way, too.
 */
static ssize_t splice_some(int fd, size_t n, off_t *at)
{
	ssize_t r;

	do {
		r = splice(STDIN_FILENO, NULL, fd, *at < 0 ? NULL : at, n,
			   SPLICE_F_MOVE);
	} while (r < 0 &&
		 (errno == EINTR ||
		  (errno == EAGAIN && wait_for(STDIN_FILENO, POLLIN) == 0)));
	return r;
}

/* The rest of a chunk, by copying it. */
static int take_copy(struct fs_op *op, int fd, uint32_t left, off_t *at)
{
	OWN(own_mem) char *data = malloc(COPY_BYTES);
	ssize_t r;

	if (data == NULL)
		return fs_fail(op, ENOMEM);
	for (; left > 0; left -= (uint32_t)r) {
		r = take_some(data, left < COPY_BYTES ? left : COPY_BYTES);
		if (r <= 0)
			return fs_fail_as(op, FS_CUT);
		if (put_all(op, fd, data, (size_t)r, at) < 0)
			return -1;
	}
	return 0;
}

static int take_chunk(struct fs_op *op, int fd, uint32_t left, off_t *at)
{
	while (left > 0) {
		ssize_t r = splice_some(fd, left, at);

		if (r == 0)
			return fs_fail_as(op, FS_CUT);
		if (r < 0) /* as for O_APPEND */
			return take_copy(op, fd, left, at);
		left -= (uint32_t)r;
	}
	return 0;
}

int fs_take(struct fs_op *op, int fd, off_t at, uint64_t *n)
{
	uint32_t len = 0;

	*n = 0;
	for (;;) {
		if (take_length(op, &len) < 0)
			return -1;
		if (len == 0)
			return 0;
		if (take_chunk(op, fd, len, &at) < 0)
			return -1;
		*n += len;
	}
}

int fs_pour(struct fs_op *op, int from, int to)
{
	OWN(own_mem) char *data = malloc(COPY_BYTES);
	off_t none = -1;
	ssize_t r;

	if (data == NULL)
		return fs_fail(op, ENOMEM);
	for (;;) {
		r = read(from, data, COPY_BYTES);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return fs_fail_fd(op, from, errno);
		if (r == 0)
			return 0;
		if (put_all(op, to, data, (size_t)r, &none) < 0)
			return -1;
	}
}

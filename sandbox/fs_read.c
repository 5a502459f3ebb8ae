#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_path.h"

#define PIECE_BYTES (256U << 10)
#define UNSIZED_MAX (4U << 20)

struct range {
	uint64_t offset;
	uint64_t length; /* 0: to the end */
	uint64_t max;    /* 0: any */
};

static int range_of(struct fs_op *op, struct range *r)
{
	if (fs_number(op, 1, &r->offset) < 0 ||
	    fs_number(op, 2, &r->length) < 0 || fs_number(op, 3, &r->max) < 0)
		return -1;
	return 0;
}

/* What of a file of that size is asked for. */
static uint64_t wanted(const struct range *r, uint64_t size)
{
	uint64_t n = r->offset < size ? size - r->offset : 0;

	return r->length > 0 && r->length < n ? r->length : n;
}

/* Read and send; for what sendfile(2) does not take. */
static int send_read(int fd, off_t at, uint64_t left)
{
	OWN(own_mem) char *data = malloc(PIECE_BYTES);
	ssize_t n;

	if (data == NULL)
		return -1;
	while (left > 0) {
		n = pread(fd, data, left < PIECE_BYTES ? left : PIECE_BYTES,
			  at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) /* it shrank: the reader must see a short body */
			return -1;
		if (fs_send(data, (size_t)n) < 0)
			return -1;
		at += n;
		left -= (uint64_t)n;
	}
	return 0;
}

static int send_range(int fd, off_t at, uint64_t left)
{
	ssize_t n;

	while (left > 0) {
		n = sendfile(STDOUT_FILENO, fd, &at,
			     left < PIECE_BYTES ? left : PIECE_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 &&
		    (errno == EINVAL || errno == ENOSYS || errno == EAGAIN))
			return send_read(fd, at, left);
		if (n <= 0)
			return -1;
		left -= (uint64_t)n;
	}
	return 0;
}

/*
 * Files of /proc and /sys say size 0 and have content: their size is known
 * after they were read.
 */
static int take_unsized(struct fs_op *op, int fd, char **out)
{
	OWN(own_mem) char *data = malloc(UNSIZED_MAX);
	size_t have = 0;
	ssize_t n;

	if (data == NULL)
		return fs_fail(op, ENOMEM);
	while (have < UNSIZED_MAX) {
		n = read(fd, data + have, UNSIZED_MAX - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fs_fail_fd(op, fd, errno);
		if (n == 0)
			break;
		have += (size_t)n;
	}
	op->head.meta.size = have;
	if (have == UNSIZED_MAX)
		return fs_fail_as(op, FS_TOO_LARGE);
	*out = STEAL(data);
	return 0;
}

static int read_unsized(struct fs_op *op, int fd, const struct range *r)
{
	OWN(own_mem) char *data = NULL;
	uint64_t have;

	if (take_unsized(op, fd, &data) < 0)
		return -1;
	have = op->head.meta.size;
	if (r->max > 0 && have > r->max)
		return fs_fail_as(op, FS_TOO_LARGE);
	op->head.payload = wanted(r, have);
	if (fs_send_head(op) < 0)
		return -1;
	if (op->head.payload == 0)
		return 0;
	return fs_send(data + r->offset, (size_t)op->head.payload);
}

int fs_read_file(struct fs_op *op)
{
	OWN(own_fd) int fd = -1;
	struct range r;
	struct stat st;

	if (range_of(op, &r) < 0)
		return -1;
	fd = fs_path_open(op, AT_FDCWD, op->arg[0], O_RDONLY, &st);
	if (fd < 0)
		return -1;
	fs_head_of(op, AT_FDCWD, op->arg[0], &st);
	if (st.st_size == 0)
		return read_unsized(op, fd, &r);
	if (r.max > 0 && op->head.meta.size > r.max)
		return fs_fail_as(op, FS_TOO_LARGE);
	op->head.payload = wanted(&r, op->head.meta.size);
	if (fs_send_head(op) < 0)
		return -1;
	return send_range(fd, (off_t)r.offset, op->head.payload);
}

/* One request after the other; ${data}: the content, if it was read already. */
static int serve(struct fs_op *op, int fd, const char *data)
{
	uint64_t size = op->head.meta.size;
	uint64_t rq[2]; /* offset, length */
	int end;

	while ((end = fs_take_all(rq, sizeof(rq))) == 0) {
		uint64_t at = le64toh(rq[0]);
		uint64_t n = le64toh(rq[1]);
		int r;

		if (at > size || n > size - at)
			return -1;
		r = data != NULL ? fs_send(data + at, (size_t)n)
				 : send_range(fd, (off_t)at, n);
		if (r < 0)
			return -1;
	}
	return end < 0 ? -1 : 0;
}

int fs_read_serve(struct fs_op *op)
{
	OWN(own_fd) int fd = -1;
	OWN(own_mem) char *data = NULL;
	struct stat st;

	fd = fs_path_open(op, AT_FDCWD, op->arg[0], O_RDONLY, &st);
	if (fd < 0)
		return -1;
	fs_head_of(op, AT_FDCWD, op->arg[0], &st);
	if (st.st_size == 0 && take_unsized(op, fd, &data) < 0)
		return -1;
	op->head.payload = FS_UNTIL_END;
	if (fs_send_head(op) < 0)
		return -1;
	return serve(op, fd, data);
}

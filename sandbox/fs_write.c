/*
 * Writing. A whole file is made beside the old one and takes its name when
 * it is complete, so that a reader sees the old or the new content and a
 * failure leaves the old. In place only where the directory does not let us
 * do that, and for append and patch.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_path.h"
#include "sandbox/fs_temp.h"

#define MODE_KEEP UINT32_MAX
#define MODE_NEW 0644

struct target {
	struct fs_at at;
	struct stat st;
	bool exists;
};

static void target_close(struct target *t)
{
	fs_at_close(&t->at);
}

static int mode_arg(struct fs_op *op, int i, uint32_t *mode)
{
	const char *s = op->arg[i];
	char *end;
	unsigned long v;

	*mode = MODE_KEEP;
	if (s[0] == '-' && s[1] == '\0')
		return 0;
	v = strtoul(s, &end, 8);
	if (s[0] < '0' || s[0] > '7' || *end != '\0' || v > 07777)
		return fs_fail_as(op, FS_INVALID);
	*mode = (uint32_t)v;
	return 0;
}

/* Find what the path means and refuse what cannot be written. */
static int target_find(struct fs_op *op, const char *path, struct target *t)
{
	if (fs_path_target(op, path, true, &t->at) < 0)
		return -1;
	if (t->at.dots)
		return fs_fail_as(op, FS_IS_DIR);
	t->exists = fstatat(t->at.dir, t->at.name, &t->st,
			    AT_SYMLINK_NOFOLLOW) == 0;
	if (!t->exists && errno != ENOENT)
		return fs_fail(op, errno);
	if (!t->exists)
		return t->at.must_be_dir ? fs_fail_as(op, FS_IS_DIR) : 0;
	if (S_ISDIR(t->st.st_mode))
		return fs_fail_as(op, FS_IS_DIR);
	if (t->at.must_be_dir)
		return fs_fail_as(op, FS_NOT_DIR);
	if (!S_ISREG(t->st.st_mode))
		return fs_fail_as(op, FS_NOT_REGULAR);
	/* Replacing asks the directory; the file's own bits count as well. */
	if (faccessat(t->at.dir, t->at.name, W_OK, AT_EACCESS) < 0)
		return fs_fail(op, errno);
	return 0;
}

static int target_open(struct fs_op *op, const struct target *t, int flags)
{
	struct stat st;
	int fd;

	if (t->exists)
		return fs_path_open(op, t->at.dir, t->at.name,
				    flags | O_NOFOLLOW, &st);
	fd = openat(t->at.dir, t->at.name,
		    flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK |
			O_CLOEXEC,
		    MODE_NEW);
	return fd < 0 ? fs_fail(op, errno) : fd;
}

/* Owner and mode of the old file; owner first, it clears setuid bits. */
static int dress(struct fs_op *op, int fd, const struct target *t,
		 uint32_t mode)
{
	struct stat now;

	if (t->exists && fstat(fd, &now) == 0 &&
	    (now.st_uid != t->st.st_uid || now.st_gid != t->st.st_gid) &&
	    fchown(fd, t->st.st_uid, t->st.st_gid) < 0)
		errno = 0; /* not ours to give away: it becomes ours */
	if (mode == MODE_KEEP)
		mode = t->exists ? t->st.st_mode & 07777 : MODE_NEW;
	return fchmod(fd, (mode_t)mode) < 0 ? fs_fail(op, errno) : 0;
}

/* The new content, whole, over a file whose name must stay where it is. */
static int pour_over(struct fs_op *op, const struct target *t, int from)
{
	OWN(own_fd) int to = target_open(op, t, O_WRONLY);

	if (to < 0)
		return -1;
	if (lseek(from, 0, SEEK_SET) < 0 || ftruncate(to, 0) < 0)
		return fs_fail(op, errno);
	return fs_pour(op, from, to);
}

static int write_in_place(struct fs_op *op, const struct target *t, uint64_t *n)
{
	OWN(own_fd) int fd = target_open(op, t, O_WRONLY);

	if (fd < 0)
		return -1;
	if (fs_take(op, fd, 0, n) < 0)
		return -1;
	return ftruncate(fd, (off_t)*n) < 0 ? fs_fail(op, errno) : 0;
}

static int write_replace(struct fs_op *op, const struct target *t,
			 uint32_t mode, bool sync, uint64_t *n)
{
	OWN(fs_temp_close) struct fs_temp temp = {.fd = -1};

	if (fs_temp_open(t->at.dir, &temp) < 0) {
		if (t->exists && (errno == EACCES || errno == EPERM))
			return write_in_place(op, t, n);
		return fs_fail(op, errno);
	}
	if (fs_take(op, temp.fd, -1, n) < 0 || dress(op, temp.fd, t, mode) < 0)
		return -1;
	if (sync && fdatasync(temp.fd) < 0)
		return fs_fail(op, errno);
	if (fs_temp_commit(&temp, t->at.name) == 0)
		return 0;
	if (t->exists && (errno == EBUSY || errno == EACCES || errno == EPERM))
		return pour_over(op, t, temp.fd); /* a mount point, a sticky
						     directory */
	return fs_fail(op, errno);
}

int fs_write_file(struct fs_op *op)
{
	OWN(target_close) struct target t = {.at = {.dir = -1}};
	uint32_t mode;
	uint64_t n = 0;
	bool sync;

	if (mode_arg(op, 1, &mode) < 0 || fs_flag(op, 2, &sync) < 0 ||
	    target_find(op, op->arg[0], &t) < 0 ||
	    write_replace(op, &t, mode, sync, &n) < 0)
		return -1;
	op->head.meta.type = FS_TYPE_FILE;
	op->head.meta.size = n;
	return 0;
}

/* A failed append must not leave a part of it. */
static int append_to(struct fs_op *op, int fd, uint64_t *size)
{
	struct stat st;
	uint64_t n;

	if (fstat(fd, &st) < 0)
		return fs_fail(op, errno);
	if (fs_take(op, fd, -1, &n) < 0) {
		if (ftruncate(fd, st.st_size) < 0)
			return fs_fail(op, errno);
		return -1;
	}
	*size = (uint64_t)st.st_size + n;
	return 0;
}

int fs_write_append(struct fs_op *op)
{
	OWN(target_close) struct target t = {.at = {.dir = -1}};
	OWN(own_fd) int fd = -1;

	if (target_find(op, op->arg[0], &t) < 0)
		return -1;
	fd = target_open(op, &t, O_WRONLY | O_APPEND);
	if (fd < 0 || append_to(op, fd, &op->head.meta.size) < 0)
		return -1;
	op->head.meta.type = FS_TYPE_FILE;
	return 0;
}

int fs_write_patch(struct fs_op *op)
{
	OWN(target_close) struct target t = {.at = {.dir = -1}};
	OWN(own_fd) int fd = -1;
	struct stat st;
	uint64_t offset;
	uint64_t n;

	if (fs_number(op, 1, &offset) < 0 ||
	    target_find(op, op->arg[0], &t) < 0)
		return -1;
	fd = target_open(op, &t, O_WRONLY);
	if (fd < 0 || fs_take(op, fd, (off_t)offset, &n) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return fs_fail(op, errno);
	op->head.meta.type = FS_TYPE_FILE;
	op->head.meta.size = (uint64_t)st.st_size;
	return 0;
}

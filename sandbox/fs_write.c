/*
 * Writing. A whole file is made beside the old one and takes its name when
 * it is complete, so that a reader sees the old or the new content and a
 * failure leaves the old. In place only where the directory does not let us
 * do that, and for append and patch.
 *
 * What was told to be written survives the machine: the content is on the disk
 * before it gets the name, and the name before that is told. Who asks not to
 * wait has a file that survives no more than one that a program in the sandbox
 * wrote: no process' death loses it, and of a replaced file ext4 keeps the old
 * or the new content (auto_da_alloc; it is why this is not an exchange of
 * names).
 */
#include <errno.h>
#include <fcntl.h>
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

	*mode = MODE_KEEP;
	return s[0] == '-' && s[1] == '\0' ? 0 : fs_mode(op, i, mode);
}

/* What is there now, if it is as argument ${cond} wants it. */
static int target_look(struct fs_op *op, int cond, struct target *t)
{
	t->exists = fstatat(t->at.dir, t->at.name, &t->st,
			    AT_SYMLINK_NOFOLLOW) == 0;
	if (!t->exists && errno != ENOENT)
		return fs_fail(op, errno);
	return fs_if(op, cond, t->exists ? &t->st : NULL);
}

/* Find what the path means and refuse what cannot be written. */
static int target_find(struct fs_op *op, int cond, struct target *t)
{
	if (fs_path_target(op, op->arg[0], true, &t->at) < 0)
		return -1;
	if (t->at.dots)
		return fs_fail_as(op, FS_IS_DIR);
	if (target_look(op, cond, t) < 0)
		return -1;
	op->head.created = !t->exists;
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

/* What is told of the file that is open now. */
static int tell(struct fs_op *op, int fd)
{
	struct stat st;
	bool created = op->head.created;

	if (fstat(fd, &st) < 0)
		return fs_fail(op, errno);
	fs_head_of(op, fd, "", &st);
	op->head.created = created;
	return 0;
}

/* The name, too, is to survive the machine. */
static int sync_dir(struct fs_op *op, int dir)
{
	OWN(own_fd)
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* One that may not be read has the name, but no promise. */
	return fd >= 0 && fsync(fd) < 0 ? fs_fail(op, errno) : 0;
}

/* What was written where it is: told once it is safe. */
static int settle(struct fs_op *op, const struct target *t, int fd, bool sync)
{
	if (sync && fsync(fd) < 0)
		return fs_fail(op, errno);
	if (sync && !t->exists && sync_dir(op, t->at.dir) < 0)
		return -1;
	return tell(op, fd);
}

/* The new content, whole, over a file whose name must stay where it is. */
static int pour_over(struct fs_op *op, const struct target *t, int from,
		     bool sync)
{
	OWN(own_fd) int to = target_open(op, t, O_WRONLY);

	if (to < 0)
		return -1;
	if (lseek(from, 0, SEEK_SET) < 0 || ftruncate(to, 0) < 0)
		return fs_fail(op, errno);
	return fs_pour(op, from, to) < 0 ? -1 : settle(op, t, to, sync);
}

static int write_in_place(struct fs_op *op, const struct target *t, bool sync)
{
	OWN(own_fd) int fd = target_open(op, t, O_WRONLY);
	uint64_t n;

	if (fd < 0)
		return -1;
	if (fs_take(op, fd, 0, &n) < 0)
		return -1;
	if (ftruncate(fd, (off_t)n) < 0)
		return fs_fail(op, errno);
	return settle(op, t, fd, sync);
}

/* Two files at once: neither of the old content nor of the new one. */
static int replace(struct fs_op *op, struct target *t, struct fs_temp *temp,
		   bool sync)
{
	bool fresh = fs_if_new(op, 3);

	if (target_look(op, 3, t) < 0)
		return -1;
	op->head.created = !t->exists;
	if (tell(op, temp->fd) < 0)
		return -1;
	if (t->exists && op->hold == 0)
		op->hold = openat(t->at.dir, t->at.name,
				  O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fs_temp_commit(temp, t->at.name, fresh) == 0)
		return sync ? sync_dir(op, t->at.dir) : 0;
	if (errno == EEXIST && fresh)
		return fs_fail_as(op, FS_MISMATCH);
	if (t->exists && (errno == EBUSY || errno == EACCES || errno == EPERM))
		return pour_over(op, t, temp->fd, sync); /* a mount point, a
							    sticky directory */
	return fs_fail(op, errno);
}

static int write_replace(struct fs_op *op, struct target *t, uint32_t mode,
			 bool sync)
{
	OWN(fs_temp_close) struct fs_temp temp = {.fd = -1};
	uint64_t n;

	if (fs_temp_open(t->at.dir, &temp) < 0) {
		if (t->exists && (errno == EACCES || errno == EPERM))
			return write_in_place(op, t, sync);
		return fs_fail(op, errno);
	}
	if (fs_take(op, temp.fd, -1, &n) < 0 || dress(op, temp.fd, t, mode) < 0)
		return -1;
	if (sync && fsync(temp.fd) < 0)
		return fs_fail(op, errno);
	return replace(op, t, &temp, sync);
}

int fs_write_file(struct fs_op *op)
{
	OWN(target_close) struct target t = {.at = {.dir = -1}};
	uint32_t mode;
	bool sync;

	if (mode_arg(op, 1, &mode) < 0 || fs_flag(op, 2, &sync) < 0 ||
	    target_find(op, 3, &t) < 0)
		return -1;
	return write_replace(op, &t, mode, sync);
}

/* Argument ${i}, if it is there. */
static int sync_arg(struct fs_op *op, int i, bool *sync)
{
	*sync = false;
	return i < op->args ? fs_flag(op, i, sync) : 0;
}

/* A failed append must not leave a part of it. */
static int append_to(struct fs_op *op, const struct target *t, int fd,
		     bool sync)
{
	struct stat st;
	uint64_t n;

	if (fstat(fd, &st) < 0)
		return fs_fail(op, errno);
	if (fs_take(op, fd, -1, &n) == 0)
		return settle(op, t, fd, sync);
	return ftruncate(fd, st.st_size) < 0 ? fs_fail(op, errno) : -1;
}

int fs_write_append(struct fs_op *op)
{
	OWN(target_close) struct target t = {.at = {.dir = -1}};
	OWN(own_fd) int fd = -1;
	bool sync;

	if (sync_arg(op, 2, &sync) < 0 || target_find(op, 1, &t) < 0)
		return -1;
	fd = target_open(op, &t, O_WRONLY | O_APPEND);
	return fd < 0 ? -1 : append_to(op, &t, fd, sync);
}

int fs_write_patch(struct fs_op *op)
{
	OWN(target_close) struct target t = {.at = {.dir = -1}};
	OWN(own_fd) int fd = -1;
	uint64_t offset;
	uint64_t n;
	bool sync;

	if (fs_number(op, 1, &offset) < 0 || sync_arg(op, 3, &sync) < 0 ||
	    target_find(op, 2, &t) < 0)
		return -1;
	fd = target_open(op, &t, O_WRONLY);
	if (fd < 0 || fs_take(op, fd, (off_t)offset, &n) < 0)
		return -1;
	return settle(op, &t, fd, sync);
}

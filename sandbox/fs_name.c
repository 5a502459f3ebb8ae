#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_path.h"
#include "sandbox/fs_tree.h"

/* The text of a link follows the head. */
static int tell_link(struct fs_op *op)
{
	char text[PATH_MAX];
	ssize_t n = readlink(op->arg[0], text, sizeof(text));

	if (n < 0)
		return fs_fail(op, errno);
	op->head.payload = (uint64_t)n;
	return fs_send_head(op) < 0 ? -1 : fs_send(text, (size_t)n);
}

int fs_name_stat(struct fs_op *op)
{
	const char *path = op->arg[0];
	bool itself = false;
	struct stat st;

	if (op->args > 1 && fs_flag(op, 1, &itself) < 0)
		return -1;
	if (fstatat(AT_FDCWD, path, &st, itself ? AT_SYMLINK_NOFOLLOW : 0) < 0)
		return fs_fail(op, errno);
	fs_head_of(op, AT_FDCWD, path, &st);
	return S_ISLNK(st.st_mode) ? tell_link(op) : 0;
}

int fs_name_delete(struct fs_op *op)
{
	OWN(fs_at_close) struct fs_at at = {.dir = -1};
	struct stat st;
	bool recursive;

	if (fs_flag(op, 1, &recursive) < 0 ||
	    fs_path_split(op, op->arg[0], &at) < 0)
		return -1;
	if (fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return op->args > 2 && errno == ENOENT && fs_if(op, 2, NULL) < 0
			   ? -1
			   : fs_fail(op, errno);
	if (fs_if(op, 2, &st) < 0)
		return -1;
	if (at.must_be_dir && !S_ISDIR(st.st_mode))
		return fs_fail_as(op, FS_NOT_DIR);
	if (S_ISDIR(st.st_mode) && !recursive)
		return fs_fail_as(op, FS_IS_DIR);
	if (at.dots)
		return fs_fail_as(op, FS_BUSY);
	if (S_ISDIR(st.st_mode))
		return fs_tree_remove(op, at.dir, at.name);
	return unlinkat(at.dir, at.name, 0) < 0 ? fs_fail(op, errno) : 0;
}

int fs_name_mkdir(struct fs_op *op)
{
	const char *path = op->arg[0];
	bool recursive;
	bool made;

	if (fs_flag(op, 1, &recursive) < 0)
		return -1;
	if (recursive && fs_path_make(op, path, &made) < 0)
		return -1;
	if (!recursive && mkdirat(AT_FDCWD, path, 0777) < 0)
		return fs_fail(op, errno);
	op->head.meta.type = FS_TYPE_DIR;
	return 0;
}

/*
 * chmod(2) has no form for a descriptor that was only opened to stand for a
 * path; /proc has.
 */
static int chmod_at(struct fs_op *op, int dir, const char *name, uint32_t mode)
{
	OWN(own_fd) int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char self[64];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fs_fail(op, errno);
	if (S_ISLNK(st.st_mode))
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return chmod(self, mode) < 0 ? fs_fail(op, errno) : 0;
}

struct chmod_tree {
	struct fs_op *op;
	uint32_t mode;
};

static int chmod_each(void *ctx, int dir, const char *name)
{
	struct chmod_tree *t = ctx;

	return chmod_at(t->op, dir, name, t->mode);
}

int fs_name_chmod(struct fs_op *op)
{
	OWN(fs_at_close) struct fs_at at = {.dir = -1};
	struct chmod_tree t = {.op = op};
	bool recursive;

	if (fs_mode(op, 1, &t.mode) < 0 || fs_flag(op, 2, &recursive) < 0 ||
	    fs_path_target(op, op->arg[0], false, &at) < 0)
		return -1;
	if (recursive)
		return fs_tree_each(op, at.dir, at.name, chmod_each, &t);
	return chmod_at(op, at.dir, at.name, t.mode);
}

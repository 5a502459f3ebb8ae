#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_path.h"
#include "sandbox/fs_tree.h"

int fs_name_stat(struct fs_op *op)
{
	const char *path = op->arg[0];
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, 0) < 0)
		return fs_fail(op, errno);
	fs_meta_of(AT_FDCWD, path, &st, &op->head.meta);
	return 0;
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
		return fs_fail(op, errno);
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

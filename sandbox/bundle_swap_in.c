#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/bundle_swap_in.h"
#include "sandbox/fs_tree.h"

#define OUT "out"
#define IN "in"

int bundle_swap_in_names(struct fs_op *op, int dir, const char *but,
			 struct buf *out)
{
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again >= 0 ? fdopendir(again) : NULL;
	struct dirent *ent;
	int why;

	if (d == NULL) {
		fs_fail(op, errno);
		own_fd(&again);
		return -1;
	}
	while ((errno = 0, ent = readdir(d)) != NULL) {
		const char *n = ent->d_name;

		if (strcmp(n, ".") != 0 && strcmp(n, "..") != 0 &&
		    (but == NULL || strcmp(n, but) != 0))
			buf_add(out, n, strlen(n) + 1);
	}
	why = errno;
	closedir(d);
	if (why != 0 || !buf_ok(out))
		return fs_fail(op, why != 0 ? why : ENOMEM);
	return 0;
}

static int mark(struct fs_op *op, int stage, const char *name)
{
	OWN(own_fd)
	int fd = openat(stage, name,
			O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || fsync(stage) < 0)
		return fs_fail(op, errno);
	return 0;
}

static bool marked(int stage, const char *name)
{
	return faccessat(stage, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int open_dir(int dir, const char *name)
{
	return openat(dir, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* What came to be at its place meanwhile gives way. */
static int move_over(struct fs_op *op, int from, int to, const char *name)
{
	if (renameat(from, name, to, name) == 0)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST && errno != EISDIR &&
	    errno != ENOTDIR)
		return fs_fail(op, errno);
	if (fs_tree_remove(op, to, name) < 0)
		return -1;
	return renameat(from, name, to, name) == 0 ? 0 : fs_fail(op, errno);
}

/* All that is in ${from} but ${but}. */
static int move_all(struct fs_op *op, int from, int to, const char *but)
{
	OWN(buf_free) struct buf names = BUF_INIT(BUNDLE_SWAP_NAMES_MAX);

	if (bundle_swap_in_names(op, from, but, &names) < 0)
		return -1;
	for (size_t i = 0; i < names.len; i += strlen(names.data + i) + 1)
		if (move_over(op, from, to, names.data + i) < 0)
			return -1;
	return 0;
}

static int undo(int target, int stage)
{
	struct fs_op quiet = {0};
	OWN(own_fd) int old = open_dir(stage, "old");

	if (unlinkat(stage, IN, 0) < 0 && errno != ENOENT)
		return -1;
	if (old >= 0 && move_all(&quiet, old, target, NULL) < 0)
		return -1;
	return unlinkat(stage, OUT, 0) == 0 || errno == ENOENT ? 0 : -1;
}

/*
 * The old is out. When the new is in, "out" goes before all else: what of the
 * stage a removal that breaks off leaves is then nothing to be undone.
 */
static int finish(struct fs_op *op, int target, int stage)
{
	OWN(own_fd) int tree = open_dir(stage, "new");

	if (tree < 0 && errno != ENOENT)
		return fs_fail(op, errno);
	if (tree >= 0 && move_all(op, tree, target, NULL) < 0)
		return -1;
	return unlinkat(stage, OUT, 0) == 0 || errno == ENOENT
		   ? 0
		   : fs_fail(op, errno);
}

int bundle_swap_in_run(struct fs_op *op, int target, int stage,
		       const char *name, bool *open)
{
	OWN(own_fd) int old = -1;

	*open = false;
	if (mkdirat(stage, "old", 0700) < 0)
		return fs_fail(op, errno);
	old = open_dir(stage, "old");
	if (old < 0)
		return fs_fail(op, errno);
	if (mark(op, stage, OUT) < 0)
		return -1;
	if (move_all(op, target, old, name) < 0 || mark(op, stage, IN) < 0) {
		*open = undo(target, stage) < 0;
		return -1;
	}
	*open = finish(op, target, stage) < 0;
	return *open ? -1 : 0;
}

int bundle_swap_in_settle(int target, int stage)
{
	struct fs_op quiet = {0};

	if (marked(stage, IN))
		return finish(&quiet, target, stage);
	if (marked(stage, OUT))
		return undo(target, stage);
	return 0;
}

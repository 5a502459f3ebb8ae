/*
 * rename and move. Where rename(2) cannot (another mount, or a directory of
 * the image under overlayfs) the tree is copied beside its new place, takes
 * the new name whole, and only then is the old one removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_path.h"
#include "sandbox/fs_temp.h"
#include "sandbox/fs_tree.h"

struct pair {
	struct fs_at from;
	struct fs_at to;
	bool is_dir;
};

static void pair_close(struct pair *p)
{
	fs_at_close(&p->from);
	fs_at_close(&p->to);
}

static int find_source(struct fs_op *op, struct pair *p)
{
	struct stat st;

	if (fs_path_split(op, op->arg[0], &p->from) < 0)
		return -1;
	if (fstatat(p->from.dir, p->from.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fs_fail(op, errno);
	if (p->from.dots)
		return fs_fail_as(op, FS_BUSY);
	p->is_dir = S_ISDIR(st.st_mode);
	if (p->from.must_be_dir && !p->is_dir)
		return fs_fail_as(op, FS_NOT_DIR);
	return 0;
}

/* move: TO is a directory (or a link to one), so the name stays. */
static int enter(struct fs_op *op, struct pair *p)
{
	int dir = openat(p->to.dir, p->to.name,
			 O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return 0;
	fs_at_close(&p->to);
	p->to.dir = dir;
	p->to.must_be_dir = false;
	p->to.dots = false;
	if (snprintf(p->to.name, sizeof(p->to.name), "%s", p->from.name) < 0)
		return fs_fail(op, EIO);
	return 0;
}

static int copy_over(struct fs_op *op, const struct pair *p)
{
	struct fs_op quiet = {0};
	char name[FS_TEMP_LEN];

	fs_temp_name(name);
	if (fs_copy_tree(op, p->from.dir, p->from.name, p->to.dir, name) < 0) {
		(void)fs_tree_remove(&quiet, p->to.dir, name);
		return -1;
	}
	if (renameat(p->to.dir, name, p->to.dir, p->to.name) < 0) {
		op->head.which = 1;
		fs_fail(op, errno);
		(void)fs_tree_remove(&quiet, p->to.dir, name);
		return -1;
	}
	return fs_tree_remove(op, p->from.dir, p->from.name);
}

/* Which path an errno of rename(2) is about. */
static int rename_failed(struct fs_op *op, const struct pair *p, int sys)
{
	struct stat st;
	bool to_dir = fstatat(p->to.dir, p->to.name, &st,
			      AT_SYMLINK_NOFOLLOW) == 0 &&
		      S_ISDIR(st.st_mode);

	op->head.which = to_dir || sys == ENOTDIR ? 1 : 0;
	if (sys == EEXIST)
		sys = ENOTEMPTY;
	return fs_fail(op, sys);
}

static int rename_pair(struct fs_op *op, const struct pair *p)
{
	if (p->to.must_be_dir && !p->is_dir) {
		op->head.which = 1;
		return fs_fail_as(op, FS_NOT_DIR);
	}
	if (renameat(p->from.dir, p->from.name, p->to.dir, p->to.name) == 0)
		return 0;
	if (errno == EXDEV)
		return copy_over(op, p);
	return rename_failed(op, p, errno);
}

static int find_target(struct fs_op *op, struct pair *p)
{
	if (fs_path_split(op, op->arg[1], &p->to) == 0)
		return 0;
	op->head.which = 1;
	return -1;
}

int fs_move_rename(struct fs_op *op)
{
	OWN(pair_close)
	struct pair p = {.from = {.dir = -1}, .to = {.dir = -1}};

	if (find_source(op, &p) < 0 || find_target(op, &p) < 0)
		return -1;
	if (p.to.dots) {
		op->head.which = 1;
		return fs_fail_as(op, FS_IS_DIR);
	}
	return rename_pair(op, &p);
}

int fs_move_into(struct fs_op *op)
{
	OWN(pair_close)
	struct pair p = {.from = {.dir = -1}, .to = {.dir = -1}};

	if (find_source(op, &p) < 0 || find_target(op, &p) < 0 ||
	    enter(op, &p) < 0)
		return -1;
	return rename_pair(op, &p);
}

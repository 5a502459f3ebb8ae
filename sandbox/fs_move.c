/*
 * rename, move and copy. Where rename(2) cannot (another mount, or a directory
 * of the image under overlayfs) the tree is copied beside its new place, takes
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

/* Whether the copy may take the name that ${p}->to has. */
static int copy_room(struct fs_op *op, const struct pair *p, bool overwrite)
{
	struct stat from, to;

	op->head.which = 1;
	if (p->to.dots)
		return fs_fail_as(op, FS_IS_DIR);
	if (p->to.must_be_dir && !p->is_dir)
		return fs_fail_as(op, FS_NOT_DIR);
	if (fstatat(p->to.dir, p->to.name, &to, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return fs_fail(op, errno);
	} else if (!overwrite || S_ISDIR(to.st_mode)) {
		return fs_fail(op, EEXIST);
	} else if (p->is_dir) {
		return fs_fail_as(op, FS_NOT_DIR);
	}
	op->head.which = 0;
	if (fstatat(p->from.dir, p->from.name, &from, AT_SYMLINK_NOFOLLOW) < 0)
		return fs_fail(op, errno);
	if (!S_ISDIR(from.st_mode) && !S_ISREG(from.st_mode) &&
	    !S_ISLNK(from.st_mode))
		return fs_fail_as(op, FS_NOT_REGULAR);
	return 0;
}

/* A directory cannot be copied into itself: it would have no end. */
static bool is_inside(const struct fs_at *to, const struct fs_at *from)
{
	OWN(own_fd) int at = fcntl(to->dir, F_DUPFD_CLOEXEC, 0);
	struct stat self, here, above;
	int next;

	if (fstatat(from->dir, from->name, &self, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	while (at >= 0 && fstat(at, &here) == 0) {
		if (here.st_dev == self.st_dev && here.st_ino == self.st_ino)
			return true;
		next = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (next < 0 || fstat(next, &above) < 0)
			break;
		own_fd(&at);
		at = next;
		if (above.st_dev == here.st_dev && above.st_ino == here.st_ino)
			break;
	}
	return false;
}

static int copy_to(struct fs_op *op, const struct pair *p, bool overwrite)
{
	struct fs_op quiet = {0};
	char name[FS_TEMP_LEN];

	fs_temp_name(name);
	if (fs_copy_tree(op, p->from.dir, p->from.name, p->to.dir, name) < 0) {
		(void)fs_tree_remove(&quiet, p->to.dir, name);
		return -1;
	}
	if (renameat2(p->to.dir, name, p->to.dir, p->to.name,
		      overwrite ? 0 : RENAME_NOREPLACE) == 0)
		return 0;
	op->head.which = 1;
	fs_fail(op, errno);
	(void)fs_tree_remove(&quiet, p->to.dir, name);
	return -1;
}

int fs_move_copy(struct fs_op *op)
{
	OWN(pair_close)
	struct pair p = {.from = {.dir = -1}, .to = {.dir = -1}};
	bool recursive, overwrite;

	if (fs_flag(op, 2, &recursive) < 0 || fs_flag(op, 3, &overwrite) < 0 ||
	    find_source(op, &p) < 0 || find_target(op, &p) < 0)
		return -1;
	if (p.is_dir && !recursive)
		return fs_fail_as(op, FS_IS_DIR);
	if (copy_room(op, &p, overwrite) < 0)
		return -1;
	if (p.is_dir && is_inside(&p.to, &p.from))
		return fs_fail_as(op, FS_INVALID);
	return copy_to(op, &p, overwrite);
}

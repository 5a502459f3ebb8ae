#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_tree.h"

#define PASSES 3

static void close_dir(DIR **d)
{
	if (*d != NULL)
		closedir(*d);
}

void fs_tree_room(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

static bool is_self(const char *name)
{
	return name[0] == '.' &&
	       (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static int remove_at(struct fs_op *op, int dir, const char *name, int depth);

static int remove_inside(struct fs_op *op, int dir, const char *name, int depth)
{
	OWN(close_dir) DIR *d = NULL;
	struct dirent *ent;
	int fd = openat(dir, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return fs_fail(op, errno);
	d = fdopendir(fd);
	if (d == NULL) {
		close(fd);
		return fs_fail(op, ENOMEM);
	}
	while ((errno = 0, ent = readdir(d)) != NULL) {
		if (!is_self(ent->d_name) &&
		    remove_at(op, dirfd(d), ent->d_name, depth + 1) < 0)
			return -1;
	}
	return errno != 0 ? fs_fail(op, errno) : 0;
}

static int remove_at(struct fs_op *op, int dir, const char *name, int depth)
{
	int pass;

	if (depth > FS_DEPTH_MAX)
		return fs_fail_as(op, FS_TOO_DEEP);
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return fs_fail(op, errno);
	/* Others may add files meanwhile. */
	for (pass = 0; pass < PASSES; pass++) {
		if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return fs_fail(op, errno);
		if (remove_inside(op, dir, name, depth) < 0)
			return -1;
	}
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return fs_fail(op, errno);
}

int fs_tree_remove(struct fs_op *op, int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fs_fail(op, errno);
	fs_tree_room();
	return remove_at(op, dir, name, 0);
}

struct walk {
	struct fs_op *op;
	int (*each)(void *ctx, int dir, const char *name);
	void *ctx;
};

static int walk_at(const struct walk *w, int dir, const char *name, int depth);

static int walk_inside(const struct walk *w, int fd, int depth)
{
	OWN(close_dir) DIR *d = fdopendir(fd);
	struct dirent *ent;

	if (d == NULL) {
		close(fd);
		return fs_fail(w->op, ENOMEM);
	}
	while ((errno = 0, ent = readdir(d)) != NULL) {
		if (!is_self(ent->d_name) &&
		    walk_at(w, dirfd(d), ent->d_name, depth + 1) < 0)
			return -1;
	}
	return errno != 0 ? fs_fail(w->op, errno) : 0;
}

static int walk_at(const struct walk *w, int dir, const char *name, int depth)
{
	int fd;

	if (depth > FS_DEPTH_MAX)
		return fs_fail_as(w->op, FS_TOO_DEEP);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno != ENOTDIR && errno != ELOOP)
		return fs_fail(w->op, errno);
	if (fd >= 0 && walk_inside(w, fd, depth) < 0)
		return -1;
	return w->each(w->ctx, dir, name);
}

int fs_tree_each(struct fs_op *op, int dir, const char *name,
		 int (*each)(void *ctx, int dir, const char *name), void *ctx)
{
	struct walk w = {.op = op, .each = each, .ctx = ctx};

	fs_tree_room();
	return walk_at(&w, dir, name, 0);
}

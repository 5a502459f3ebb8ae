#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_tree.h"
#include "sandbox/git_dir.h"

static bool is_self(const char *name)
{
	return name[0] == '.' &&
	       (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static DIR *open_dir(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (d == NULL && fd >= 0)
		close(fd);
	return d;
}

static int check_empty(struct fs_op *op, const struct fs_at *at)
{
	DIR *d = open_dir(at->dir, at->name);
	struct dirent *ent;
	bool empty = true;

	if (d == NULL)
		return fs_fail(op, errno == ENOTDIR ? EEXIST : errno);
	while (empty && (ent = readdir(d)) != NULL)
		empty = is_self(ent->d_name);
	closedir(d);
	return empty ? 0 : fs_fail(op, EEXIST);
}

int git_dir_open(struct git_dir *d, const char *path, struct fs_op *op)
{
	struct stat st;

	d->at.dir = -1;
	d->temp[0] = '\0';
	d->done = true;
	if (fs_path_target(op, path, true, &d->at) < 0)
		return -1;
	if (fchdir(d->at.dir) < 0)
		return fs_fail(op, errno);
	if (fstatat(d->at.dir, d->at.name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (check_empty(op, &d->at) < 0)
			return -1;
	} else if (errno != ENOENT) {
		return fs_fail(op, errno);
	} else {
		fs_temp_name(d->temp);
		if (mkdirat(d->at.dir, d->temp, 0777) < 0)
			return fs_fail(op, errno);
	}
	d->done = false;
	return 0;
}

const char *git_dir_name(const struct git_dir *d)
{
	return d->temp[0] != '\0' ? d->temp : d->at.name;
}

int git_dir_commit(struct git_dir *d, struct fs_op *op)
{
	int r = 0;

	if (d->temp[0] != '\0')
		r = renameat2(d->at.dir, d->temp, d->at.dir, d->at.name,
			      RENAME_NOREPLACE);
	if (r < 0)
		return fs_fail(op, errno);
	d->done = true;
	return 0;
}

static void remove_entries(struct fs_op *op, const struct fs_at *at)
{
	DIR *d = open_dir(at->dir, at->name);
	struct dirent *ent;

	if (d == NULL)
		return;
	while ((ent = readdir(d)) != NULL) {
		if (!is_self(ent->d_name))
			(void)fs_tree_remove(op, dirfd(d), ent->d_name);
	}
	closedir(d);
}

void git_dir_close(struct git_dir *d)
{
	struct fs_op quiet = {0};

	if (!d->done && d->temp[0] != '\0')
		(void)fs_tree_remove(&quiet, d->at.dir, d->temp);
	else if (!d->done)
		remove_entries(&quiet, &d->at);
	fs_at_close(&d->at);
}

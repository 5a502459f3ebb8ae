#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_path.h"
#include "sandbox/fs_tree.h"

/* One thing to copy: name in from becomes new_name in to. */
struct copy {
	int from;
	const char *name;
	int to;
	const char *new_name;
	struct stat st;
};

static void close_dir(DIR **d)
{
	if (*d != NULL)
		closedir(*d);
}

static int copy_at(struct fs_op *op, struct copy *c, int depth);

/* Owner (if we may), then mode, then times: each would change the next. */
static int dress(struct fs_op *op, int fd, const struct stat *st)
{
	struct timespec times[2] = {st->st_atim, st->st_mtim};

	if (fchown(fd, st->st_uid, st->st_gid) < 0 && errno != EPERM &&
	    errno != EINVAL)
		return fs_fail(op, errno);
	if (fchmod(fd, st->st_mode & 07777) < 0 || futimens(fd, times) < 0)
		return fs_fail(op, errno);
	return 0;
}

static int copy_file(struct fs_op *op, const struct copy *c)
{
	OWN(own_fd) int in = -1;
	OWN(own_fd) int out = -1;
	struct stat st;

	in = fs_path_open(op, c->from, c->name, O_RDONLY | O_NOFOLLOW, &st);
	if (in < 0)
		return -1;
	out = openat(c->to, c->new_name,
		     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     0600);
	if (out < 0)
		return fs_fail(op, errno);
	if (fs_pour(op, in, out) < 0)
		return -1;
	return dress(op, out, &st);
}

static int copy_link(struct fs_op *op, const struct copy *c)
{
	struct timespec times[2] = {c->st.st_atim, c->st.st_mtim};
	char text[PATH_MAX];
	ssize_t n = readlinkat(c->from, c->name, text, sizeof(text) - 1);

	if (n < 0)
		return fs_fail(op, errno);
	text[n] = '\0';
	if (symlinkat(text, c->to, c->new_name) < 0)
		return fs_fail(op, errno);
	if (utimensat(c->to, c->new_name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return fs_fail(op, errno);
	if (fchownat(c->to, c->new_name, c->st.st_uid, c->st.st_gid,
		     AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno != EPERM && errno != EINVAL)
		return fs_fail(op, errno);
	return 0;
}

static int copy_entries(struct fs_op *op, DIR *d, int to, int depth)
{
	struct dirent *ent;
	struct copy c;

	while ((errno = 0, ent = readdir(d)) != NULL) {
		if (ent->d_name[0] == '.' &&
		    (ent->d_name[1] == '\0' ||
		     (ent->d_name[1] == '.' && ent->d_name[2] == '\0')))
			continue;
		c = (struct copy){dirfd(d), ent->d_name, to, ent->d_name,
				  .st = {0}};
		if (copy_at(op, &c, depth + 1) < 0)
			return -1;
	}
	return errno != 0 ? fs_fail(op, errno) : 0;
}

static int copy_dir(struct fs_op *op, const struct copy *c, int depth)
{
	OWN(close_dir) DIR *d = NULL;
	OWN(own_fd) int out = -1;
	int in = openat(c->from, c->name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (in < 0)
		return fs_fail(op, errno);
	d = fdopendir(in);
	if (d == NULL) {
		close(in);
		return fs_fail(op, ENOMEM);
	}
	if (mkdirat(c->to, c->new_name, 0700) < 0)
		return fs_fail(op, errno);
	out = openat(c->to, c->new_name,
		     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (out < 0)
		return fs_fail(op, errno);
	if (copy_entries(op, d, out, depth) < 0)
		return -1;
	return dress(op, out, &c->st);
}

static int copy_at(struct fs_op *op, struct copy *c, int depth)
{
	if (depth > FS_DEPTH_MAX)
		return fs_fail_as(op, FS_TOO_DEEP);
	if (fstatat(c->from, c->name, &c->st, AT_SYMLINK_NOFOLLOW) < 0)
		return fs_fail(op, errno);
	if (S_ISDIR(c->st.st_mode))
		return copy_dir(op, c, depth);
	if (S_ISREG(c->st.st_mode))
		return copy_file(op, c);
	if (S_ISLNK(c->st.st_mode))
		return copy_link(op, c);
	if (mknodat(c->to, c->new_name, c->st.st_mode, c->st.st_rdev) < 0)
		return fs_fail(op, errno);
	return 0;
}

int fs_copy_tree(struct fs_op *op, int from, const char *name, int to,
		 const char *new_name)
{
	struct copy c = {from, name, to, new_name, .st = {0}};

	fs_tree_room();
	return copy_at(op, &c, 0);
}

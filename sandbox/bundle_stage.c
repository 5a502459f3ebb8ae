#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/bundle_stage.h"
#include "sandbox/fs_path.h"
#include "sandbox/fs_tree.h"

/* What a directory gets at the end: its mode may keep us out. */
struct dir_late {
	mode_t mode;
	struct timespec mtime;
};

static int beneath(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {
	    .flags = (unsigned)(flags | O_CLOEXEC),
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

int bundle_stage_open(struct bundle_stage *s, const char *path)
{
	struct fs_op *op = &s->b->op;
	bool made;

	if (fs_path_make(op, path, &made) < 0)
		return -1;
	s->target = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->target < 0)
		return fs_fail(op, errno);
	fs_temp_name(s->name);
	if (mkdirat(s->target, s->name, 0700) < 0) {
		s->name[0] = '\0';
		return fs_fail(op, errno);
	}
	s->root = openat(s->target, s->name,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return s->root < 0 ? fs_fail(op, errno) : 0;
}

void bundle_stage_close(struct bundle_stage *s)
{
	struct fs_op quiet = {0};

	if (s->name[0] != '\0')
		(void)fs_tree_remove(&quiet, s->target, s->name);
	own_fd(&s->root);
	own_fd(&s->target);
	buf_free(&s->dirs);
	buf_free(&s->links);
}

int bundle_stage_name(struct bundle *b, const char *name, char out[4096])
{
	size_t used = 0, n;
	int depth = 0;

	if (name == NULL || name[0] == '\0')
		return bundle_refuse(b, "a name in the archive cannot be read");
	if (name[0] == '/')
		return bundle_refuse(b, "%.200s is an absolute path", name);
	for (const char *p = name; *p != '\0'; p += n) {
		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.'))
			continue;
		if (n == 2 && p[0] == '.' && p[1] == '.')
			return bundle_refuse(b, "%.200s leads outside by ..",
					     name);
		if (n > NAME_MAX || used + n + 2 > 4096)
			return bundle_refuse(b, "%.200s is too long", name);
		if (++depth > FS_DEPTH_MAX)
			return bundle_refuse(b, "%.200s is nested too deeply",
					     name);
		if (used > 0)
			out[used++] = '/';
		memcpy(out + used, p, n);
		used += n;
	}
	out[used] = '\0';
	return 0;
}

static int in_the_way(struct bundle_stage *s, const char *path)
{
	return bundle_refuse(s->b, "%.200s goes through a link or a file",
			     path);
}

/* The open directory that holds the last part of ${path}; makes it. */
static int parent_of(struct bundle_stage *s, const char *path,
		     const char **name)
{
	const char *slash = strrchr(path, '/');
	char above[PATH_MAX];
	int fd;

	*name = slash != NULL ? slash + 1 : path;
	if (slash == NULL)
		return fcntl(s->root, F_DUPFD_CLOEXEC, 0);
	memcpy(above, path, (size_t)(slash - path));
	above[slash - path] = '\0';
	for (;;) {
		fd = beneath(s->root, above, O_PATH | O_DIRECTORY,
			     RESOLVE_NO_SYMLINKS);
		if (fd >= 0)
			return fd;
		if (errno == ELOOP || errno == ENOTDIR)
			return in_the_way(s, path);
		if (errno != ENOENT)
			return fs_fail(&s->b->op, errno);
		if (bundle_stage_dir(s, above, 0755,
				     (struct timespec){.tv_nsec = UTIME_NOW}) <
		    0)
			return -1;
	}
}

int bundle_stage_dir(struct bundle_stage *s, const char *path, mode_t mode,
		     struct timespec mtime)
{
	struct dir_late late = {.mode = mode, .mtime = mtime};
	OWN(own_fd) int dir = -1;
	const char *name;
	struct stat st;

	dir = parent_of(s, path, &name);
	if (dir < 0)
		return -1;
	if (mkdirat(dir, name, 0700) < 0) {
		if (errno != EEXIST)
			return fs_fail(&s->b->op, errno);
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return fs_fail(&s->b->op, errno);
		if (!S_ISDIR(st.st_mode))
			return in_the_way(s, path);
	}
	buf_add(&s->dirs, &late, sizeof(late));
	buf_add(&s->dirs, path, strlen(path) + 1);
	return buf_ok(&s->dirs)
		   ? 0
		   : bundle_refuse(s->b, "there are too many directories");
}

void bundle_stage_self(struct bundle_stage *s, mode_t mode,
		       struct timespec mtime)
{
	s->self = true;
	s->mode = mode;
	s->mtime = mtime;
}

void bundle_stage_own(struct bundle_stage *s, const char *path, uid_t uid,
		      gid_t gid)
{
	OWN(own_fd) int fd = -1;

	if (geteuid() != 0)
		return;
	fd = beneath(s->root, path[0] != '\0' ? path : ".", O_PATH | O_NOFOLLOW,
		     0);
	/* One who is nobody here stays out of it. */
	if (fd >= 0 && fchownat(fd, "", uid, gid, AT_EMPTY_PATH) < 0)
		errno = 0;
}

void bundle_stage_time(struct bundle_stage *s, const char *path,
		       struct timespec mtime)
{
	OWN(own_fd) int fd = beneath(s->root, path, O_PATH | O_NOFOLLOW, 0);

	if (fd >= 0 && utimensat(fd, "", (struct timespec[2]){mtime, mtime},
				 AT_EMPTY_PATH) < 0)
		errno = 0; /* a kernel that cannot */
}

/* The last of one name wins, as tar has it; a directory stays. */
static int make_room(struct bundle_stage *s, int dir, const char *name,
		     const char *path)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	return errno == EISDIR ? in_the_way(s, path)
			       : fs_fail(&s->b->op, errno);
}

int bundle_stage_file(struct bundle_stage *s, const char *path)
{
	OWN(own_fd) int dir = -1;
	const char *name;
	int fd;

	dir = parent_of(s, path, &name);
	if (dir < 0 || make_room(s, dir, name, path) < 0)
		return -1;
	fd = openat(dir, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? fs_fail(&s->b->op, errno) : fd;
}

int bundle_stage_link(struct bundle_stage *s, const char *path,
		      const char *text)
{
	OWN(own_fd) int dir = -1;
	const char *name;

	dir = parent_of(s, path, &name);
	if (dir < 0 || make_room(s, dir, name, path) < 0)
		return -1;
	if (symlinkat(text, dir, name) < 0)
		return fs_fail(&s->b->op, errno);
	buf_add(&s->links, path, strlen(path) + 1);
	return buf_ok(&s->links)
		   ? 0
		   : bundle_refuse(s->b, "there are too many links");
}

int bundle_stage_hard(struct bundle_stage *s, const char *path, const char *to)
{
	OWN(own_fd) int dir = -1;
	OWN(own_fd) int from = -1;
	const char *name, *old;
	struct stat st;

	from = parent_of(s, to, &old);
	if (from < 0)
		return -1;
	if (fstatat(from, old, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return bundle_refuse(s->b,
				     "%.200s is a link to %.200s, which is no "
				     "file before it",
				     path, to);
	dir = parent_of(s, path, &name);
	if (dir < 0)
		return -1;
	if (strcmp(path, to) == 0)
		return 0;
	if (make_room(s, dir, name, path) < 0)
		return -1;
	return linkat(from, old, dir, name, 0) < 0 ? fs_fail(&s->b->op, errno)
						   : 0;
}

/*
 * By the kernel's own resolution, with all of them there: what is dangling is
 * fine, what leaves the root on its way is not.
 */
int bundle_stage_inside(struct bundle_stage *s)
{
	const char *end = buf_str(&s->links) + s->links.len;

	for (const char *p = buf_str(&s->links); p < end; p += strlen(p) + 1) {
		OWN(own_fd) int fd = beneath(s->root, p, O_PATH, 0);

		if (fd < 0 && errno == EXDEV)
			return bundle_refuse(s->b,
					     "%.200s is a link that leads "
					     "outside (links=all keeps it)",
					     p);
	}
	return 0;
}

/* ---- moving it out ---- */

static bool is_self(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int merge_into(struct bundle_stage *s, int from, int to, bool dry,
		      int depth);

/* One name of ${from}, which may be there in ${to}. */
static int merge_one(struct bundle_stage *s, int from, int to, bool dry,
		     const char *name, int depth)
{
	OWN(own_fd) int in = -1;
	OWN(own_fd) int out = -1;
	struct stat st, old;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fs_fail(&s->b->op, errno);
	if (fstatat(to, name, &old, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return fs_fail(&s->b->op, errno);
		return dry || renameat(from, name, to, name) == 0
			   ? 0
			   : fs_fail(&s->b->op, errno);
	}
	if (S_ISDIR(st.st_mode) != S_ISDIR(old.st_mode))
		return bundle_refuse(s->b, "%.200s is there and %s", name,
				     S_ISDIR(old.st_mode) ? "a directory"
							  : "no directory");
	if (!S_ISDIR(st.st_mode))
		return dry || renameat(from, name, to, name) == 0
			   ? 0
			   : fs_fail(&s->b->op, errno);
	in = openat(from, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0 || out < 0)
		return fs_fail(&s->b->op, errno);
	return merge_into(s, in, out, dry, depth + 1);
}

static int merge_into(struct bundle_stage *s, int from, int to, bool dry,
		      int depth)
{
	int again = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again >= 0 ? fdopendir(again) : NULL;
	struct dirent *ent;
	int r = 0;

	if (d == NULL) {
		fs_fail(&s->b->op, errno);
		own_fd(&again);
		return -1;
	}
	if (depth > FS_DEPTH_MAX)
		r = fs_fail_as(&s->b->op, FS_TOO_DEEP);
	while (r == 0 && (errno = 0, ent = readdir(d)) != NULL) {
		if (!is_self(ent->d_name))
			r = merge_one(s, from, to, dry, ent->d_name, depth);
	}
	if (r == 0 && errno != 0)
		r = fs_fail(&s->b->op, errno);
	closedir(d);
	return r;
}

/* Backwards: those inside come first. */
void bundle_stage_dress(struct bundle_stage *s, int root)
{
	OWN(buf_free) struct buf order = BUF_INIT(BUNDLE_ENTRIES_MAX * 16);
	struct dir_late late;
	size_t at = 0;

	while (at < s->dirs.len) {
		buf_add(&order, &at, sizeof(at));
		at += sizeof(late);
		at += strlen(s->dirs.data + at) + 1;
	}
	while (buf_ok(&order) && order.len >= sizeof(at)) {
		OWN(own_fd) int fd = -1;

		order.len -= sizeof(at);
		memcpy(&at, order.data + order.len, sizeof(at));
		memcpy(&late, s->dirs.data + at, sizeof(late));
		fd = beneath(root, s->dirs.data + at + sizeof(late),
			     O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
		if (fd >= 0 && fchmod(fd, late.mode) == 0)
			(void)futimens(
			    fd, (struct timespec[2]){late.mtime, late.mtime});
	}
}

int bundle_stage_commit(struct bundle_stage *s)
{
	if (merge_into(s, s->root, s->target, true, 0) < 0 ||
	    merge_into(s, s->root, s->target, false, 0) < 0)
		return -1;
	bundle_stage_dress(s, s->target);
	return 0;
}

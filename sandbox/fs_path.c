#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_path.h"

#define LINKS_MAX 40

void fs_at_close(struct fs_at *at)
{
	own_fd(&at->dir);
}

static int open_dir(int dir, const char *path)
{
	return openat(dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The directory that begins the path: "/" or base. */
static int open_start(int base, const char *path)
{
	return open_dir(base, path[0] == '/' ? "/" : ".");
}

static size_t without_slashes(const char *path)
{
	size_t n = strlen(path);

	while (n > 0 && path[n - 1] == '/')
		n--;
	return n;
}

/* Next component of [*p, end): its length, 0 at the end. */
static size_t next_part(const char **p, const char *end)
{
	const char *s = *p;
	const char *slash;

	while (s < end && *s == '/')
		s++;
	*p = s;
	slash = memchr(s, '/', (size_t)(end - s));
	return (size_t)((slash != NULL ? slash : end) - s);
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Walk path[0..n) from base, making what is missing. */
static int walk_made(struct fs_op *op, int base, const char *path, size_t n,
		     int *out, bool *made)
{
	OWN(own_fd) int dir = open_start(base, path);
	const char *p = path;
	char name[NAME_MAX + 1];
	size_t len;
	int next;
	int why;

	if (dir < 0)
		return fs_fail(op, errno);
	while ((len = next_part(&p, path + n)) > 0) {
		if (len > NAME_MAX)
			return fs_fail(op, ENAMETOOLONG);
		memcpy(name, p, len);
		name[len] = '\0';
		p += len;
		*made = mkdirat(dir, name, 0777) == 0;
		why = *made ? 0 : errno;
		next = open_dir(dir, name);
		if (next < 0)
			return fs_fail(
			    op, errno == ENOENT && why != 0 && why != EEXIST
				    ? why
				    : errno); /* made, and gone again */
		close(dir);
		dir = next;
	}
	*out = STEAL_FD(dir);
	return 0;
}

/* Open path[0..n) as a directory; n = 0 means base itself. */
static int open_parent(struct fs_op *op, int base, const char *path, size_t n,
		       bool parents, int *out)
{
	char text[PATH_MAX];
	bool made;
	int dir;

	if (n >= sizeof(text))
		return fs_fail(op, ENAMETOOLONG);
	memcpy(text, path, n);
	text[n] = '\0';
	dir = n > 0 ? open_dir(base, text) : open_start(base, path);
	if (dir < 0 && errno == ENOENT && parents && n > 0)
		return walk_made(op, base, path, n, out, &made);
	if (dir < 0)
		return fs_fail(op, errno);
	*out = dir;
	return 0;
}

/* Split path as seen from base; at is only written on success. */
static int split(struct fs_op *op, int base, const char *path, bool parents,
		 struct fs_at *at)
{
	size_t len = strlen(path);
	size_t end = without_slashes(path);
	size_t start = end;
	struct fs_at to = {.dir = -1};

	if (len == 0)
		return fs_fail(op, ENOENT);
	if (len >= PATH_MAX)
		return fs_fail(op, ENAMETOOLONG);
	while (start > 0 && path[start - 1] != '/')
		start--;
	if (end - start > NAME_MAX)
		return fs_fail(op, ENAMETOOLONG);
	memcpy(to.name, path + start, end - start);
	to.name[end - start] = '\0';
	to.must_be_dir = end < len;
	to.dots = end == 0 || is_dots(to.name);
	if (end == 0)
		memcpy(to.name, ".", 2);
	if (open_parent(op, base, path, start, parents, &to.dir) < 0)
		return -1;
	fs_at_close(at);
	*at = to;
	return 0;
}

int fs_path_split(struct fs_op *op, const char *path, struct fs_at *at)
{
	return split(op, AT_FDCWD, path, false, at);
}

/* The text of a link; false when at->name is none. */
static bool read_link(const struct fs_at *at, char text[PATH_MAX])
{
	ssize_t n = readlinkat(at->dir, at->name, text, PATH_MAX - 1);

	if (n < 0)
		return false;
	text[n] = '\0';
	return true;
}

int fs_path_target(struct fs_op *op, const char *path, bool parents,
		   struct fs_at *at)
{
	OWN(fs_at_close) struct fs_at cur = {.dir = -1};
	char text[PATH_MAX];
	bool slash = false;
	int links;

	if (split(op, AT_FDCWD, path, parents, &cur) < 0)
		return -1;
	for (links = 0; read_link(&cur, text); links++) {
		slash = slash || cur.must_be_dir;
		if (links == LINKS_MAX)
			return fs_fail(op, ELOOP);
		if (split(op, cur.dir, text, parents, &cur) < 0)
			return -1;
	}
	*at = cur;
	at->must_be_dir = slash || cur.must_be_dir;
	cur.dir = -1;
	return 0;
}

int fs_path_make(struct fs_op *op, const char *path, bool *made)
{
	int dir = -1;

	*made = false;
	if (path[0] == '\0')
		return fs_fail(op, ENOENT);
	if (strlen(path) >= PATH_MAX)
		return fs_fail(op, ENAMETOOLONG);
	if (walk_made(op, AT_FDCWD, path, strlen(path), &dir, made) < 0)
		return -1;
	close(dir);
	return 0;
}

static int open_quiet(int dir, const char *name, int flags)
{
	struct open_how how = {
	    .flags = (unsigned)(flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC),
	    .resolve = RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));

	if (fd < 0 && errno == ENOSYS) /* no openat2: the fstat still holds */
		fd = openat(dir, name, (int)how.flags);
	return fd;
}

int fs_path_open(struct fs_op *op, int dir, const char *name, int flags,
		 struct stat *st)
{
	OWN(own_fd) int fd = open_quiet(dir, name, flags);

	if (fd < 0)
		return fs_fail(op, errno);
	if (fstat(fd, st) < 0)
		return fs_fail(op, errno);
	if (S_ISDIR(st->st_mode))
		return fs_fail_as(op, FS_IS_DIR);
	if (!S_ISREG(st->st_mode))
		return fs_fail_as(op, FS_NOT_REGULAR);
	return STEAL_FD(fd);
}

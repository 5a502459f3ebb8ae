/*
 * Listing: a directory's names are read, sorted by bytes, and told; below
 * them, if asked, what their directories hold. Bounded by entries, depth and
 * bytes of names; the last record says if there was more.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_path.h"
#include "sandbox/fs_tree.h"

#define NAMES_MAX (32U << 20) /* bytes of the names of one directory */
#define FLUSH_BYTES (48U << 10)
#define OUT_MAX (FLUSH_BYTES + FS_RECORD_MAX)

struct list {
	struct fs_op *op;
	bool recursive;
	bool hidden;
	uint64_t max;
	struct buf out;
	char path[PATH_MAX]; /* of the directory being listed, "" or "a/b/" */
	size_t path_len;
	struct fs_record end;
};

struct names {
	struct buf text; /* names, each with its 0 */
	const char **at;
	size_t n;
};

static void list_free(struct list *l)
{
	buf_free(&l->out);
}

static void names_free(struct names *n)
{
	buf_free(&n->text);
	free(n->at);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_self(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* No more names than may still be told. */
static int collect(struct list *l, DIR *d, struct names *names)
{
	uint64_t room = l->max - l->end.count;
	struct dirent *ent;

	while ((errno = 0, ent = readdir(d)) != NULL) {
		if (is_self(ent->d_name) ||
		    (!l->hidden && ent->d_name[0] == '.'))
			continue;
		if (names->n >= room) {
			l->end.truncated = true;
			break;
		}
		buf_add(&names->text, ent->d_name, strlen(ent->d_name) + 1);
		if (!buf_ok(&names->text)) {
			l->end.truncated = true;
			break;
		}
		names->n++;
	}
	return errno != 0 ? fs_fail(l->op, errno) : 0;
}

static int sort_names(struct list *l, struct names *names)
{
	const char *p = buf_str(&names->text);
	size_t i;

	if (names->n == 0)
		return 0;
	names->at = calloc(names->n, sizeof(*names->at));
	if (names->at == NULL)
		return fs_fail(l->op, ENOMEM);
	for (i = 0; i < names->n; i++) {
		names->at[i] = p;
		p += strlen(p) + 1;
	}
	qsort(names->at, names->n, sizeof(*names->at), by_bytes);
	return 0;
}

/* The names of the open directory ${fd}, which is used up. */
static int read_names(struct list *l, int fd, struct names *names)
{
	DIR *d = fdopendir(fd);
	int r;

	if (d == NULL) {
		close(fd);
		return fs_fail(l->op, ENOMEM);
	}
	r = collect(l, d, names);
	closedir(d);
	return r < 0 ? -1 : sort_names(l, names);
}

static int flush(struct list *l, size_t above)
{
	if (!buf_ok(&l->out))
		return fs_fail(l->op, ENOMEM);
	if (l->out.len <= above)
		return 0;
	if (fs_send(l->out.data, l->out.len) < 0)
		return fs_fail(l->op, EPIPE);
	buf_reset(&l->out);
	return 0;
}

/* Append ${name} to the path; false when the path gets too long. */
static bool push(struct list *l, const char *name)
{
	size_t n = strlen(name);

	if (l->path_len + n + 2 > sizeof(l->path))
		return false;
	memcpy(l->path + l->path_len, name, n + 1);
	l->path_len += n;
	return true;
}

static int tell(struct list *l, int dir, const char *name,
		const struct stat *st)
{
	struct fs_record rec = {.kind = FS_RECORD_ENTRY};

	fs_meta_of(dir, name, st, &rec.meta);
	rec.path = l->path;
	rec.path_len = l->path_len;
	fs_put_record(&l->out, &rec);
	l->end.count++;
	return flush(l, FLUSH_BYTES);
}

static int list_open(struct list *l, int fd, int depth);

static int descend(struct list *l, int dir, const char *name, int depth)
{
	int fd;

	if (depth >= FS_DEPTH_MAX || l->path_len + 2 > sizeof(l->path)) {
		l->end.truncated = true;
		return 0;
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		l->end.skipped = true;
		return 0;
	}
	l->path[l->path_len++] = '/';
	l->path[l->path_len] = '\0';
	return list_open(l, fd, depth + 1);
}

static int list_one(struct list *l, int dir, const char *name, int depth)
{
	size_t was = l->path_len;
	struct stat st;
	int r;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone meanwhile */
	if (!push(l, name)) {
		l->end.truncated = true;
		return 0;
	}
	r = tell(l, dir, name, &st);
	if (r == 0 && l->recursive && S_ISDIR(st.st_mode))
		r = descend(l, dir, name, depth);
	l->path_len = was;
	l->path[was] = '\0';
	return r;
}

static int list_open(struct list *l, int fd, int depth)
{
	OWN(own_fd) int dir = fd;
	OWN(names_free) struct names names = {.text = BUF_INIT(NAMES_MAX)};
	int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	size_t i;

	if (again < 0)
		return fs_fail(l->op, errno);
	if (read_names(l, again, &names) < 0)
		return -1;
	for (i = 0; i < names.n; i++) {
		if (l->end.count >= l->max) {
			l->end.truncated = true;
			return 0;
		}
		if (list_one(l, dir, names.at[i], depth) < 0)
			return -1;
	}
	return 0;
}

/* The last record; a failure on the way is told in it. */
static int finish(struct list *l, int result)
{
	l->end.kind = FS_RECORD_END;
	l->end.status = result < 0 ? l->op->head.status : FS_OK;
	fs_put_record(&l->out, &l->end);
	return flush(l, 0);
}

int fs_list_dir(struct fs_op *op)
{
	OWN(list_free) struct list l = {.op = op, .out = BUF_INIT(OUT_MAX)};
	struct stat st;
	int fd;

	if (fs_flag(op, 1, &l.recursive) < 0 || fs_flag(op, 2, &l.hidden) < 0 ||
	    fs_number(op, 3, &l.max) < 0)
		return -1;
	fs_tree_room();
	fd = open(op->arg[0], O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return fs_fail(op, errno);
	if (fstat(fd, &st) == 0)
		fs_meta_of(AT_FDCWD, op->arg[0], &st, &op->head.meta);
	op->head.payload = FS_UNTIL_END;
	if (fs_send_head(op) < 0) {
		close(fd);
		return -1;
	}
	return finish(&l, list_open(&l, fd, 0));
}

/*
 * Listing: a directory's names are read, sorted by bytes, and told; below
 * them, if asked, what their directories hold. Bounded by entries and depth;
 * the last record says if there was more. A list that goes on behind an entry
 * passes over what comes before it in this order.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/fs_path.h"
#include "sandbox/fs_tree.h"

#define NAMES_MAX (128U << 20) /* bytes of the names of one directory */
#define ID_FOREIGN 65534       /* an id that means nothing in here */
#define SPARE 1024U /* so many more than may be told are kept at most */
#define FLUSH_BYTES (48U << 10)
#define OUT_MAX (FLUSH_BYTES + FS_RECORD_MAX)

struct list {
	struct fs_op *op;
	bool recursive;
	bool hidden;
	uint64_t max;
	const char *after; /* the rest of the path to go on behind */
	bool may_all;      /* modes say little of what we may */
	bool ask;          /* they say nothing */
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

/* The part of the way to l->after in this directory: its length. */
static size_t after_part(const struct list *l)
{
	return l->after != NULL ? strcspn(l->after, "/") : 0;
}

/* As strcmp() of the name and that part, which has no 0 behind it. */
static int after_order(const struct list *l, const char *name, size_t part)
{
	int c = strncmp(name, l->after, part);

	return c != 0 ? c : name[part] != '\0';
}

static int sort_names(struct list *l, struct names *names)
{
	const char *p = buf_str(&names->text);
	size_t i;

	free(names->at);
	names->at = calloc(names->n + 1, sizeof(*names->at));
	if (names->at == NULL)
		return fs_fail(l->op, ENOMEM);
	for (i = 0; i < names->n; i++) {
		names->at[i] = p;
		p += strlen(p) + 1;
	}
	qsort(names->at, names->n, sizeof(*names->at), by_bytes);
	return 0;
}

/* Keep the first ${room}: the others will not be told. */
static int cut_names(struct list *l, struct names *names, size_t room)
{
	struct buf text = BUF_INIT(NAMES_MAX);
	size_t i;

	if (sort_names(l, names) < 0)
		return -1;
	for (i = 0; i < room; i++)
		buf_add(&text, names->at[i], strlen(names->at[i]) + 1);
	if (!buf_ok(&text)) {
		buf_free(&text);
		return fs_fail(l->op, ENOMEM);
	}
	buf_free(&names->text);
	names->text = text;
	names->n = room;
	l->end.truncated = true;
	return 0;
}

static bool is_told(const struct list *l, const char *name, size_t part)
{
	if (is_self(name) || (!l->hidden && name[0] == '.'))
		return false;
	return part == 0 || after_order(l, name, part) >= 0;
}

static int collect(struct list *l, DIR *d, struct names *names)
{
	/* One more: the directory on the way is not told again. */
	size_t room = (size_t)(l->max - l->end.count) + 1;
	size_t part = after_part(l);
	struct dirent *ent;

	while ((errno = 0, ent = readdir(d)) != NULL) {
		if (!is_told(l, ent->d_name, part))
			continue;
		buf_add(&names->text, ent->d_name, strlen(ent->d_name) + 1);
		if (!buf_ok(&names->text))
			return fs_fail(l->op, ENOMEM);
		names->n++;
		if (names->n >= 2 * room + SPARE &&
		    cut_names(l, names, room) < 0)
			return -1;
	}
	return errno != 0 ? fs_fail(l->op, errno) : 0;
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

static uint32_t access_of(uint32_t bits)
{
	return ((bits & 4) != 0 ? FS_READABLE : 0) |
	       ((bits & 2) != 0 ? FS_WRITABLE : 0) |
	       ((bits & 1) != 0 ? FS_EXECUTABLE : 0);
}

/* Asking the kernel three times for each name is most of what a list costs. */
static void meta_of(const struct list *l, int dir, const char *name,
		    const struct stat *st, struct fs_meta *meta)
{
	bool ours = st->st_uid != ID_FOREIGN && st->st_gid != ID_FOREIGN;

	if (l->ask || S_ISLNK(st->st_mode) || (l->may_all && !ours)) {
		fs_meta_of(dir, name, st, meta);
		return;
	}
	fs_meta_bare(st, meta);
	if (l->may_all) {
		meta->access = FS_READABLE | FS_WRITABLE;
		if (S_ISDIR(st->st_mode) || (st->st_mode & 0111) != 0)
			meta->access |= FS_EXECUTABLE;
	} else if (st->st_uid == geteuid()) {
		meta->access = access_of(st->st_mode >> 6);
	} else if (group_member(st->st_gid)) {
		meta->access = access_of(st->st_mode >> 3);
	} else {
		meta->access = access_of(st->st_mode);
	}
}

static int tell(struct list *l, int dir, const char *name,
		const struct stat *st)
{
	struct fs_record rec = {.kind = FS_RECORD_ENTRY};

	meta_of(l, dir, name, st, &rec.meta);
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

/* ${on}: it is on the way to where the list goes on, and was told before. */
static int list_one(struct list *l, int dir, const char *name, int depth,
		    bool on)
{
	size_t was = l->path_len;
	struct stat st;
	int r = 0;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone meanwhile */
	if (!push(l, name)) {
		l->end.truncated = true;
		return 0;
	}
	if (!on)
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
	size_t part = after_part(l);
	size_t i;

	if (again < 0)
		return fs_fail(l->op, errno);
	if (read_names(l, again, &names) < 0)
		return -1;
	for (i = 0; i < names.n; i++) {
		bool on = i == 0 && part > 0 &&
			  after_order(l, names.at[0], part) == 0;

		if (!on && l->end.count >= l->max) {
			l->end.truncated = true;
			return 0;
		}
		/* Below it the rest of the path counts, elsewhere none. */
		l->after = on && l->after[part] == '/' ? l->after + part + 1
						       : NULL;
		if (list_one(l, dir, names.at[i], depth, on) < 0)
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

/* Whether modes and owners tell what we may do here. */
static void look_around(struct list *l, int fd)
{
	struct __user_cap_header_struct head = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	struct statvfs fs;

	if (syscall(SYS_capget, &head, data) < 0 || fstatvfs(fd, &fs) < 0 ||
	    (fs.f_flag & ST_RDONLY) != 0)
		l->ask = true;
	l->may_all = (data[0].effective & 1U << CAP_DAC_OVERRIDE) != 0;
	if (!l->may_all && (data[0].effective & 1U << CAP_DAC_READ_SEARCH) != 0)
		l->ask = true;
}

int fs_list_dir(struct fs_op *op)
{
	OWN(list_free) struct list l = {.op = op, .out = BUF_INIT(OUT_MAX)};
	struct stat st;
	int fd;

	if (fs_flag(op, 1, &l.recursive) < 0 || fs_flag(op, 2, &l.hidden) < 0 ||
	    fs_number(op, 3, &l.max) < 0)
		return -1;
	if (op->args > 4 && op->arg[4][0] != '\0')
		l.after = op->arg[4];
	fs_tree_room();
	fd = open(op->arg[0], O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return fs_fail(op, errno);
	look_around(&l, fd);
	if (fstat(fd, &st) == 0)
		fs_meta_of(AT_FDCWD, op->arg[0], &st, &op->head.meta);
	op->head.payload = FS_UNTIL_END;
	if (fs_send_head(op) < 0) {
		close(fd);
		return -1;
	}
	return finish(&l, list_open(&l, fd, 0));
}

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/watch_msg.h"
#include "sandbox/fs.h"
#include "sandbox/fs_op.h"

struct operation {
	const char *name;
	int args;
	int more; /* so many that may be left out */
	int (*run)(struct fs_op *op);
};

static const struct operation operations[] = {
    {"stat", 1, 1, fs_name_stat},
    {"read", 4, 0, fs_read_file},
    {"serve", 1, 0, fs_read_serve},
    {"write", 3, 1, fs_write_file},
    {"append", 1, 2, fs_write_append},
    {"patch", 2, 2, fs_write_patch},
    {"delete", 2, 1, fs_name_delete},
    {"rename", 2, 0, fs_move_rename},
    {"move", 2, 0, fs_move_into},
    {"copy", 4, 0, fs_move_copy},
    {"chmod", 3, 0, fs_name_chmod},
    {"mkdir", 2, 0, fs_name_mkdir},
    {"list", 4, 1, fs_list_dir},
    {"watch", 3, WATCH_GLOBS_MAX, fs_watch_tree},
    {"check", 3, WATCH_GLOBS_MAX, fs_watch_count},
};

struct errno_status {
	int sys;
	enum fs_status status;
};

static const struct errno_status statuses[] = {
    {ENOENT, FS_NOT_FOUND},
    {EEXIST, FS_EXISTS},
    {EISDIR, FS_IS_DIR},
    {ENOTDIR, FS_NOT_DIR},
    {ENXIO, FS_NOT_REGULAR},
    {ENODEV, FS_NOT_REGULAR},
    {ENOTEMPTY, FS_NOT_EMPTY},
    {EACCES, FS_DENIED},
    {EPERM, FS_DENIED},
    {EROFS, FS_READ_ONLY},
    {ENAMETOOLONG, FS_NAME_TOO_LONG},
    {ELOOP, FS_LOOP},
    {ENOSPC, FS_NO_SPACE},
    {EDQUOT, FS_NO_SPACE},
    {EMFILE, FS_TOO_MANY},
    {ENFILE, FS_TOO_MANY},
    {EFBIG, FS_TOO_LARGE},
    {EBUSY, FS_BUSY},
    {ETXTBSY, FS_BUSY},
    {EAGAIN, FS_BUSY},
    {EINVAL, FS_INVALID},
};

static enum fs_status status_of(int sys)
{
	size_t i;

	for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		if (statuses[i].sys == sys)
			return statuses[i].status;
	}
	return FS_IO;
}

int fs_fail(struct fs_op *op, int sys)
{
	op->head.status = status_of(sys);
	op->head.sys = (uint32_t)sys;
	return -1;
}

int fs_fail_as(struct fs_op *op, enum fs_status status)
{
	op->head.status = status;
	op->head.sys = 0;
	return -1;
}

int fs_flag(struct fs_op *op, int i, bool *v)
{
	const char *s = op->arg[i];

	if ((s[0] != '0' && s[0] != '1') || s[1] != '\0')
		return fs_fail_as(op, FS_INVALID);
	*v = s[0] == '1';
	return 0;
}

int fs_number(struct fs_op *op, int i, uint64_t *v)
{
	const char *s = op->arg[i];
	unsigned long long n;
	char *end;

	if (s[0] < '0' || s[0] > '9')
		return fs_fail_as(op, FS_INVALID);
	errno = 0;
	n = strtoull(s, &end, 10);
	if (errno != 0 || *end != '\0' || n > INT64_MAX)
		return fs_fail_as(op, FS_INVALID);
	*v = n;
	return 0;
}

int fs_mode(struct fs_op *op, int i, uint32_t *mode)
{
	const char *s = op->arg[i];
	char *end;
	unsigned long v = strtoul(s, &end, 8);

	if (s[0] < '0' || s[0] > '7' || *end != '\0' || v > 07777)
		return fs_fail_as(op, FS_INVALID);
	*mode = (uint32_t)v;
	return 0;
}

static enum fs_type type_of(mode_t mode)
{
	if (S_ISREG(mode))
		return FS_TYPE_FILE;
	if (S_ISDIR(mode))
		return FS_TYPE_DIR;
	if (S_ISLNK(mode))
		return FS_TYPE_LINK;
	return FS_TYPE_OTHER;
}

void fs_meta_bare(const struct stat *st, struct fs_meta *meta)
{
	memset(meta, 0, sizeof(*meta));
	meta->type = type_of(st->st_mode);
	meta->mode = st->st_mode & 07777;
	meta->size = st->st_size > 0 ? (uint64_t)st->st_size : 0;
	meta->mtime_s = st->st_mtim.tv_sec;
	meta->mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
}

void fs_meta_of(int dir, const char *name, const struct stat *st,
		struct fs_meta *meta)
{
	fs_meta_bare(st, meta);
	if (faccessat(dir, name, R_OK, AT_EACCESS) == 0)
		meta->access |= FS_READABLE;
	if (faccessat(dir, name, W_OK, AT_EACCESS) == 0)
		meta->access |= FS_WRITABLE;
	if (faccessat(dir, name, X_OK, AT_EACCESS) == 0)
		meta->access |= FS_EXECUTABLE;
}

void fs_head_of(struct fs_op *op, int dir, const char *name,
		const struct stat *st)
{
	fs_meta_of(dir, name, st, &op->head.meta);
	op->head.inode = st->st_ino;
	op->head.links = (uint32_t)st->st_nlink;
	op->head.uid = st->st_uid;
	op->head.gid = st->st_gid;
}

bool fs_if_new(const struct fs_op *op, int i)
{
	return i < op->args && strcmp(op->arg[i], "!*") == 0;
}

/* ${list}: "TAG,TAG" */
static bool tag_is_in(const char *list, const struct stat *st)
{
	char tag[FS_TAG_LEN];
	struct fs_meta meta;
	size_t n;

	fs_meta_bare(st, &meta);
	fs_tag(st->st_ino, &meta, tag);
	for (; *list != '\0'; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (n == strlen(tag) && memcmp(list, tag, n) == 0)
			return true;
	}
	return false;
}

int fs_if(struct fs_op *op, int i, const struct stat *st)
{
	const char *want = i < op->args ? op->arg[i] : "-";
	bool same;

	if (strcmp(want, "-") == 0)
		return 0;
	if (want[0] != '=' && want[0] != '!')
		return fs_fail_as(op, FS_INVALID);
	same = st != NULL &&
	       (strcmp(want + 1, "*") == 0 || tag_is_in(want + 1, st));
	return same == (want[0] == '=') ? 0 : fs_fail_as(op, FS_MISMATCH);
}

static int run(const char *name, struct fs_op *op)
{
	size_t i;

	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (strcmp(operations[i].name, name) != 0)
			continue;
		if (op->args < operations[i].args ||
		    op->args > operations[i].args + operations[i].more)
			break;
		return operations[i].run(op);
	}
	return fs_fail_as(op, FS_INVALID);
}

int fs_run(int argc, const char *const *argv)
{
	struct fs_op op = {0}; /* its hold ends with the process */

	if (argc < 1)
		return 1;
	op.arg = argv + 1;
	op.args = argc - 1;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* EFBIG says it */
	umask(022);
	if (run(argv[0], &op) < 0 && op.told)
		return 1;
	if (op.told)
		return 0;
	if (op.head.status != FS_OK)
		op.head.payload = 0;
	return fs_send_head(&op) < 0 ? 1 : 0;
}

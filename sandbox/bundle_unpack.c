/*
 * An archive as a directory: whole, or the target is as it was. Tar with any
 * of the usual compressions is read as it comes; a zip file has its list at
 * its end, so it is stored first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/bundle_stage.h"
#include "sandbox/fs_tree.h"

#define LOOK_BYTES 4U

struct unpack {
	struct bundle *b;
	struct bundle_stage *stage;
	struct archive *in;
	struct bundle_in *chunks;
	int spool;  /* a zip file; -1: none */
	bool whole; /* a backup: also owners, and all bits of modes */
};

static void unpack_free(struct unpack *u)
{
	archive_read_free(u->in);
	own_fd(&u->spool);
	free(u->chunks);
}

/* ---- the archive ---- */

static int archive_failed(struct unpack *u)
{
	const char *why = archive_error_string(u->in);

	if (u->chunks->cut)
		return fs_fail_as(&u->b->op, FS_CUT);
	return bundle_refuse(u->b, "%.300s",
			     why != NULL ? why : "not readable");
}

static bool is_zip(const struct bundle_in *in)
{
	return in->have >= LOOK_BYTES &&
	       (memcmp(in->data, "PK\3\4", LOOK_BYTES) == 0 ||
		memcmp(in->data, "PK\5\6", LOOK_BYTES) == 0);
}

static int spool_zip(struct unpack *u)
{
	struct fs_temp temp = {.fd = -1};
	int r;

	if (fs_temp_open(u->stage->root, &temp) < 0)
		return fs_fail(&u->b->op, errno);
	if (temp.name[0] != '\0') /* nobody needs to find it */
		unlinkat(u->stage->root, temp.name, 0);
	u->spool = temp.fd;
	while ((r = bundle_in_next(u->chunks)) > 0) {
		size_t at = 0;

		while (at < u->chunks->have) {
			ssize_t n = write(u->spool, u->chunks->data + at,
					  u->chunks->have - at);

			if (n < 0 && errno != EINTR)
				return fs_fail(&u->b->op, errno);
			at += n > 0 ? (size_t)n : 0;
		}
	}
	if (r < 0)
		return fs_fail_as(&u->b->op, FS_CUT);
	return lseek(u->spool, 0, SEEK_SET) < 0 ? fs_fail(&u->b->op, errno) : 0;
}

static int read_begin(struct unpack *u)
{
	int r;

	u->in = archive_read_new();
	if (u->in == NULL)
		return fs_fail(&u->b->op, ENOMEM);
	if (bundle_in_look(u->chunks, LOOK_BYTES) < 0)
		return fs_fail_as(&u->b->op, FS_CUT);
	if (is_zip(u->chunks)) {
		if (spool_zip(u) < 0)
			return -1;
		archive_read_support_format_zip_seekable(u->in);
		r = archive_read_open_fd(u->in, u->spool, 65536);
	} else {
		archive_read_support_format_tar(u->in);
		archive_read_support_filter_gzip(u->in);
		archive_read_support_filter_zstd(u->in);
		archive_read_support_filter_bzip2(u->in);
		archive_read_support_filter_xz(u->in);
		r = archive_read_open(u->in, u->chunks, NULL,
				      bundle_in_callback, NULL);
	}
	return r < ARCHIVE_WARN ? archive_failed(u) : 0;
}

/* ---- its entries ---- */

static struct timespec mtime_of(struct archive_entry *e)
{
	struct timespec t = {.tv_nsec = UTIME_NOW};

	if (archive_entry_mtime_is_set(e)) {
		t.tv_sec = archive_entry_mtime(e);
		t.tv_nsec = archive_entry_mtime_nsec(e);
	}
	return t;
}

static mode_t mode_of(const struct unpack *u, struct archive_entry *e)
{
	return archive_entry_perm(e) & (u->whole ? 07777 : 0777);
}

/* Whose it was, if we may give it and he is somebody here. */
static void own_as(struct unpack *u, struct archive_entry *e, int fd,
		   const char *path)
{
	if (!u->whole || geteuid() != 0)
		return;
	if (fchownat(fd, path, (uid_t)archive_entry_uid(e),
		     (gid_t)archive_entry_gid(e),
		     AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		errno = 0;
}

static int put_all(struct unpack *u, int fd, const char *p, size_t n, off_t at)
{
	while (n > 0) {
		ssize_t w = pwrite(fd, p, n, at);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return fs_fail(&u->b->op, errno);
		p += w;
		at += w;
		n -= (size_t)w;
	}
	return 0;
}

static int put_content(struct unpack *u, int fd, la_int64_t size)
{
	const void *p;
	size_t n;
	la_int64_t at, end = size;
	int r;

	while ((r = archive_read_data_block(u->in, &p, &n, &at)) !=
	       ARCHIVE_EOF) {
		if (r < ARCHIVE_WARN)
			return archive_failed(u);
		if (put_all(u, fd, p, n, at) < 0)
			return -1;
		u->b->bytes += n;
		if (at + (la_int64_t)n > end)
			end = at + (la_int64_t)n;
	}
	/* A hole at its end has no data. */
	return ftruncate(fd, end) < 0 ? fs_fail(&u->b->op, errno) : 0;
}

static int put_file(struct unpack *u, struct archive_entry *e, const char *path)
{
	struct timespec t = mtime_of(e);
	OWN(own_fd) int fd = bundle_stage_file(u->stage, path);

	if (fd < 0 || put_content(u, fd, archive_entry_size(e)) < 0)
		return -1;
	own_as(u, e, fd, "");
	if (fchmod(fd, mode_of(u, e)) < 0 ||
	    futimens(fd, (struct timespec[2]){t, t}) < 0)
		return fs_fail(&u->b->op, errno);
	return 0;
}

static int put_hard(struct unpack *u, struct archive_entry *e, const char *path)
{
	char to[4096];

	if (bundle_stage_name(u->b, archive_entry_hardlink(e), to) < 0)
		return -1;
	return bundle_stage_hard(u->stage, path, to);
}

static int put_link(struct unpack *u, struct archive_entry *e, const char *path)
{
	const char *text = archive_entry_symlink(e);

	if (text == NULL || text[0] == '\0')
		return bundle_refuse(u->b, "%.200s is a link to nothing", path);
	if (bundle_stage_link(u->stage, path, text) < 0)
		return -1;
	if (u->whole) {
		bundle_stage_own(u->stage, path, (uid_t)archive_entry_uid(e),
				 (gid_t)archive_entry_gid(e));
		bundle_stage_time(u->stage, path, mtime_of(e));
	}
	return 0;
}

/* A directory; what it is comes at the end, as it may keep us out. */
static int put_dir(struct unpack *u, struct archive_entry *e, const char *path)
{
	if (path[0] != '\0' &&
	    bundle_stage_dir(u->stage, path, mode_of(u, e), mtime_of(e)) < 0)
		return -1;
	if (path[0] == '\0' && u->whole)
		bundle_stage_self(u->stage, mode_of(u, e), mtime_of(e));
	if (u->whole)
		bundle_stage_own(u->stage, path, (uid_t)archive_entry_uid(e),
				 (gid_t)archive_entry_gid(e));
	return 0;
}

static int put_entry(struct unpack *u, struct archive_entry *e)
{
	char path[4096];

	if (++u->b->entries > BUNDLE_ENTRIES_MAX)
		return bundle_refuse(u->b, "there are more than %u entries",
				     BUNDLE_ENTRIES_MAX);
	if (bundle_stage_name(u->b, archive_entry_pathname(e), path) < 0)
		return -1;
	/* The target itself stays as it is, unless it is new. */
	if (path[0] == '\0' &&
	    (!u->whole || archive_entry_filetype(e) != AE_IFDIR))
		return 0;
	if (archive_entry_hardlink(e) != NULL)
		return put_hard(u, e, path);
	switch (archive_entry_filetype(e)) {
	case AE_IFREG:
		return put_file(u, e, path);
	case AE_IFDIR:
		return put_dir(u, e, path);
	case AE_IFLNK:
		return put_link(u, e, path);
	default:
		return bundle_refuse(
		    u->b, "%.200s is no file, directory or link", path);
	}
}

static int put_entries(struct unpack *u)
{
	struct archive_entry *e;
	int r;

	while ((r = archive_read_next_header(u->in, &e)) != ARCHIVE_EOF) {
		if (r < ARCHIVE_WARN)
			return archive_failed(u);
		if (put_entry(u, e) < 0)
			return -1;
	}
	/* What follows the end of the archive was sent all the same. */
	while (u->spool < 0 && !u->chunks->ended) {
		if (bundle_in_next(u->chunks) < 0)
			return fs_fail_as(&u->b->op, FS_CUT);
	}
	return 0;
}

static int unpack_begin(struct unpack *u)
{
	u->chunks = calloc(1, sizeof(*u->chunks));
	if (u->chunks == NULL)
		return fs_fail(&u->b->op, ENOMEM);
	fs_tree_room();
	return 0;
}

int bundle_unpack(struct bundle *b, const char *links, const char *path)
{
	OWN(bundle_stage_close)
	struct bundle_stage stage = BUNDLE_STAGE_INIT(b);
	OWN(unpack_free)
	struct unpack u = {.b = b, .stage = &stage, .spool = -1};
	bool all = strcmp(links, "all") == 0; /* also those leading outside */

	if (!all && strcmp(links, "inside") != 0)
		return fs_fail_as(&b->op, FS_INVALID);
	if (unpack_begin(&u) < 0 || bundle_stage_open(&stage, path) < 0 ||
	    read_begin(&u) < 0 || put_entries(&u) < 0)
		return -1;
	own_fd(&u.spool); /* it may fill the disk */
	if (!all && bundle_stage_inside(&stage) < 0)
		return -1;
	return bundle_stage_commit(&stage);
}

int bundle_unpack_whole(struct bundle *b, struct bundle_stage *stage)
{
	OWN(unpack_free)
	struct unpack u = {.b = b, .stage = stage, .spool = -1, .whole = true};

	if (unpack_begin(&u) < 0 || read_begin(&u) < 0 || put_entries(&u) < 0)
		return -1;
	bundle_stage_dress(stage, stage->root);
	return 0;
}

/*
 * A directory as an archive. Names are told from the directory on. Pipes,
 * sockets and devices are left out. What gets shorter meanwhile breaks it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/bundle.h"
#include "sandbox/bundle_skip.h"
#include "sandbox/fs_path.h"
#include "sandbox/fs_temp.h"
#include "sandbox/fs_tree.h"

#define LOOKS_MAX 100 /* at one name that does not hold still */

struct pack {
	struct bundle *b;
	struct archive *out;
	struct archive_entry_linkresolver *links; /* NULL: a format without */
	struct archive_entry *entry;
	const struct bundle_skip *skip; /* of a backup; NULL: an archive */
	char *data;                     /* BUNDLE_PIECE */
	char path[PATH_MAX];
	size_t path_len;
};

static void pack_free(struct pack *p)
{
	archive_entry_free(p->entry);
	archive_entry_linkresolver_free(p->links);
	archive_write_free(p->out);
	free(p->data);
}

static int out_failed(struct pack *p)
{
	return fs_fail(&p->b->op, errno != 0 ? errno : EIO);
}

struct format {
	const char *name;
	int (*filter)(struct archive *a);
	const char *level; /* of the filter */
};

static const struct format formats[] = {
    {"tar", archive_write_add_filter_none, NULL},
    {"tar.gz", archive_write_add_filter_gzip, "3"},
    {"tar.zst", archive_write_add_filter_zstd, "3"},
};

/* A backup has times in full; others do without a second header for them. */
static int set_tar(struct pack *p)
{
	return p->skip != NULL
		   ? archive_write_set_format_pax(p->out)
		   : archive_write_set_format_pax_restricted(p->out);
}

static bool choose(struct pack *p, const char *name)
{
	size_t i;

	if (strcmp(name, "zip") == 0)
		return archive_write_set_format_zip(p->out) == ARCHIVE_OK;
	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (strcmp(name, formats[i].name) == 0)
			break;
	}
	if (i == sizeof(formats) / sizeof(formats[0]) ||
	    set_tar(p) != ARCHIVE_OK || formats[i].filter(p->out) != ARCHIVE_OK)
		return false;
	if (formats[i].level != NULL &&
	    archive_write_set_filter_option(p->out, NULL, "compression-level",
					    formats[i].level) < ARCHIVE_WARN)
		return false;
	p->links = archive_entry_linkresolver_new();
	if (p->links == NULL)
		return false;
	archive_entry_linkresolver_set_strategy(
	    p->links, ARCHIVE_FORMAT_TAR_PAX_RESTRICTED);
	/* Names as they are, whatever bytes. */
	return archive_write_set_format_option(p->out, "pax", "hdrcharset",
					       "BINARY") >= ARCHIVE_WARN;
}

static int begin(struct pack *p, const char *format)
{
	p->out = archive_write_new();
	p->entry = archive_entry_new();
	p->data = malloc(BUNDLE_PIECE);
	if (p->out == NULL || p->entry == NULL || p->data == NULL)
		return fs_fail(&p->b->op, ENOMEM);
	if (!choose(p, format))
		return fs_fail_as(&p->b->op, FS_INVALID);
	archive_write_set_bytes_per_block(p->out, 65536);
	archive_write_set_bytes_in_last_block(p->out, 1);
	return 0;
}

/*
 * Where the file has no data, so that it takes no more room when it is there
 * again. What is told here is left out of what put_content() gives.
 */
static int put_holes(struct pack *p, int fd, off_t size)
{
	off_t data = 0, hole = 0;
	bool any = false;

	while (hole < size) {
		data = lseek(fd, hole, SEEK_DATA);
		if (data < 0 && errno != ENXIO)
			break;
		if (data < 0 || data >= size) {
			any = true; /* the rest is one */
			break;
		}
		any = any || data > hole;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole <= data)
			break;
		if (hole > size)
			hole = size;
		archive_entry_sparse_add_entry(p->entry, data, hole - data);
	}
	if (!any)
		archive_entry_sparse_clear(p->entry);
	else if (archive_entry_sparse_count(p->entry) == 0)
		archive_entry_sparse_add_entry(p->entry, 0, 0);
	return lseek(fd, 0, SEEK_SET) < 0 ? fs_fail(&p->b->op, errno) : 0;
}

static int put_piece(struct pack *p, size_t n)
{
	if (archive_write_data(p->out, p->data, n) != (la_ssize_t)n)
		return out_failed(p);
	p->b->bytes += n;
	return 0;
}

/* What was told as a hole is not read: nobody looks at these zeros. */
static int put_hole(struct pack *p, int fd, uint64_t *left)
{
	off_t at = lseek(fd, 0, SEEK_CUR);
	off_t data = at < 0 ? -1 : lseek(fd, at, SEEK_DATA);
	uint64_t n = *left;

	if (at < 0 || (data < 0 && errno != ENXIO))
		return fs_fail(&p->b->op, errno);
	if (data >= 0 && (uint64_t)(data - at) < n)
		n = (uint64_t)(data - at);
	memset(p->data, 0, n < BUNDLE_PIECE ? n : BUNDLE_PIECE);
	*left -= n;
	while (n > 0) {
		size_t part = n < BUNDLE_PIECE ? (size_t)n : BUNDLE_PIECE;

		if (put_piece(p, part) < 0)
			return -1;
		n -= part;
	}
	return 0;
}

/* Exactly as many bytes as the header said. */
static int put_content(struct pack *p, int fd, uint64_t left)
{
	bool sparse = archive_entry_sparse_count(p->entry) > 0;
	ssize_t n;

	while (left > 0) {
		if (sparse && put_hole(p, fd, &left) < 0)
			return -1;
		n = read(fd, p->data,
			 left < BUNDLE_PIECE ? (size_t)left : BUNDLE_PIECE);
		if (n < 0 && errno == EINTR)
			continue;
		if (left > 0 && n <= 0)
			return fs_fail(&p->b->op, n < 0 ? errno : EIO);
		if (put_piece(p, (size_t)n) < 0)
			return -1;
		left -= (uint64_t)n;
	}
	return 0;
}

/*
 * In a zip file a name says that it is UTF-8 whenever the locale is, but one
 * that is not cannot be read then.
 */
static void be_honest(const struct pack *p)
{
	if (p->links != NULL)
		return;
	setlocale(LC_CTYPE, "C.utf8");
	if (mbstowcs(NULL, p->path, 0) == (size_t)-1)
		setlocale(LC_CTYPE, "C");
}

static int put_entry(struct pack *p, const struct stat *st, int fd)
{
	struct archive_entry *e = p->entry, *later = NULL;

	be_honest(p);

	archive_entry_copy_stat(e, st);
	archive_entry_copy_pathname(e, p->path);
	if (p->skip != NULL && fd >= 0 && st->st_nlink == 1 &&
	    put_holes(p, fd, st->st_size) < 0)
		return -1;
	if (p->skip != NULL && ++p->b->entries > BUNDLE_ENTRIES_MAX)
		return bundle_refuse(p->b, "there are more than %u entries",
				     BUNDLE_ENTRIES_MAX);
	if (p->links != NULL && S_ISREG(st->st_mode))
		archive_entry_linkify(p->links, &e, &later);
	if (e == NULL || later != NULL)
		return fs_fail(&p->b->op, EIO);
	if (archive_write_header(p->out, e) < ARCHIVE_WARN)
		return out_failed(p);
	if (fd >= 0 && archive_entry_hardlink(e) == NULL &&
	    put_content(p, fd, (uint64_t)st->st_size) < 0)
		return -1;
	return archive_write_finish_entry(p->out) < ARCHIVE_WARN ? out_failed(p)
								 : 0;
}

static int pack_at(struct pack *p, int dir, const char *name, int depth);

static int pack_inside(struct pack *p, int fd, int depth)
{
	DIR *d = fdopendir(fd);
	struct dirent *ent;
	size_t was = p->path_len;
	int r = 0;

	if (d == NULL) {
		close(fd);
		return fs_fail(&p->b->op, ENOMEM);
	}
	while (r == 0 && (errno = 0, ent = readdir(d)) != NULL) {
		size_t n = strlen(ent->d_name);

		if (strcmp(ent->d_name, ".") == 0 ||
		    strcmp(ent->d_name, "..") == 0)
			continue;
		if (was + n + 2 > sizeof(p->path)) {
			r = fs_fail(&p->b->op, ENAMETOOLONG);
			break;
		}
		memcpy(p->path + was, ent->d_name, n + 1);
		p->path_len = was + n;
		if (p->skip != NULL && (fs_temp_is(ent->d_name) ||
					bundle_skip_hits(p->skip, p->path)))
			continue;
		r = pack_at(p, dirfd(d), ent->d_name, depth + 1);
	}
	if (r == 0 && errno != 0)
		r = fs_fail(&p->b->op, errno);
	if (r == 0) { /* else it says where */
		p->path_len = was;
		p->path[was] = '\0';
	}
	closedir(d);
	return r;
}

static int pack_dir(struct pack *p, int fd, const struct stat *st, int depth)
{
	p->path[p->path_len++] = '/';
	p->path[p->path_len] = '\0';
	archive_entry_clear(p->entry);
	if (put_entry(p, st, -1) < 0) {
		close(fd);
		return -1;
	}
	return pack_inside(p, fd, depth);
}

/* ${again}: it is something else by now. */
static int pack_link(struct pack *p, int dir, const char *name,
		     const struct stat *st, bool *again)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(dir, name, text, sizeof(text) - 1);

	*again = n < 0 && errno == EINVAL;
	if (n < 0)
		return *again || errno == ENOENT ? 0
						 : fs_fail(&p->b->op, errno);
	text[n] = '\0';
	archive_entry_clear(p->entry);
	archive_entry_copy_symlink(p->entry, text);
	return put_entry(p, st, -1);
}

/* What is gone meanwhile is left out. */
static int pack_now(struct pack *p, int dir, const char *name, int depth,
		    bool *again)
{
	OWN(own_fd) int fd = -1;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fs_fail(&p->b->op, errno);
	if (S_ISLNK(st.st_mode))
		return pack_link(p, dir, name, &st, again);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	fd = openat(dir, name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	*again = fd < 0 && errno == ELOOP;
	if (fd < 0)
		return *again || errno == ENOENT ? 0
						 : fs_fail(&p->b->op, errno);
	if (fstat(fd, &st) < 0)
		return fs_fail(&p->b->op, errno);
	if (S_ISDIR(st.st_mode))
		return pack_dir(p, STEAL_FD(fd), &st, depth);
	if (!S_ISREG(st.st_mode))
		return 0;
	archive_entry_clear(p->entry);
	return put_entry(p, &st, fd);
}

/* A name that is given to something else while we look is looked at again. */
static int pack_at(struct pack *p, int dir, const char *name, int depth)
{
	bool again = true;
	int r = 0;

	if (depth > FS_DEPTH_MAX)
		return fs_fail_as(&p->b->op, FS_TOO_DEEP);
	for (int i = 0; again && i < LOOKS_MAX; i++) {
		again = false;
		r = pack_now(p, dir, name, depth, &again);
	}
	return again ? fs_fail_as(&p->b->op, FS_BUSY) : r;
}

/* What the directory itself is. */
static int pack_self(struct pack *p, const struct stat *st)
{
	memcpy(p->path, "./", sizeof("./"));
	archive_entry_clear(p->entry);
	if (put_entry(p, st, -1) < 0)
		return -1;
	p->path[0] = '\0';
	return 0;
}

/* The path itself is followed; a file is an archive of one. */
static int pack_root(struct pack *p, const char *path, int fd)
{
	OWN(fs_at_close) struct fs_at at = {.dir = -1};
	struct stat st;

	if (fstat(fd, &st) < 0) {
		close(fd);
		return fs_fail(&p->b->op, errno);
	}
	if (S_ISDIR(st.st_mode) && p->skip != NULL && pack_self(p, &st) < 0) {
		close(fd);
		return -1;
	}
	if (S_ISDIR(st.st_mode))
		return pack_inside(p, fd, 0);
	close(fd);
	if (fs_path_target(&p->b->op, path, false, &at) < 0)
		return -1;
	p->path_len = strlen(at.name);
	memcpy(p->path, at.name, p->path_len + 1);
	return pack_at(p, at.dir, at.name, 0);
}

/* The head, and then all of it. What was asked for is a directory, or a file
 * if it is no backup. */
static int pack_all(struct pack *p, const char *path)
{
	OWN(own_fd) int fd = -1;
	struct fs_op *op = &p->b->op;
	uint32_t end = 0;
	struct stat st;

	fs_tree_room();
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fs_fail(op, errno);
	if (p->skip != NULL && !S_ISDIR(st.st_mode))
		return fs_fail_as(op, FS_NOT_DIR);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return fs_fail_as(op, FS_NOT_REGULAR);
	op->head.payload = FS_UNTIL_END;
	fs_meta_bare(&st, &op->head.meta);
	if (fs_send_head(op) < 0 ||
	    archive_write_open(p->out, NULL, NULL, bundle_out_callback, NULL) !=
		ARCHIVE_OK)
		return -1;
	if (pack_root(p, path, STEAL_FD(fd)) < 0) {
		archive_write_fail(p->out); /* and no end of it */
		return -1;
	}
	if (archive_write_close(p->out) < ARCHIVE_WARN)
		return fs_fail(op, EIO);
	return fs_send(&end, sizeof(end));
}

int bundle_pack(struct bundle *b, const char *format, const char *path)
{
	OWN(pack_free) struct pack p = {.b = b};

	return begin(&p, format) < 0 ? -1 : pack_all(&p, path);
}

int bundle_pack_whole(struct bundle *b, const struct bundle_skip *skip,
		      const char *path, char where[BUNDLE_TEXT_MAX])
{
	OWN(pack_free) struct pack p = {.b = b, .skip = skip};

	where[0] = '\0';
	if (begin(&p, "tar.zst") < 0)
		return -1;
	if (pack_all(&p, path) == 0)
		return 0;
	snprintf(where, BUNDLE_TEXT_MAX, "%.*s", (int)BUNDLE_TEXT_MAX - 1,
		 p.path);
	return -1;
}

/*
 * A directory as an archive. Names are told from the directory on. Pipes,
 * sockets and devices are left out. What gets shorter meanwhile breaks it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/bundle.h"
#include "sandbox/fs_path.h"
#include "sandbox/fs_tree.h"

struct pack {
	struct bundle *b;
	struct archive *out;
	struct archive_entry_linkresolver *links; /* NULL: a format without */
	struct archive_entry *entry;
	char *data; /* BUNDLE_PIECE */
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
	    archive_write_set_format_pax_restricted(p->out) != ARCHIVE_OK ||
	    formats[i].filter(p->out) != ARCHIVE_OK)
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

/* Exactly as many bytes as the header said. */
static int put_content(struct pack *p, int fd, uint64_t left)
{
	ssize_t n;

	while (left > 0) {
		n = read(fd, p->data,
			 left < BUNDLE_PIECE ? (size_t)left : BUNDLE_PIECE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fs_fail(&p->b->op, n < 0 ? errno : EIO);
		if (archive_write_data(p->out, p->data, (size_t)n) != n)
			return out_failed(p);
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
		r = pack_at(p, dirfd(d), ent->d_name, depth + 1);
	}
	if (r == 0 && errno != 0)
		r = fs_fail(&p->b->op, errno);
	p->path_len = was;
	p->path[was] = '\0';
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

static int pack_link(struct pack *p, int dir, const char *name,
		     const struct stat *st)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(dir, name, text, sizeof(text) - 1);

	if (n < 0)
		return errno == ENOENT ? 0 : fs_fail(&p->b->op, errno);
	text[n] = '\0';
	archive_entry_clear(p->entry);
	archive_entry_copy_symlink(p->entry, text);
	return put_entry(p, st, -1);
}

/* What is gone meanwhile is left out. */
static int pack_at(struct pack *p, int dir, const char *name, int depth)
{
	OWN(own_fd) int fd = -1;
	struct stat st;

	if (depth > FS_DEPTH_MAX)
		return fs_fail_as(&p->b->op, FS_TOO_DEEP);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fs_fail(&p->b->op, errno);
	if (S_ISLNK(st.st_mode))
		return pack_link(p, dir, name, &st);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	fd = openat(dir, name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ELOOP
			   ? 0
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

/* The path itself is followed; a file is an archive of one. */
static int pack_root(struct pack *p, const char *path, int fd)
{
	OWN(fs_at_close) struct fs_at at = {.dir = -1};
	struct stat st;

	if (fstat(fd, &st) < 0) {
		close(fd);
		return fs_fail(&p->b->op, errno);
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

int bundle_pack(struct bundle *b, const char *format, const char *path)
{
	OWN(pack_free) struct pack p = {.b = b};
	uint32_t end = 0;
	struct stat st;
	int fd;

	if (begin(&p, format) < 0)
		return -1;
	fs_tree_room();
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fs_fail(&b->op, errno);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
		close(fd);
		return fs_fail_as(&b->op, FS_NOT_REGULAR);
	}
	b->op.head.payload = FS_UNTIL_END;
	fs_meta_bare(&st, &b->op.head.meta);
	if (fs_send_head(&b->op) < 0 ||
	    archive_write_open(p.out, NULL, NULL, bundle_out_callback, NULL) !=
		ARCHIVE_OK) {
		close(fd);
		return -1;
	}
	if (pack_root(&p, path, fd) < 0) {
		archive_write_fail(p.out); /* and no end of it */
		return -1;
	}
	if (archive_write_close(p.out) < ARCHIVE_WARN)
		return -1;
	return fs_send(&end, sizeof(end));
}

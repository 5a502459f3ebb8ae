#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/own.h"
#include "fcgi/backup_file.h"

#define PART ".part"
#define LAST ".tar.zst"
#define NAME_LEN (CTL_BACKUP_ID_LEN + sizeof(LAST))

static void name_of(const char *id, const char *end, char out[NAME_LEN])
{
	snprintf(out, NAME_LEN, "%s%s", id, end);
}

static int dir_open(const char *data_dir, const char *tenant)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/backups/%s", data_dir, tenant) >=
	    (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The tenant's directory, with its first backup. */
static int dir_make(const char *data_dir, const char *tenant)
{
	char path[PATH_MAX];
	OWN(own_fd) int all = -1;
	int fd = dir_open(data_dir, tenant);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	snprintf(path, sizeof(path), "%s/backups", data_dir);
	all = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (all < 0 || (mkdirat(all, tenant, 0700) < 0 && errno != EEXIST) ||
	    fsync(all) < 0)
		return -1;
	return dir_open(data_dir, tenant);
}

enum err backup_file_make(const char *data_dir, const char *tenant,
			  const char *id, struct backup_file *f,
			  struct errinfo *e)
{
	char name[NAME_LEN];

	f->dir = dir_make(data_dir, tenant);
	if (f->dir < 0)
		return err_set(e, ERR_IO, errno, "directory for backups");
	snprintf(f->id, sizeof(f->id), "%s", id);
	name_of(id, PART, name);
	f->fd = openat(f->dir, name,
		       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	if (f->fd < 0)
		return err_set(e, ERR_IO, errno, "new backup");
	/* Who looks for leftovers may have been quicker. */
	if (flock(f->fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, ERR_IO, errno, "lock of a backup");
	return ERR_NONE;
}

bool backup_file_room(const struct backup_file *f, int64_t bytes)
{
	struct statvfs v;

	return fstatvfs(f->fd, &v) == 0 &&
	       (uint64_t)v.f_bavail * v.f_frsize >=
		   (uint64_t)(bytes + BACKUP_FILE_KEEP_FREE);
}

enum err backup_file_write(struct backup_file *f, const void *p, size_t n,
			   struct errinfo *e)
{
	const char *at = p;

	while (n > 0) {
		ssize_t w = write(f->fd, at, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return err_set(e,
				       errno == ENOSPC || errno == EDQUOT
					   ? ERR_LIMIT
					   : ERR_IO,
				       errno, "write of a backup");
		at += w;
		n -= (size_t)w;
	}
	return ERR_NONE;
}

enum err backup_file_sync(struct backup_file *f, struct errinfo *e)
{
	return fsync(f->fd) < 0 ? err_set(e, ERR_IO, errno, "fsync") : ERR_NONE;
}

enum err backup_file_keep(struct backup_file *f, struct errinfo *e)
{
	char part[NAME_LEN], last[NAME_LEN];

	name_of(f->id, PART, part);
	name_of(f->id, LAST, last);
	if (renameat(f->dir, part, f->dir, last) < 0 || fsync(f->dir) < 0)
		return err_set(e, ERR_IO, errno, "name of a backup");
	return ERR_NONE;
}

/* Both names; 0, or -1 when one may be there still. */
static int unlink_both(int dir, const char *id)
{
	const char *const ends[] = {PART, LAST};
	char name[NAME_LEN];
	int r = 0;

	for (size_t i = 0; i < 2; i++) {
		name_of(id, ends[i], name);
		if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
			r = -1;
	}
	return r;
}

void backup_file_drop(struct backup_file *f)
{
	if (f->fd >= 0)
		(void)unlink_both(f->dir, f->id);
}

void backup_file_close(struct backup_file *f)
{
	own_fd(&f->fd);
	own_fd(&f->dir);
}

enum err backup_file_open(const char *data_dir, const struct ctl_backup *b,
			  int *fd, struct errinfo *e)
{
	OWN(own_fd) int dir = dir_open(data_dir, b->tenant);
	char name[NAME_LEN];

	name_of(b->id, LAST, name);
	*fd = dir < 0 ? -1
		      : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd >= 0)
		return ERR_NONE;
	return err_set(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno,
		       "backup %s", b->id);
}

/* One that is there and that nobody holds can be locked. */
static bool is_held(int dir, const char *name, bool *there)
{
	OWN(own_fd)
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	*there = fd >= 0;
	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

bool backup_file_made(const char *data_dir, const struct ctl_backup *b)
{
	OWN(own_fd) int dir = dir_open(data_dir, b->tenant);
	char name[NAME_LEN];
	bool there;

	if (dir < 0)
		return false;
	/* In the order in which it has these names. */
	name_of(b->id, PART, name);
	if (is_held(dir, name, &there))
		return true;
	if (there)
		return false;
	name_of(b->id, LAST, name);
	return is_held(dir, name, &there);
}

enum err backup_file_remove(const char *data_dir, const struct ctl_backup *b,
			    struct errinfo *e)
{
	OWN(own_fd) int dir = dir_open(data_dir, b->tenant);

	if (dir < 0 && errno == ENOENT)
		return ERR_NONE;
	if (dir < 0 || unlink_both(dir, b->id) < 0 || fsync(dir) < 0)
		return err_set(e, ERR_IO, errno, "backup %s", b->id);
	return ERR_NONE;
}

/* ---- all of them ---- */

static void each_file(int dir, const char *name,
		      bool (*each)(void *ctx, const char *id, bool part),
		      void *ctx)
{
	char id[CTL_BACKUP_ID_LEN + 1];
	const char *end = name + CTL_BACKUP_ID_LEN;
	OWN(own_fd) int fd = -1;
	bool part;

	if (strlen(name) <= CTL_BACKUP_ID_LEN)
		return;
	part = strcmp(end, PART) == 0;
	if (!part && strcmp(end, LAST) != 0)
		return;
	memcpy(id, name, CTL_BACKUP_ID_LEN);
	id[CTL_BACKUP_ID_LEN] = '\0';
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && each(ctx, id, part))
		unlinkat(dir, name, 0);
}

static void each_in(int fd, bool (*each)(void *ctx, const char *id, bool part),
		    void *ctx)
{
	DIR *d = fdopendir(fd);
	struct dirent *ent;

	if (d == NULL) {
		close(fd);
		return;
	}
	while ((ent = readdir(d)) != NULL)
		each_file(dirfd(d), ent->d_name, each, ctx);
	closedir(d);
}

void backup_file_each(const char *data_dir,
		      bool (*each)(void *ctx, const char *id, bool part),
		      void *ctx)
{
	char path[PATH_MAX];
	struct dirent *ent;
	DIR *d;

	snprintf(path, sizeof(path), "%s/backups", data_dir);
	d = opendir(path);
	while (d != NULL && (ent = readdir(d)) != NULL) {
		int fd = -1;

		if (ent->d_name[0] != '.')
			fd = openat(dirfd(d), ent->d_name,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					O_CLOEXEC);
		if (fd >= 0)
			each_in(fd, each, ctx);
	}
	if (d != NULL)
		closedir(d);
}

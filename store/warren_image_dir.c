#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "store/warren_image_dir.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define ABOUT "about"
#define ABOUT_FORM "files=%llu\nbytes=%llu\nhas=%u\nimported=%lld\n"

static void dir_free(DIR **d)
{
	if (*d != NULL)
		closedir(*d);
}

static DIR *dir_list(int at, const char *name)
{
	int fd = openat(at, name,
			O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d == NULL)
		own_fd(&fd);
	return d;
}

/* ---- removal ---- */

/*
 * Without recursion: a tree may be deeper than our stack. A directory that is
 * not empty moves up to the top, under a name that nothing there has.
 */
static bool remove_one(int top, DIR *d, const char *name, unsigned *n)
{
	char up[32];

	if (unlinkat(dirfd(d), name, 0) == 0 ||
	    (errno == EISDIR && unlinkat(dirfd(d), name, AT_REMOVEDIR) == 0))
		return true;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return false;
	do {
		snprintf(up, sizeof(up), ".%u", (*n)++);
	} while (faccessat(top, up, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	return renameat(dirfd(d), name, top, up) == 0;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* All entries of one directory are gone, or are at the top. */
static bool remove_entries(int top, const char *name, unsigned *n)
{
	OWN(dir_free) DIR *d = dir_list(top, name);
	struct dirent *entry;

	if (d == NULL)
		return false;
	while ((entry = readdir(d)) != NULL)
		if (!is_dots(entry->d_name) &&
		    !remove_one(top, d, entry->d_name, n))
			return false;
	return true;
}

static bool remove_tops(int top, bool *more, unsigned *n)
{
	OWN(dir_free) DIR *d = dir_list(top, ".");
	struct dirent *entry;

	*more = false;
	if (d == NULL)
		return false;
	while ((entry = readdir(d)) != NULL) {
		if (is_dots(entry->d_name))
			continue;
		*more = true;
		if (unlinkat(top, entry->d_name, 0) == 0)
			continue;
		if (errno != EISDIR || !remove_entries(top, entry->d_name, n) ||
		    unlinkat(top, entry->d_name, AT_REMOVEDIR) != 0)
			return false;
	}
	return true;
}

enum err warren_image_dir_remove(int dir, const char *name, struct errinfo *e)
{
	OWN(own_fd)
	int top = openat(dir, name,
			 O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	unsigned n = 0;
	bool more = top >= 0;

	while (more)
		if (!remove_tops(top, &more, &n))
			return err_set(e, ERR_IO, errno,
				       "%.60s cannot be removed whole", name);
	if (top < 0 || unlinkat(dir, name, AT_REMOVEDIR) != 0)
		return err_set(e, ERR_IO, errno, "%.60s cannot be removed",
			       name);
	return ERR_NONE;
}

/* ---- the directory ---- */

void warren_image_dir_temp(const char *name, const char *suffix, char out[64])
{
	snprintf(out, 64, ".%.31s%s", name, suffix);
}

/* One entry that begins with a dot; image_host's own do not. */
static enum err sweep_one(int dir, const char *name, struct errinfo *e)
{
	const char *suffix = strrchr(name, '.');
	char back[64];

	if (strcmp(suffix, IMAGE_HELD) != 0)
		return warren_image_dir_remove(dir, name, e);
	snprintf(back, sizeof(back), "%.*s", (int)(suffix - name - 1),
		 name + 1);
	return warren_image_dir_move(dir, name, back, e);
}

static enum err dir_sweep(int dir, struct errinfo *e)
{
	OWN(dir_free) DIR *d = dir_list(dir, ".");
	struct dirent *entry;
	enum err r = ERR_NONE;

	while (d != NULL && r == ERR_NONE && (entry = readdir(d)) != NULL)
		if (entry->d_type == DT_DIR && entry->d_name[0] == '.' &&
		    !is_dots(entry->d_name))
			r = sweep_one(dir, entry->d_name, e);
	return r;
}

enum err warren_image_dir_open(struct cli *cli, int *fd, struct errinfo *e)
{
	char path[PATH_MAX];

	if (geteuid() != 0)
		return err_set(e, ERR_DENIED, 0,
			       "only root may do that (sudo warren ...)");
	if ((size_t)snprintf(path, sizeof(path), "%s/images", cli->data) >=
	    sizeof(path))
		return err_set(e, ERR_ARG, 0, "the data directory's name");
	*fd = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return err_set(e, ERR_NOT_FOUND, errno == ENOENT ? 0 : errno,
			       "there is no %.150s: run nginx/serve --prepare "
			       "first",
			       path);
	return ERR_NONE;
}

enum err warren_image_dir_lock(struct cli *cli, int *fd, struct errinfo *e)
{
	OWN(own_fd) int dir = -1;
	enum err r = warren_image_dir_open(cli, &dir, e);

	if (r != ERR_NONE)
		return r;
	if (flock(dir, LOCK_EX | LOCK_NB) != 0)
		return err_set(e, ERR_STATE, 0,
			       "another import or removal is under way");
	r = dir_sweep(dir, e);
	if (r == ERR_NONE)
		*fd = STEAL_FD(dir);
	return r;
}

enum err warren_image_dir_name(const char *name, struct errinfo *e)
{
	size_t n = strlen(name);

	if (n == 0 || n > IMAGE_NAME_MAX || strspn(name, NAME_LETTERS) != n)
		return err_set(e, ERR_ARG, 0,
			       "an image's name is 1 to %d of a-z 0-9 -",
			       IMAGE_NAME_MAX);
	if (strcmp(name, IMAGE_HOST) == 0)
		return err_set(e, ERR_ARG, 0,
			       "image host is this machine's own /usr: "
			       "nginx/serve makes it");
	return ERR_NONE;
}

bool warren_image_dir_has(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

enum err warren_image_dir_move(int dir, const char *from, const char *to,
			       struct errinfo *e)
{
	if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) != 0 ||
	    fsync(dir) != 0)
		return err_set(e, ERR_IO, errno, "%.60s", to);
	return ERR_NONE;
}

/* ---- what is known of one ---- */

enum err warren_image_dir_note(int image, const struct image_about *about,
			       struct errinfo *e)
{
	OWN(own_fd)
	int fd = openat(image, ABOUT, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			0600);

	if (fd < 0 ||
	    dprintf(fd, ABOUT_FORM, (unsigned long long)about->done.files,
		    (unsigned long long)about->done.bytes, about->done.has,
		    (long long)about->imported) < 0 ||
	    syncfs(fd) != 0)
		return err_set(e, ERR_IO, errno, "the image's " ABOUT);
	return ERR_NONE;
}

void warren_image_dir_about(int dir, const char *name,
			    struct image_about *about)
{
	char path[64], text[256] = "";
	unsigned long long files, bytes;
	long long imported;
	unsigned has;
	OWN(own_fd) int fd = -1;

	*about = (struct image_about){.imported = 0};
	snprintf(path, sizeof(path), "%.31s/" ABOUT, name);
	fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, ABOUT_FORM, &files, &bytes, &has, &imported) != 4)
		return;
	*about = (struct image_about){
	    .done = {.files = files, .bytes = bytes, .has = has},
	    .imported = imported};
}

/*
 * What archives and backups are read by, unpacked into a directory: the first
 * byte says how. Every name that is made, moved or linked is seen to be one
 * part below a descriptor before the system does it, so that an escape is a
 * crash here and nothing else. What is refused leaves nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "base/wire.h"
#include "sandbox/bundle.h"
#include "sandbox/bundle_stage.h"
#include "sandbox/fs_path.h"
#include "sandbox/fs_tree.h"
#include "tests/fuzz/fuzz.h"

#define MADE_MAX 200
#define FILE_BYTES_MAX (256U << 10)

static int names_made; /* names, by this input */

/* ---- what the code under test may do ---- */

static void see(int dir, const char *name)
{
	must(dir >= 0 && strchr(name, '/') == NULL && strcmp(name, "..") != 0);
}

/* So many as fit into 4 KiB of zstd are more than a disk has. */
static int see_made(int dir, const char *name)
{
	see(dir, name);
	if (++names_made <= MADE_MAX)
		return 0;
	errno = ENOSPC;
	return -1;
}

static int see_openat(int dir, const char *name, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	see(dir, name);
	if ((flags & O_CREAT) != 0) {
		must((flags & (O_EXCL | O_NOFOLLOW)) == (O_EXCL | O_NOFOLLOW));
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
		if (see_made(dir, name) < 0)
			return -1;
	}
	return openat(dir, name, flags, mode);
}

static int see_mkdirat(int dir, const char *name, mode_t mode)
{
	return see_made(dir, name) < 0 ? -1 : mkdirat(dir, name, mode);
}

static int see_symlinkat(const char *text, int dir, const char *name)
{
	return see_made(dir, name) < 0 ? -1 : symlinkat(text, dir, name);
}

static int see_linkat(int from, const char *old, int dir, const char *name,
		      int flags)
{
	see(from, old);
	must(flags == 0);
	return see_made(dir, name) < 0 ? -1
				       : linkat(from, old, dir, name, flags);
}

static int see_renameat(int from, const char *old, int dir, const char *name)
{
	see(from, old);
	see(dir, name);
	return renameat(from, old, dir, name);
}

static int see_unlinkat(int dir, const char *name, int flags)
{
	see(dir, name);
	return unlinkat(dir, name, flags);
}

static int see_fchownat(int dir, const char *name, uid_t uid, gid_t gid,
			int flags)
{
	see(dir, name);
	must(name[0] == '\0' || (flags & AT_SYMLINK_NOFOLLOW) != 0);
	return fchownat(dir, name, uid, gid, flags);
}

static int see_utimensat(int dir, const char *name, const struct timespec *t,
			 int flags)
{
	see(dir, name);
	must(name[0] == '\0' || (flags & AT_SYMLINK_NOFOLLOW) != 0);
	return utimensat(dir, name, t, flags);
}

#define openat see_openat
#define mkdirat see_mkdirat
#define symlinkat see_symlinkat
#define linkat see_linkat
#define renameat see_renameat
#define unlinkat see_unlinkat
#define fchownat see_fchownat
#define utimensat see_utimensat
#include "sandbox/bundle_stage.c"
#include "sandbox/bundle_unpack.c"
#undef openat
#undef mkdirat
#undef symlinkat
#undef linkat
#undef renameat
#undef unlinkat
#undef fchownat
#undef utimensat

/* ---- where it does it ---- */

static struct {
	char path[64];
	int dir;
	int input;
} place = {.dir = -1};

static void place_remove(void)
{
	struct fs_op quiet = {0};

	(void)fs_tree_remove(&quiet, AT_FDCWD, place.path);
}

static void place_make(void)
{
	struct rlimit few = {FILE_BYTES_MAX, FILE_BYTES_MAX};

	if (place.dir >= 0)
		return;
	snprintf(place.path, sizeof(place.path), "%s/fuzz_bundle.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	must(mkdtemp(place.path) != NULL);
	atexit(place_remove);
	place.dir = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	place.input = memfd_create("input", MFD_CLOEXEC);
	must(place.dir >= 0 && place.input >= 0);
	must(mkdirat(place.dir, "in", 0755) == 0);
	must(symlinkat("in", place.dir, "kept") == 0);
	signal(SIGXFSZ, SIG_IGN);
	must(setrlimit(RLIMIT_FSIZE, &few) == 0);
	setlocale(LC_CTYPE, "C.utf8");
}

/* As a worker sends it: chunks, and their end. */
static void give(const uint8_t *data, size_t n)
{
	OWN(buf_free) struct buf b = BUF_INIT(n + 16);

	if (n > 0)
		wire_u32(&b, (uint32_t)n);
	buf_add(&b, data, n);
	wire_u32(&b, 0);
	must(ftruncate(place.input, 0) == 0);
	must(pwrite(place.input, b.data, b.len, 0) == (ssize_t)b.len);
	must(lseek(place.input, 0, SEEK_SET) == 0);
	must(dup2(place.input, STDIN_FILENO) == STDIN_FILENO);
}

/* ---- what is there then ---- */

static size_t count(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	size_t n = 0;

	must(d != NULL);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

struct walk {
	int top;
	bool inside; /* links must not lead outside */
	char path[PATH_MAX];
};

static void walk(struct walk *w, int dir, size_t len);

static void walk_one(struct walk *w, int dir, const char *name, size_t len)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_BENEATH |
					  RESOLVE_NO_MAGICLINKS};
	OWN(own_fd) int fd = -1;
	struct stat st;

	must(len + strlen(name) + 2 < sizeof(w->path));
	memcpy(w->path + len, name, strlen(name) + 1);
	must(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0);
	must(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode));
	if (S_ISLNK(st.st_mode) && w->inside) {
		fd = (int)syscall(SYS_openat2, w->top, w->path, &how,
				  sizeof(how));
		must(fd >= 0 || errno != EXDEV);
	}
	if (!S_ISDIR(st.st_mode))
		return;
	must(fchmodat(dir, name, 0700, 0) == 0);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	must(fd >= 0);
	len += strlen(name);
	w->path[len++] = '/';
	walk(w, fd, len);
}

static void walk(struct walk *w, int dir, size_t len)
{
	DIR *d = fdopendir(dup(dir));
	const struct dirent *ent;

	must(d != NULL);
	while ((ent = readdir(d)) != NULL)
		if (strcmp(ent->d_name, ".") != 0 &&
		    strcmp(ent->d_name, "..") != 0)
			walk_one(w, dir, ent->d_name, len);
	closedir(d);
}

static void check(int result, uint8_t how)
{
	struct walk w = {.inside = how == 0};

	must(count(place.dir, ".") == 2);
	must(count(place.dir, "in") == 1);
	must(fchmodat(place.dir, "in/t", 0700, 0) == 0);
	w.top = openat(place.dir, "in/t",
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	must(w.top >= 0);
	if (result < 0)
		must(count(w.top, ".") == 0);
	else
		walk(&w, w.top, 0);
	close(w.top);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fs_op quiet = {0};
	struct bundle *b;
	char path[80];
	uint8_t how;
	int r;

	if (n < 1)
		return 0;
	place_make();
	b = calloc(1, sizeof(*b));
	must(b != NULL);
	must(mkdirat(place.dir, "in/t", 0755) == 0);
	snprintf(path, sizeof(path), "%s/in/t", place.path);
	give(data + 1, n - 1);
	names_made = 0;
	how = data[0] % 3;
	if (how == 2)
		r = bundle_restore(b, path);
	else
		r = bundle_unpack(b, how == 0 ? "inside" : "all", path);
	must(r == 0 || b->op.head.status != FS_OK);
	must(memchr(b->text, 0, sizeof(b->text)) != NULL);
	check(r, how);
	must(fs_tree_remove(&quiet, place.dir, "in/t") == 0);
	free(b);
	return 0;
}

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "sandbox/berth.h"
#include "sandbox/child.h"
#include "sandbox/disk_image.h"
#include "sandbox/disk_loop.h"
#include "sandbox/disk_parts.h"

#define MKE2FS "/usr/sbin/mke2fs"
#define TUNE2FS "/usr/sbin/tune2fs"
#define E2FSCK "/usr/sbin/e2fsck"
#define IMAGE_PATH "/proc/self/fd/3"
#define MAKE_LIMIT_MS 30000
#define BLOCK UINT64_C(4096)
#define INODE UINT64_C(256)
#define GROUP (BLOCK * 8 * BLOCK)
#define KERNEL_RESERVE_MAX UINT64_C(4096) /* blocks */
#define OWN_DIRS DISK_PARTS_DIRS
#define OWN_INODES (OWN_DIRS + 11) /* lost+found, and the first 10 */
#define SLACK (UINT64_C(1) << 20)
#define INODES_MAX (UINT64_C(1) << 31)
#define PREFIX "disk-v2-"
#define CHECKER (BERTH_DISK_BASE - 2)

/* Explicit: what a host's mke2fs.conf says is of no interest. */
#define FEATURES                                                               \
	"none,sparse_super,large_file,filetype,dir_index,ext_attr,extent,"     \
	"flex_bg,huge_file,dir_nlink,extra_isize,metadata_csum,64bit"

/* struct ext4_super_block, what is read of it here; Source: kernel
 * Documentation/filesystems/ext4/super.rst. */
#define SUPER_AT 1024
#define SUPER_LEN 1024
#define DESCRIPTOR_LEN 64 /* of a group; they begin in the second block */
#define SUPER_BLOCKS_LO 0x04
#define SUPER_FREE_LO 0x0c
#define SUPER_MAGIC_AT 0x38
#define SUPER_STATE 0x3a
#define SUPER_BLOCKS_HI 0x150
#define SUPER_FREE_HI 0x158
#define SUPER_MAGIC 0xef53
#define STATE_VALID 1U
#define STATE_ERROR 2U

static uint32_t le16(const uint8_t *p)
{
	return (uint32_t)(p[0] | p[1] << 8);
}

static uint64_t le32(const uint8_t *p)
{
	return le16(p) | (uint64_t)le16(p + 2) << 16;
}

static bool super_read(int fd, uint8_t super[SUPER_LEN])
{
	return pread(fd, super, SUPER_LEN, SUPER_AT) == SUPER_LEN;
}

static uint64_t super_u64(const uint8_t *super, size_t lo, size_t hi)
{
	return le32(super + lo) | le32(super + hi) << 32;
}

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

bool disk_limits_fit(const struct disk_limits *in, struct disk_limits *out)
{
	struct disk_limits l = {.bytes = round_up(in->bytes, BLOCK),
				.inodes = in->inodes};

	if (in->bytes < DISK_BYTES_MIN || in->bytes > DISK_BYTES_MAX)
		return false;
	if (l.inodes == 0)
		l.inodes = l.bytes / 16384;
	if (l.inodes > l.bytes / 1024)
		l.inodes = l.bytes / 1024;
	if (l.inodes > INODES_MAX)
		l.inodes = INODES_MAX;
	if (l.inodes < DISK_INODES_MIN)
		l.inodes = DISK_INODES_MIN;
	*out = l;
	return true;
}

/* ---- mke2fs, tune2fs ---- */

uint64_t disk_image_kernel_reserve(uint64_t blocks)
{
	return blocks / 50 < KERNEL_RESERVE_MAX ? blocks / 50
						: KERNEL_RESERVE_MAX;
}

/* Large enough for the limits and all tables; what is too much of it is
 * reserved then. */
static uint64_t image_bytes(const struct disk_limits *l)
{
	uint64_t need = l->bytes + (l->inodes + OWN_INODES) * INODE + SLACK;
	uint64_t groups = need / GROUP + 2;

	/* Bitmaps and a table's last block in each; backup descriptors. */
	need += groups * 4 * BLOCK + round_up(groups * 64, BLOCK) * 16;
	need += need / 1024;
	need += (disk_image_kernel_reserve(need / BLOCK * 50 / 49) + 1) * BLOCK;
	return round_up(need, BLOCK);
}

/* One of e2fsprogs on the image, which it has as descriptor 3. */
static enum err run(const char *path, char *const *argv, int image,
		    struct errinfo *e)
{
	OWN(own_fd) int program = open(path, O_RDONLY | O_CLOEXEC);
	OWN(own_fd) int pidfd = -1;
	struct child_spec s = {.program = program,
			       .argv = argv,
			       .fds = &image,
			       .nfds = 1,
			       .quiet = true};
	struct pollfd p = {.events = POLLIN};
	int status = -1;
	pid_t pid;
	enum err r;

	if (program < 0)
		return err_set(e, ERR_IO, errno, "%s", path);
	r = child_start(&s, &pid, &pidfd, e);
	if (r != ERR_NONE)
		return r;
	p.fd = pidfd;
	if (poll(&p, 1, MAKE_LIMIT_MS) != 1) {
		child_signal(pidfd, SIGKILL);
		poll(&p, 1, -1);
	}
	child_reap(pidfd, &status);
	if (status != 0)
		return err_set(e, ERR_IO, 0, "%s: status %#x", path,
			       (unsigned)status);
	return ERR_NONE;
}

static enum err make_ext4(int image, uint64_t inodes, struct errinfo *e)
{
	char name[] = "mke2fs", quiet[] = "-qF", o[] = "-O", b[] = "-b",
	     block[] = "4096", i[] = "-I", inode[] = "256", n[] = "-N",
	     count[24], m[] = "-m", none[] = "0", x[] = "-E",
	     extended[] = "lazy_itable_init=1,nodiscard,root_owner=0:0",
	     features[] = FEATURES, path[] = IMAGE_PATH;
	char *const argv[] = {name, quiet,    o,    features, b, block,
			      i,    inode,    n,    count,    m, none,
			      x,    extended, path, NULL};

	snprintf(count, sizeof(count), "%llu", (unsigned long long)inodes);
	return run(MKE2FS, argv, image, e);
}

static enum err reserve(int image, uint64_t blocks, struct errinfo *e)
{
	char name[] = "tune2fs", r[] = "-r", count[24], path[] = IMAGE_PATH;
	char *const argv[] = {name, r, count, path, NULL};

	snprintf(count, sizeof(count), "%llu", (unsigned long long)blocks);
	return run(TUNE2FS, argv, image, e);
}

/* What is free above the limit, the file system's own directories and the
 * kernel's reserve is reserved. */
static enum err make_template(int fd, const struct disk_limits *l,
			      struct errinfo *e)
{
	uint64_t use, free_now;
	uint8_t super[SUPER_LEN];
	enum err r;

	if (ftruncate(fd, (off_t)image_bytes(l)) < 0)
		return err_set(e, ERR_IO, errno, "template");
	r = make_ext4(fd, l->inodes + OWN_INODES, e);
	if (r != ERR_NONE)
		return r;
	if (!super_read(fd, super))
		return err_set(e, ERR_IO, errno, "template");
	/* Not the size: mke2fs leaves out a last group that is small. */
	use = super_u64(super, SUPER_BLOCKS_LO, SUPER_BLOCKS_HI);
	use = l->bytes / BLOCK + OWN_DIRS + disk_image_kernel_reserve(use);
	free_now = super_u64(super, SUPER_FREE_LO, SUPER_FREE_HI);
	if (free_now < use)
		return err_set(e, ERR_IO, 0, "template has %llu of %llu blocks",
			       (unsigned long long)free_now,
			       (unsigned long long)use);
	return reserve(fd, free_now - use, e);
}

/* ---- templates ---- */

/* What every sandbox has in its image, once for all copies. */
static enum err make_parts(int fd, struct errinfo *e)
{
	OWN(own_fd) int mount = -1;
	enum err r = disk_loop_mount(fd, &mount, e);

	if (r == ERR_NONE && disk_parts_make(mount, BERTH_DISK_BASE) < 0)
		r = err_set(e, ERR_IO, errno, "directories of a template");
	return r;
}

/* Any worker may ask for any limits: that must not fill the disk. */
static void drop_oldest(int dir)
{
	int fd = openat(dir, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	char oldest[NAME_MAX + 1] = "";
	time_t oldest_s = 0;
	struct dirent *de;
	struct stat st;
	int count = 0;

	if (d == NULL) {
		own_fd(&fd);
		return;
	}
	while ((de = readdir(d)) != NULL) {
		if (strncmp(de->d_name, PREFIX, strlen(PREFIX)) != 0 ||
		    fstatat(dir, de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		count++;
		if (oldest[0] == '\0' || st.st_mtime < oldest_s) {
			snprintf(oldest, sizeof(oldest), "%s", de->d_name);
			oldest_s = st.st_mtime;
		}
	}
	closedir(d);
	if (count >= DISK_TEMPLATES_MAX)
		unlinkat(dir, oldest, 0);
}

static int link_fd(int fd, int dir, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW);
}

enum err disk_image_template(int dir, const struct disk_limits *l, int *out,
			     struct errinfo *e)
{
	char name[80];
	OWN(own_fd) int fd = -1;
	enum err r;

	snprintf(name, sizeof(name), PREFIX "%llu-%llu.img",
		 (unsigned long long)l->bytes, (unsigned long long)l->inodes);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		*out = STEAL_FD(fd);
		return ERR_NONE;
	}
	fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(e, ERR_IO, errno, "template");
	r = make_template(fd, l, e);
	if (r == ERR_NONE && disk_loop_usable())
		r = make_parts(fd, e);
	if (r != ERR_NONE)
		return r;
	drop_oldest(dir);
	/* Whole on the disk before it has its name. */
	if (fsync(fd) < 0 || link_fd(fd, dir, name) < 0)
		return err_set(e, ERR_IO, errno, "%s", name);
	*out = STEAL_FD(fd);
	return ERR_NONE;
}

/* ---- copies ---- */

static int copy_range(int from, int to, off_t at, off_t end)
{
	char data[65536];

	while (at < end) {
		size_t most = (size_t)(end - at) < sizeof(data)
				  ? (size_t)(end - at)
				  : sizeof(data);
		ssize_t n = pread(from, data, most, at);

		if (n <= 0 || pwrite(to, data, (size_t)n, at) != n)
			return -1;
		at += n;
	}
	return 0;
}

enum err disk_image_fill(int template_fd, int to, struct errinfo *e)
{
	off_t at = 0, end;

	while ((at = lseek(template_fd, at, SEEK_DATA)) >= 0) {
		end = lseek(template_fd, at, SEEK_HOLE);
		if (end < 0 || copy_range(template_fd, to, at, end) < 0)
			return err_set(e, ERR_IO, errno, "copy of a template");
		at = end;
	}
	if (errno != ENXIO)
		return err_set(e, ERR_IO, errno, "template");
	return ERR_NONE;
}

enum err disk_image_new(int dir, int template_fd, int *out, struct errinfo *e)
{
	OWN(own_fd)
	int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(template_fd, &st) < 0 ||
	    ftruncate(fd, st.st_size) < 0)
		return err_set(e, ERR_IO, errno, "image");
	*out = STEAL_FD(fd);
	return ERR_NONE;
}

/* ---- after a crash ---- */

/* The superblock is written when it is mounted, the rest up to half a minute
 * later, unless a program syncs: there may be the one without the other. */
static bool never_written(int fd, const uint8_t super[SUPER_LEN])
{
	static const uint8_t blank[SUPER_LEN];
	uint8_t groups[DESCRIPTOR_LEN];

	return memcmp(super, blank, sizeof(blank)) == 0 ||
	       (pread(fd, groups, sizeof(groups), (off_t)BLOCK) ==
		    (ssize_t)sizeof(groups) &&
		memcmp(groups, blank, sizeof(groups)) == 0);
}

enum disk_state disk_image_state(int fd)
{
	uint8_t super[SUPER_LEN];

	if (!super_read(fd, super) || never_written(fd, super))
		return DISK_BLANK;
	if (le16(super + SUPER_MAGIC_AT) != SUPER_MAGIC ||
	    (le16(super + SUPER_STATE) & (STATE_VALID | STATE_ERROR)) !=
		STATE_VALID)
		return DISK_UNCLEAN;
	return DISK_CLEAN;
}

enum err disk_image_check_start(int fd, pid_t *pid, int *pidfd,
				struct errinfo *e)
{
	char name[] = "e2fsck", flags[] = "-fy", path[] = IMAGE_PATH;
	char *const argv[] = {name, flags, path, NULL};
	OWN(own_fd) int program = open(E2FSCK, O_RDONLY | O_CLOEXEC);
	struct child_spec s = {.program = program,
			       .argv = argv,
			       .fds = &fd,
			       .nfds = 1,
			       .quiet = true, /* it prints tenants' names */
			       .uid = CHECKER,
			       .gid = CHECKER};

	if (program < 0)
		return err_set(e, ERR_IO, errno, E2FSCK);
	if (fchown(fd, CHECKER, 0) < 0)
		return err_set(e, ERR_IO, errno, "image");
	return child_start(&s, pid, pidfd, e);
}

bool disk_image_check_done(int fd, int status)
{
	if (fchown(fd, 0, 0) < 0)
		return false;
	/* 1: repaired. */
	return WIFEXITED(status) && WEXITSTATUS(status) <= 1 &&
	       disk_image_state(fd) == DISK_CLEAN;
}

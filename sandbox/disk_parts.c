#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/disk_parts.h"

#define FREE_ENOUGH 256 /* blocks, and inodes */

#define BALLAST "ballast"

static int open_dir(int at, const char *name)
{
	return openat(at, name,
		      O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_part(int files, const char *part, uid_t owner)
{
	OWN(own_fd) int dir = -1;

	if (mkdirat(files, part, 0755) < 0 && errno != EEXIST)
		return -1;
	dir = open_dir(files, part);
	if (dir < 0)
		return -1;
	if (mkdirat(dir, "work", 0700) < 0 && errno != EEXIST)
		return -1;
	if (mkdirat(dir, "upper", 0755) < 0)
		return errno == EEXIST ? 0 : -1;
	return fchownat(dir, "upper", owner, owner, AT_SYMLINK_NOFOLLOW);
}

int disk_parts_make(int dir, uid_t owner)
{
	bool first = !disk_parts_there(dir);

	/* A keeper has a descriptor of ${dir}, for statfs only. */
	if (fchmodat(dir, ".", 0700, 0) < 0 ||
	    make_part(dir, "root", owner) < 0 ||
	    make_part(dir, "usr", owner) < 0)
		return -1;
	if (!first)
		return 0;
	if (mkdirat(dir, BALLAST, 0700) < 0)
		return -1;
	disk_parts_hold(dir);
	return 0;
}

static void ballast(int dir, bool hold)
{
	char path[32];

	for (int i = 0; i < DISK_PARTS_BALLAST; i++) {
		snprintf(path, sizeof(path), BALLAST "/%d", i);
		if (hold)
			(void)!mkdirat(dir, path, 0700);
		else
			(void)!unlinkat(dir, path, AT_REMOVEDIR);
	}
}

bool disk_parts_yield(int dir)
{
	struct statvfs v;

	/* Almost always there is enough: eight directories cost 0.4 ms. */
	if (fstatvfs(dir, &v) == 0 && v.f_bavail >= FREE_ENOUGH &&
	    v.f_favail >= FREE_ENOUGH)
		return false;
	ballast(dir, false);
	return true;
}

void disk_parts_hold(int dir)
{
	ballast(dir, true);
}

bool disk_parts_there(int dir)
{
	return faccessat(dir, "root", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int disk_parts_shift(int mount, int user_ns)
{
	struct mount_attr a = {
	    .attr_set = MOUNT_ATTR_IDMAP,
	    .userns_fd = (__u64)user_ns,
	};

	return mount_setattr(mount, "", AT_EMPTY_PATH, &a, sizeof(a));
}

static int set_u64(int fs, const char *key, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return fsconfig(fs, FSCONFIG_SET_STRING, key, text, 0);
}

int disk_parts_tmpfs(const struct disk_limits *l)
{
	OWN(own_fd) int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs < 0 || set_u64(fs, "size", l->bytes) < 0 ||
	    set_u64(fs, "nr_inodes", l->inodes) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0700", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(fs, FSMOUNT_CLOEXEC,
		       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			   MOUNT_ATTR_NOATIME);
}

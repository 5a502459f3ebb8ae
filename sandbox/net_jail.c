#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/net_jail.h"

#define ATTRS (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static int bind_at(const char *from, const char *to, __u64 attrs)
{
	struct mount_attr a = {.attr_set = attrs};
	OWN(own_fd)
	int fd = open_tree(AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (fd < 0 || mount_setattr(fd, "", AT_EMPTY_PATH, &a, sizeof(a)) < 0)
		return -1;
	return move_mount(fd, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH);
}

/* /lib and the like: links into /usr as the host has them, or directories. */
static int libraries(void)
{
	static const char *const names[] = {"lib", "lib32", "lib64", "libx32"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char from[16], to[256];
		struct stat st;
		ssize_t n;

		snprintf(from, sizeof(from), "/%s", names[i]);
		if (lstat(from, &st) < 0)
			continue;
		n = readlink(from, to, sizeof(to) - 1);
		if (n < 0) {
			if (mkdir(names[i], 0755) < 0 ||
			    bind_at(from, names[i], ATTRS) < 0)
				return -1;
			continue;
		}
		to[n] = '\0';
		if (symlink(to, names[i]) < 0)
			return -1;
	}
	return 0;
}

static int device(const char *name)
{
	char from[32];

	snprintf(from, sizeof(from), "/dev/%s", name);
	if (close(open(from + 1, O_CREAT | O_RDONLY | O_CLOEXEC, 0644)) < 0)
		return -1;
	return bind_at(from, from + 1, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
}

int net_jail(const char *point)
{
	struct mount_attr a = {.attr_set = ATTRS};

	if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("warren", point, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "size=64k,nr_inodes=32,mode=0755") < 0 ||
	    chdir(point) < 0 || mkdir("usr", 0755) < 0 ||
	    mkdir("dev", 0755) < 0 || bind_at("/usr", "usr", ATTRS) < 0 ||
	    libraries() < 0)
		return -1;
	if (device("null") < 0 || device("urandom") < 0 ||
	    mount_setattr(AT_FDCWD, point, 0, &a, sizeof(a)) < 0)
		return -1;
	if (syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0)
		return -1;
	return chdir("/");
}

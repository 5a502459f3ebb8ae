#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/mount_proc.h"

static const char *const masked_files[] = {
    "kcore",      "keys",        "key-users",     "latency_stats",
    "timer_list", "sched_debug", "kallsyms",      "kmsg",
    "interrupts", "slabinfo",    "vmallocinfo",   "pagetypeinfo",
    "cmdline",    "config.gz",   "iomem",         "ioports",
    "diskstats",  "partitions",  "buddyinfo",     "zoneinfo",
    "vmstat",     "softirqs",    "devices",       "modules",
    "consoles",   "crypto",      "locks",         "swaps",
    "misc",       "timer_stats", "sysrq-trigger", "cgroups",
    "bootconfig",
};

static const char *const masked_dirs[] = {"1",    "acpi",   "asound",
					  "scsi", "driver", "pressure"};
static const char *const read_only[] = {"bus", "fs", "irq", "sys"};

/* ${at} is -1 where this kernel has no such name. */
static int open_name(int proc, const char *name, int *at)
{
	*at = openat(proc, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return *at >= 0 || errno == ENOENT ? 0 : -1;
}

/* The sandbox's own null device, verified to be that. */
static int open_null(int root)
{
	OWN(own_fd)
	int null = openat(root, "dev/null", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (null < 0 || fstat(null, &st) < 0)
		return -1;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3)) {
		errno = ENODEV;
		return -1;
	}
	return STEAL_FD(null);
}

/* Cover proc/name with a copy of ${with}, which is mounted. */
static int cover(int proc, const char *name, int with)
{
	OWN(own_fd) int at = -1;
	OWN(own_fd) int copy = -1;

	if (open_name(proc, name, &at) < 0)
		return -1;
	if (at < 0)
		return 0;
	copy = open_tree(with, "",
			 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	return copy < 0 ? -1 : mount_onto(copy, at);
}

static int mask_files(int proc, int null)
{
	for (size_t i = 0; i < sizeof(masked_files) / sizeof(char *); i++)
		if (cover(proc, masked_files[i], null) < 0)
			return -1;
	return 0;
}

static int make_empty(void)
{
	OWN(own_fd) int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", "2", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0555", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(fs, FSMOUNT_CLOEXEC,
		       MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			   MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

/* One empty directory for all of them; only what is mounted is copied. Init's
 * own is among them: root of the sandbox sees others' processes, not that. */
static int mask_dirs(int proc)
{
	OWN(own_fd) int empty = make_empty();
	bool mounted = false;

	if (empty < 0)
		return -1;
	for (size_t i = 0; i < sizeof(masked_dirs) / sizeof(char *); i++) {
		OWN(own_fd) int at = -1;

		if (mounted) {
			if (cover(proc, masked_dirs[i], empty) < 0)
				return -1;
			continue;
		}
		if (open_name(proc, masked_dirs[i], &at) < 0)
			return -1;
		if (at < 0)
			continue;
		if (mount_onto(empty, at) < 0)
			return -1;
		mounted = true;
	}
	return 0;
}

static int make_read_only(int proc, const char *name)
{
	struct mount_attr a = {
	    .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC};
	OWN(own_fd)
	int at = openat(proc, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	OWN(own_fd) int m = -1;

	if (at < 0)
		return errno == ENOENT ? 0 : -1;
	m = open_tree(at, "",
		      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (m < 0 || mount_setattr(m, "", AT_EMPTY_PATH, &a, sizeof(a)) < 0)
		return -1;
	return mount_onto(m, at);
}

int mount_proc(int root, int target, uid_t root_uid)
{
	OWN(own_fd) int fs = fsopen("proc", FSOPEN_CLOEXEC);
	OWN(own_fd) int m = -1;
	OWN(own_fd) int proc = -1;
	OWN(own_fd) int null = -1;
	char gid[16];

	snprintf(gid, sizeof(gid), "%u", root_uid);
	if (fs < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "hidepid", "invisible", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "gid", gid, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	m = fsmount(fs, FSMOUNT_CLOEXEC,
		    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (m < 0 || mount_onto(m, target) < 0)
		return -1;
	proc = openat(root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return -1;
	null = open_null(root);
	if (null < 0 || mask_files(proc, null) < 0 || mask_dirs(proc) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(read_only) / sizeof(char *); i++)
		if (make_read_only(proc, read_only[i]) < 0)
			return -1;
	/* Over what is read-only now. It is the same for all on this machine,
	 * until that boots again. */
	return cover(proc, "sys/kernel/random/boot_id", null);
}

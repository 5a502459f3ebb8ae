#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/disk_brake.h"
#include "sandbox/disk_image.h"

#define GIB (UINT64_C(1) << 30)
#define SECTOR 512U
#define BLOCK 4096U

uint64_t disk_brake_reserve(uint64_t total)
{
	static uint64_t dirty; /* asked once: the kernel walks all devices */
	uint64_t most;

	if (dirty == 0)
		dirty = (uint64_t)sysconf(_SC_PHYS_PAGES) *
			(uint64_t)sysconf(_SC_PAGESIZE) / 5;
	most = dirty > GIB ? dirty : GIB;
	return total / 20 < most ? total / 20 : most;
}

static bool read_text(int at, const char *path, char *text, size_t size)
{
	OWN(own_fd) int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Blocks that an image cannot give out: all, or what the kernel sets. */
static void keep_back(int block, const char *device, bool all)
{
	char path[300], text[32];
	OWN(own_fd) int fd = -1;
	uint64_t blocks;
	int n;

	snprintf(path, sizeof(path), "%s/size", device);
	if (!read_text(block, path, text, sizeof(text)))
		return;
	blocks = strtoull(text, NULL, 10) * SECTOR / BLOCK;
	snprintf(path, sizeof(path), "/sys/fs/ext4/%s/reserved_clusters",
		 device);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* It must be less than there are; the device's last are no group's. */
	for (uint64_t less = 1; all && less < blocks / 2; less *= 2) {
		n = snprintf(text, sizeof(text), "%llu",
			     (unsigned long long)(blocks - less));
		if (write(fd, text, (size_t)n) == n)
			return;
	}
	n = snprintf(text, sizeof(text), "%llu",
		     (unsigned long long)disk_image_kernel_reserve(blocks));
	(void)!write(fd, text, (size_t)n);
}

/* Whether the device had the same mount at the last check. */
static bool seen_before(struct disk_brake *b, const char *device)
{
	unsigned long n = strtoul(device + strlen("loop"), NULL, 10);
	char path[300];
	struct stat st;
	uint32_t was;

	snprintf(path, sizeof(path), "/sys/fs/ext4/%s", device);
	if (n >= DISK_BRAKE_LOOPS || stat(path, &st) < 0)
		return false;
	was = b->mounts[n];
	b->mounts[n] = (uint32_t)st.st_ino;
	return was == b->mounts[n];
}

/* ${even_new}: at the first check, where nothing is known of any. */
static void keep_back_all(struct disk_brake *b, int sandboxes, bool even_new)
{
	char self[64], here[PATH_MAX], path[300], file[PATH_MAX];
	DIR *d = opendir("/sys/block");
	struct dirent *de;
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", sandboxes);
	n = readlink(self, here, sizeof(here) - 1);
	if (d == NULL || n <= 0) {
		if (d != NULL)
			closedir(d);
		return;
	}
	here[n] = '\0';
	while ((de = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "%s/loop/backing_file",
			 de->d_name);
		if (strncmp(de->d_name, "loop", 4) == 0 &&
		    read_text(dirfd(d), path, file, sizeof(file)) &&
		    strncmp(file, here, (size_t)n) == 0 && file[n] == '/' &&
		    (seen_before(b, de->d_name) || even_new))
			keep_back(dirfd(d), de->d_name, b->on);
	}
	closedir(d);
}

void disk_brake_check(struct disk_brake *b, int sandboxes)
{
	struct statvfs s;
	uint64_t available, reserve;
	bool was = b->on;

	if (clock_mono_ms() < b->next_ms || fstatvfs(sandboxes, &s) < 0)
		return;
	b->next_ms = clock_mono_ms() + DISK_BRAKE_EACH_MS;
	available = (uint64_t)s.f_bavail * s.f_frsize;
	reserve = disk_brake_reserve((uint64_t)s.f_blocks * s.f_frsize);
	b->on = available < (was ? reserve / 10 * 9 : reserve / 4 * 3);
	/* While it is on, for those that start as well. */
	if (b->on || was)
		keep_back_all(b, sandboxes, b->on != was);
	if (b->on != was)
		log_line(LOG_ERROR, "the disk is %s: sandboxes can%s write",
			 b->on ? "nearly full" : "not full any more",
			 b->on ? "not" : "");
}

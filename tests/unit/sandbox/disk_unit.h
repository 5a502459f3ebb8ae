/* A directory with D/sandboxes and D/images, for the tests of disk_*. */
#ifndef TESTS_UNIT_SANDBOX_DISK_UNIT_H
#define TESTS_UNIT_SANDBOX_DISK_UNIT_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/own.h"
#include "sandbox/berth.h"
#include "sandbox/disk.h"
#include "sandbox/disk_loop.h"

#define MIB (UINT64_C(1) << 20)

struct disk_unit {
	char dir[64];
	int sandboxes;
	int images;
	struct disk_root root;
	struct berth_pool berths;
	struct berth berth;
};

static inline int disk_unit_dir(struct disk_unit *u, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", u->dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
	return open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
}

static inline int disk_unit_open(void **state)
{
	struct disk_unit *u = calloc(1, sizeof(*u));
	const char *in = getenv("DISK_QUOTA_DIR");

	assert_non_null(u);
	snprintf(u->dir, sizeof(u->dir), "%s/disk_unit.XXXXXX",
		 in != NULL ? in : "/tmp");
	assert_non_null(mkdtemp(u->dir));
	u->sandboxes = disk_unit_dir(u, "sandboxes");
	u->images = disk_unit_dir(u, "images");
	assert_true(u->sandboxes >= 0 && u->images >= 0);
	u->berth = (struct berth)BERTH_NONE;
	disk_root_open(&u->root, u->sandboxes, u->images, 1);
	*state = u;
	return 0;
}

static inline int disk_unit_close(void **state)
{
	struct disk_unit *u = *state;
	char command[128];

	disk_root_close(&u->root);
	berth_close(&u->berth);
	close(u->sandboxes);
	close(u->images);
	snprintf(command, sizeof(command), "rm -rf %s", u->dir);
	assert_int_equal(system(command), 0);
	free(u);
	return 0;
}

/* False, and says why, where loop devices cannot be used. */
static inline bool disk_unit_loop(struct disk_unit *u)
{
	struct errinfo e;

	if (geteuid() != 0 || !disk_loop_usable()) {
		print_message("skipped: needs root and loop devices\n");
		return false;
	}
	if (u->berth.disk_ns < 0)
		assert_int_equal(berth_take(&u->berths, &u->berth, &e),
				 ERR_NONE);
	u->root.kind = DISK_LOOP;
	return true;
}

/* How many loop devices have an image below the directory. */
static inline int disk_unit_loops(const struct disk_unit *u)
{
	DIR *d = opendir("/sys/block");
	struct dirent *de;
	int n = 0;

	assert_non_null(d);
	while ((de = readdir(d)) != NULL) {
		char path[300], text[512];
		OWN(own_fd) int fd = -1;
		ssize_t len;

		snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file",
			 de->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		text[len > 0 ? len : 0] = '\0';
		n += strncmp(text, u->dir, strlen(u->dir)) == 0;
	}
	closedir(d);
	return n;
}

/* The kernel lets a device go soon after its last user. */
static inline int disk_unit_loops_soon(const struct disk_unit *u, int want)
{
	for (int i = 0; i < 200 && disk_unit_loops(u) != want; i++)
		usleep(10000);
	return disk_unit_loops(u);
}

static inline struct disk_want disk_unit_want(const struct disk_unit *u,
					      uint64_t bytes, uint64_t inodes)
{
	static int none = -1;

	return (struct disk_want){
	    .limits = {.bytes = bytes, .inodes = inodes},
	    .map_ns = u->berth.disk_ns,
	    .root_uid = berth_uid(u->berth.slot, 0),
	    .mount = &none,
	};
}

/* A file without a name, with the bytes of ${from}. */
static inline int disk_unit_copy(const struct disk_unit *u, int from)
{
	struct errinfo e;
	int copy = -1;

	assert_int_equal(disk_image_new(u->sandboxes, from, &copy, &e),
			 ERR_NONE);
	assert_int_equal(disk_image_fill(from, copy, &e), ERR_NONE);
	return copy;
}

#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/berth.h"
#include "sandbox/disk.h"
#include "sandbox/disk_loop.h"
#include "sandbox/disk_parts.h"
#include "sandbox/disk_quota.h"
#include "sandbox/mount.h"

#define CAPACITY_FRESH_MS 5000

static int open_dir(int at, const char *name)
{
	return openat(at, name,
		      O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

static int open_image(int dir)
{
	return openat(dir, DISK_IMAGE_NAME,
		      O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
}

/* ---- admission ---- */

/* What one sandbox may have and has, by the image or the project. */
static bool usage_of(const struct disk_root *root, const char *id,
		     struct disk_usage *u)
{
	OWN(own_fd) int dir = open_dir(root->sandboxes, id);
	struct stat st;

	if (dir < 0)
		return false;
	if (fstatat(dir, DISK_IMAGE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		u->limit_bytes = (uint64_t)st.st_size;
		u->used_bytes = (uint64_t)st.st_blocks * 512;
		return true;
	}
	return root->kind == DISK_QUOTA && disk_quota_usage(dir, u);
}

static void count_all(struct disk_root *root, uint64_t *limits, uint64_t *used)
{
	int fd = openat(root->sandboxes, ".",
			O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct disk_usage u;
	struct dirent *de;

	*limits = *used = 0;
	if (d == NULL) {
		own_fd(&fd);
		return;
	}
	while ((de = readdir(d)) != NULL) {
		if (!id_sandbox_ok(de->d_name) ||
		    !usage_of(root, de->d_name, &u))
			continue;
		*limits += u.limit_bytes;
		*used += u.used_bytes;
	}
	closedir(d);
}

/* While images grow, what is free shrinks as much: their sum only changes
 * when others use the disk, so it may be some seconds old. */
static enum err take_stock(struct disk_root *root, uint64_t reserve,
			   uint64_t available, struct errinfo *e)
{
	int64_t now = clock_mono_ms();
	uint64_t used;

	if (available <= reserve)
		return err_set(e, ERR_LIMIT, 0, "the disk is full");
	if (root->capacity_ms != 0 &&
	    now - root->capacity_ms < CAPACITY_FRESH_MS)
		return ERR_NONE;
	count_all(root, &root->promised, &used);
	root->capacity = available - reserve + used;
	root->capacity_ms = now;
	return ERR_NONE;
}

static enum err admit(struct disk_root *root, uint64_t bytes, struct errinfo *e)
{
	struct statvfs s;
	uint64_t reserve;
	enum err r;

	if (fstatvfs(root->sandboxes, &s) < 0)
		return err_set(e, ERR_IO, errno, "statvfs");
	reserve = disk_brake_reserve((uint64_t)s.f_blocks * s.f_frsize);
	r = take_stock(root, reserve, (uint64_t)s.f_bavail * s.f_frsize, e);
	if (r != ERR_NONE)
		return r;
	if (root->promised + bytes > root->capacity * root->overcommit)
		return err_set(e, ERR_LIMIT, 0,
			       "disk: %llu MiB are promised already",
			       (unsigned long long)root->promised >> 20);
	root->promised += bytes;
	return ERR_NONE;
}

/* ---- by kinds ---- */

static int link_image(int image, int dir)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", image);
	return linkat(AT_FDCWD, path, dir, DISK_IMAGE_NAME, AT_SYMLINK_FOLLOW);
}

static enum err image_new(struct disk_root *root, int dir,
			  const struct disk_limits *limits, int *mount,
			  struct errinfo *e)
{
	OWN(disk_spare_close) struct disk_spare n = {.image = -1, .mount = -1};
	struct stat st;
	enum err r = disk_spare_take(&root->spares, limits, &n, e);

	if (r == ERR_NONE && fstat(n.image, &st) < 0)
		r = err_set(e, ERR_IO, errno, "image");
	if (r == ERR_NONE)
		r = admit(root, (uint64_t)st.st_size, e);
	if (r == ERR_NONE && link_image(n.image, dir) < 0)
		r = err_set(e, ERR_IO, errno, "image");
	if (r != ERR_NONE)
		return r;
	*mount = STEAL_FD(n.mount);
	return ERR_NONE;
}

/* One that is there: as it is, whatever its limits are. */
static enum err image_mount(int image, int *prepared, int *mount,
			    struct errinfo *e)
{
	OWN(own_fd) int m = STEAL_FD(*prepared);
	enum err r;

	if (m < 0 && flock(image, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, ERR_STATE, errno, "image in use");
	if (m < 0 && disk_image_state(image) != DISK_CLEAN)
		return err_set(e, ERR_STATE, 0, "image not checked");
	r = m < 0 ? disk_loop_mount(image, &m, e) : ERR_NONE;
	if (r != ERR_NONE)
		return r;
	if (disk_parts_make(m, BERTH_DISK_BASE) < 0)
		return err_set(e, ERR_IO, errno, "directories of an image");
	*mount = STEAL_FD(m);
	return ERR_NONE;
}

static enum err open_loop(struct disk_root *root, int dir,
			  const struct disk_limits *limits,
			  const struct disk_want *want, struct disk_files *out,
			  struct errinfo *e)
{
	OWN(own_fd) int image = open_image(dir);
	OWN(own_fd) int m = -1;
	enum err r;

	if (image < 0 && errno != ENOENT)
		return err_set(e, ERR_IO, errno, "image");
	if (image >= 0 && disk_image_state(image) == DISK_BLANK &&
	    flock(image, LOCK_EX | LOCK_NB) == 0) {
		log_line(LOG_WARN, "an image never came to the disk: anew");
		if (unlinkat(dir, DISK_IMAGE_NAME, 0) < 0)
			return err_set(e, ERR_IO, errno, "image");
		own_fd(&image);
	}
	r = image >= 0 ? image_mount(image, want->mount, &m, e)
		       : image_new(root, dir, limits, &m, e);
	if (r == ERR_NONE && disk_parts_shift(m, want->map_ns) < 0)
		r = err_set(e, ERR_IO, errno, "mount of an image");
	if (r == ERR_NONE)
		*out = (struct disk_files){
		    .mount = STEAL_FD(m), .bounded = true, .image = true};
	return r;
}

static enum err open_plain(struct disk_root *root, int dir,
			   const struct disk_limits *limits, int map_ns,
			   struct disk_files *out, struct errinfo *e)
{
	enum err r;

	if (root->kind == DISK_QUOTA && limits->bytes != 0 &&
	    !disk_parts_there(dir)) {
		r = admit(root, limits->bytes, e);
		if (r != ERR_NONE)
			return r;
		if (disk_quota_set(dir, ++root->project, limits) < 0)
			return err_set(e, ERR_IO, errno, "project quota");
	}
	if (disk_parts_make(dir, BERTH_DISK_BASE) < 0)
		return err_set(e, ERR_IO, errno, "directories");
	out->mount = mount_layer(dir, "", map_ns);
	if (out->mount < 0)
		return err_set(e, ERR_IO, errno, "layer");
	out->bounded = disk_quota_project(dir) != 0;
	return ERR_NONE;
}

static enum err open_memory(const struct disk_limits *limits, uid_t root_uid,
			    struct disk_files *out, struct errinfo *e)
{
	OWN(own_fd) int m = disk_parts_tmpfs(limits);

	if (m < 0 || disk_parts_make(m, root_uid) < 0)
		return err_set(e, ERR_IO, errno, "files in memory");
	*out = (struct disk_files){.mount = STEAL_FD(m), .bounded = true};
	return ERR_NONE;
}

enum err disk_open(struct disk_root *root, const char *id,
		   const struct disk_want *want, struct disk_files *out,
		   struct errinfo *e)
{
	struct disk_limits limits = {0};
	OWN(own_fd) int dir = -1;

	if (want->limits.bytes != 0 && !disk_limits_fit(&want->limits, &limits))
		return err_set(e, ERR_ARG, 0, "disk limits");
	if (want->ephemeral)
		return open_memory(&limits, want->root_uid, out, e);
	if (mkdirat(root->sandboxes, id, 0700) < 0 && errno != EEXIST)
		return err_set(e, ERR_IO, errno, "files");
	dir = open_dir(root->sandboxes, id);
	if (dir < 0)
		return err_set(e, ERR_IO, errno, "files");
	if (faccessat(dir, DISK_IMAGE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	    (root->kind == DISK_LOOP && limits.bytes != 0 &&
	     !disk_parts_there(dir)))
		return open_loop(root, dir, &limits, want, out, e);
	return open_plain(root, dir, &limits, want->map_ns, out, e);
}

void disk_forsake(const struct disk_root *root, int image_mount)
{
	if (image_mount >= 0)
		disk_loop_forsake(image_mount, root->sandboxes);
}

void disk_forget(struct disk_root *root, const char *id)
{
	struct disk_usage u;

	if (!usage_of(root, id, &u))
		return;
	root->promised -= u.limit_bytes < root->promised ? u.limit_bytes
							 : root->promised;
}

/* ---- set-up ---- */

/* The highest project that is in use: the next ones are above. */
static uint32_t last_project(int sandboxes)
{
	int fd = openat(sandboxes, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	uint32_t last = DISK_PROJECT_BASE;
	struct dirent *de;

	if (d == NULL) {
		own_fd(&fd);
		return last;
	}
	while ((de = readdir(d)) != NULL) {
		OWN(own_fd) int dir = open_dir(sandboxes, de->d_name);
		uint32_t p = dir < 0 ? 0 : disk_quota_project(dir);

		if (p > last)
			last = p;
	}
	closedir(d);
	return last;
}

void disk_root_open(struct disk_root *root, int sandboxes, int images,
		    uint32_t overcommit)
{
	static const char *const names[] = {"none", "ext4 images",
					    "project quotas"};

	must(overcommit >= 1);
	*root = (struct disk_root){.sandboxes = sandboxes,
				   .overcommit = overcommit,
				   .project = DISK_PROJECT_BASE,
				   .spares = {.images = sandboxes,
					      .templates = images,
					      .template_fd = -1}};
	if (disk_quota_usable(sandboxes)) {
		root->kind = DISK_QUOTA;
		root->project = last_project(sandboxes);
	} else if (disk_loop_usable()) {
		root->kind = DISK_LOOP;
	}
	log_line(root->kind == DISK_NONE ? LOG_WARN : LOG_INFO,
		 "disk limits: %s", names[root->kind]);
}

void disk_tick(struct disk_root *root)
{
	if (root->kind != DISK_LOOP)
		return;
	disk_brake_check(&root->brake, root->sandboxes);
	disk_spare_tidy(&root->spares);
}

void disk_root_close(struct disk_root *root)
{
	disk_spares_close(&root->spares);
}

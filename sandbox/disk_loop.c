#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/berth.h"
#include "sandbox/disk_image.h"
#include "sandbox/disk_loop.h"

#define LOOP_MAJOR_NR 7
#define BLOCK_BYTES 4096
#define TRIES 64 /* others take free devices too */
#define ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME)

/* EXT4_IOC_SHUTDOWN; no header that is installed has it. */
#define EXT4_SHUTDOWN _IOR('X', 125, uint32_t)
#define EXT4_SHUTDOWN_NO_FLUSH 2U

static int open_device(int number)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/loop%d", number);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 || errno != ENOENT)
		return fd;
	/* No devtmpfs here: the node is ours to make. */
	if (mknod(path, S_IFBLK | 0600,
		  makedev(LOOP_MAJOR_NR, (unsigned)number)) < 0 &&
	    errno != EEXIST)
		return -1;
	return open(path, O_RDWR | O_CLOEXEC);
}

/* A free device bound to the image; it frees itself after its last close. */
static int attach(int image)
{
	const struct loop_config c = {
	    .fd = (uint32_t)image,
	    .block_size = BLOCK_BYTES,
	    .info = {.lo_flags = LO_FLAGS_AUTOCLEAR},
	};
	OWN(own_fd) int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	for (int i = 0; control >= 0 && i < TRIES; i++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);
		OWN(own_fd) int fd = number < 0 ? -1 : open_device(number);

		if (fd < 0)
			return -1;
		if (ioctl(fd, LOOP_CONFIGURE, &c) == 0)
			return STEAL_FD(fd);
		if (errno != EBUSY)
			return -1;
	}
	return -1;
}

bool disk_loop_usable(void)
{
	OWN(own_fd) int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	OWN(own_fd) int fs = fsopen("ext4", FSOPEN_CLOEXEC);

	return control >= 0 && fs >= 0;
}

static int set(int fs, const char *key, const char *value)
{
	return fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0);
}

/*
 * resuid, resgid: an id that nobody has, or root's file operations, which
 * the overlay does, would dip into what is reserved. noinit_itable: the
 * inode tables of a new image are holes, and zeros as they are. discard:
 * what is deleted is a hole in the image again.
 */
static int configure(int fs, int device)
{
	char path[64], nobody[16];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", device);
	snprintf(nobody, sizeof(nobody), "%u", BERTH_DISK_BASE - 1);
	if (set(fs, "source", path) < 0 || set(fs, "resuid", nobody) < 0 ||
	    set(fs, "resgid", nobody) < 0 ||
	    set(fs, "errors", "remount-ro") < 0 ||
	    fsconfig(fs, FSCONFIG_SET_FLAG, "discard", NULL, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_FLAG, "noinit_itable", NULL, 0) < 0)
		return -1;
	return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

static enum err mount_device(int device, int *mount, struct errinfo *e)
{
	OWN(own_fd) int fs = fsopen("ext4", FSOPEN_CLOEXEC);
	int m;

	if (fs < 0 || configure(fs, device) < 0)
		return err_set(e, ERR_IO, errno, "mount of an image");
	m = fsmount(fs, FSMOUNT_CLOEXEC, ATTRS);
	if (m < 0)
		return err_set(e, ERR_IO, errno, "mount of an image");
	*mount = m;
	return ERR_NONE;
}

static enum err no_device(struct errinfo *e)
{
	return err_set(e, errno == EBUSY ? ERR_LIMIT : ERR_IO, errno,
		       "loop device");
}

enum err disk_loop_mount(int image, int *mount, struct errinfo *e)
{
	OWN(own_fd) int device = attach(image);

	return device < 0 ? no_device(e) : mount_device(device, mount, e);
}

enum err disk_loop_mount_new(int image, int template_fd, int *mount,
			     struct errinfo *e)
{
	OWN(own_fd) int device = attach(image);
	enum err r;

	if (device < 0)
		return no_device(e);
	r = disk_image_fill(template_fd, device, e);
	if (r == ERR_NONE)
		r = mount_device(device, mount, e);
	/* Into the image, not to the disk: a program's sync finds it there. */
	if (r == ERR_NONE)
		(void)sync_file_range(device, 0, 0, SYNC_FILE_RANGE_WRITE);
	return r;
}

/* What it says from now on, an alert among it, is no news to anyone. */
static void silence(unsigned number)
{
	char path[64];
	OWN(own_fd) int fd = -1;

	snprintf(path, sizeof(path), "/sys/fs/ext4/loop%u/msg_ratelimit_burst",
		 number);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, "0", 1);
}

void disk_loop_forsake(int mount, int host)
{
	const uint32_t how = EXT4_SHUTDOWN_NO_FLUSH;
	OWN(own_fd)
	int root = openat(mount, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	struct stat st, beside;

	if (root < 0 || fstat(root, &st) < 0 || fstat(host, &beside) < 0 ||
	    major(st.st_dev) != LOOP_MAJOR_NR || st.st_dev == beside.st_dev)
		return;
	silence(minor(st.st_dev));
	(void)ioctl(root, EXT4_SHUTDOWN, &how);
}

/* Overlays over idmapped layers, and what could limit a sandbox's disk. */
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
#include "sandbox/berth.h"
#include "sandbox/mount.h"
#include "sandbox/probe.h"

#define PLACE "/tmp" /* covered by a tmpfs, in the child's namespace only */

static struct berth probe_berth = BERTH_NONE;

/* PLACE/{image,files/{upper,work},root} on a tmpfs of the child's own. */
static int make_layers(struct probe_said *said)
{
	static const char *const dirs[] = {PLACE "/image", PLACE "/files",
					   PLACE "/files/upper",
					   PLACE "/files/work", PLACE "/root"};
	OWN(own_fd) int fd = -1;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("warren", PLACE, "tmpfs", 0, "size=1m") < 0)
		return probe_fail(said, "tmpfs");
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (mkdir(dirs[i], 0755) < 0)
			return probe_fail(said, "tmpfs");
	if (chown(PLACE "/files/upper", BERTH_DISK_BASE, BERTH_DISK_BASE) < 0)
		return probe_fail(said, "chown");
	fd = open(PLACE "/image/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	return fd < 0 ? probe_fail(said, "tmpfs") : 0;
}

static int overlay(int image, int files, struct probe_said *said)
{
	OWN(own_fd) int fs = fsopen("overlay", FSOPEN_CLOEXEC);
	OWN(own_fd) int mnt = -1;
	const struct {
		const char *key, *sub;
		int fd;
	} part[] = {{"lowerdir", "", image},
		    {"upperdir", "/upper", files},
		    {"workdir", "/work", files}};

	if (fs < 0)
		return probe_fail(said, "overlayfs");
	for (size_t i = 0; i < 3; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/fd/%d%s", part[i].fd,
			 part[i].sub);
		if (fsconfig(fs, FSCONFIG_SET_STRING, part[i].key, path, 0) < 0)
			return probe_fail(said, part[i].key);
	}
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return probe_fail(said, "overlay over idmapped layers");
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (mnt < 0 || move_mount(mnt, "", AT_FDCWD, PLACE "/root",
				  MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return probe_fail(said, "overlay mount");
	return 0;
}

static int try_overlay(struct probe_said *said)
{
	OWN(own_fd) int image = -1;
	OWN(own_fd) int files = -1;
	struct stat st;

	if (make_layers(said) < 0)
		return -1;
	image = mount_layer(AT_FDCWD, PLACE "/image", probe_berth.user_ns);
	files = mount_layer(AT_FDCWD, PLACE "/files", probe_berth.disk_ns);
	if (image < 0 || files < 0)
		return probe_fail(said, "idmapped mount");
	if (overlay(image, files, said) < 0)
		return -1;
	if (stat(PLACE "/root/file", &st) < 0)
		return probe_fail(said, "overlay");
	if (st.st_uid != berth_uid(probe_berth.slot, 0)) {
		errno = EOVERFLOW;
		return probe_fail(said, "idmapped layer shows other ids");
	}
	return 0;
}

static void check_overlay(struct check_list *l)
{
	static const char fix[] =
	    "a kernel of 5.19 or newer with overlayfs (modprobe overlay)";
	static struct berth_pool pool;
	struct probe_said said;
	struct errinfo e;

	if (berth_take(&pool, &probe_berth, &e) != ERR_NONE) {
		check_add(l, CHECK_MISSING, "overlay", fix, "%s", e.text);
		return;
	}
	if (probe_try(CLONE_NEWNS, try_overlay, &said))
		check_add(l, CHECK_OK, "overlay", "",
			  "overlayfs over idmapped layers works");
	else
		check_add(l, CHECK_MISSING, "overlay", fix, "%s: %s", said.what,
			  strerrordesc_np(said.sys));
	berth_close(&probe_berth);
}

static void check_loop(struct check_list *l)
{
	OWN(own_fd) int fd = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	if (fd >= 0 && access("/sbin/mkfs.ext4", X_OK) == 0)
		check_add(l, CHECK_OK, "loop", "",
			  "loop devices and mkfs.ext4 are there");
	else
		check_add(l, CHECK_WARN, "loop",
			  "modprobe loop; apt-get install e2fsprogs",
			  "no ext4 loop images (%s)",
			  fd < 0 ? "/dev/loop-control" : "mkfs.ext4");
}

void probe_mount(struct check_list *l)
{
	check_overlay(l);
	check_loop(l);
}

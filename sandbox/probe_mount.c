/* Overlays over idmapped layers, and what could limit a sandbox's disk. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/berth.h"
#include "sandbox/disk_loop.h"
#include "sandbox/disk_quota.h"
#include "sandbox/mount.h"
#include "sandbox/probe.h"

static struct berth probe_berth = BERTH_NONE;
static char probe_path[4096]; /* a directory that is removed afterwards */
static int probe_dir = -1;
static int probe_image = -1; /* layers with their ids shifted */
static int probe_files = -1;

/* {image,files/{upper,work},root}, where sandboxes' files would be. */
static const char *const parts[] = {"image", "files", "files/upper",
				    "files/work", "root"};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

static int make_parts(struct probe_said *said)
{
	OWN(own_fd) int fd = -1;

	for (size_t i = 0; i < PARTS; i++)
		if (mkdirat(probe_dir, parts[i], 0755) < 0)
			return probe_fail(said, "directories");
	if (fchownat(probe_dir, "files/upper", BERTH_DISK_BASE, BERTH_DISK_BASE,
		     0) < 0)
		return probe_fail(said, "chown");
	fd = openat(probe_dir, "image/file", O_CREAT | O_WRONLY | O_CLOEXEC,
		    0644);
	return fd < 0 ? probe_fail(said, "a file") : 0;
}

static void remove_parts(void)
{
	static const char *const more[] = {"files/work/work", "files/work"};

	unlinkat(probe_dir, "image/file", 0);
	for (size_t i = 0; i < 2; i++)
		unlinkat(probe_dir, more[i], AT_REMOVEDIR);
	for (size_t i = PARTS; i-- > 0;)
		unlinkat(probe_dir, parts[i], AT_REMOVEDIR);
}

/* ${dir} is of the child's own mount namespace. */
static int overlay(int dir, struct probe_said *said)
{
	OWN(own_fd) int fs = fsopen("overlay", FSOPEN_CLOEXEC);
	OWN(own_fd) int mnt = -1;
	const struct {
		const char *key, *sub;
		int fd;
	} layers[] = {{"lowerdir", "", probe_image},
		      {"upperdir", "/upper", probe_files},
		      {"workdir", "/work", probe_files}};

	if (fs < 0)
		return probe_fail(said, "overlayfs");
	for (size_t i = 0; i < 3; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/fd/%d%s", layers[i].fd,
			 layers[i].sub);
		if (fsconfig(fs, FSCONFIG_SET_STRING, layers[i].key, path, 0) <
		    0)
			return probe_fail(said, layers[i].key);
	}
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return probe_fail(said, "overlay over idmapped layers");
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (mnt < 0 ||
	    move_mount(mnt, "", dir, "root", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return probe_fail(said, "overlay mount");
	return 0;
}

static int try_overlay(struct probe_said *said)
{
	OWN(own_fd) int dir = -1;
	struct stat st;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return probe_fail(said, "mounts");
	dir = open(probe_path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	/* As mount.c does it. */
	if (dir < 0 ||
	    move_mount(probe_image, "", dir, "image", MOVE_MOUNT_F_EMPTY_PATH) <
		0 ||
	    move_mount(probe_files, "", dir, "files", MOVE_MOUNT_F_EMPTY_PATH) <
		0)
		return probe_fail(said, "idmapped mount");
	if (overlay(dir, said) < 0)
		return -1;
	if (fstatat(dir, "root/file", &st, 0) < 0)
		return probe_fail(said, "overlay");
	if (st.st_uid != berth_uid(probe_berth.slot, 0)) {
		errno = EOVERFLOW;
		return probe_fail(said, "idmapped layer shows other ids");
	}
	return 0;
}

static int open_layers(struct probe_said *said)
{
	if (make_parts(said) < 0)
		return -1;
	probe_image = mount_layer(probe_dir, "image", probe_berth.user_ns);
	probe_files = mount_layer(probe_dir, "files", probe_berth.disk_ns);
	return probe_image < 0 || probe_files < 0
		   ? probe_fail(said, "idmapped mount")
		   : 0;
}

static bool overlay_works(struct probe_said *said)
{
	bool works;

	said->sys = 0;
	if (open_layers(said) < 0)
		said->sys = errno;
	works = said->sys == 0 && probe_try(CLONE_NEWNS, try_overlay, said);
	own_fd(&probe_image);
	own_fd(&probe_files);
	remove_parts();
	return works;
}

/* By name only where nobody else could put something in its way. */
static bool open_dir(const char *data)
{
	if ((size_t)snprintf(probe_path, sizeof(probe_path), "%s/probe-XXXXXX",
			     access(data, W_OK) == 0 ? data : "/var/tmp") >=
		sizeof(probe_path) ||
	    mkdtemp(probe_path) == NULL)
		return false;
	probe_dir = open(probe_path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	return probe_dir >= 0;
}

static void check_overlay(struct check_list *l, const char *data)
{
	static const char fix[] =
	    "a kernel of 6.1 or newer with overlayfs (modprobe overlay), and "
	    "the data directory on ext4 or xfs";
	static struct berth_pool pool;
	struct probe_said said = {.sys = 0};
	struct errinfo e = {.text = ""};
	bool works = false;

	if (!open_dir(data))
		said = (struct probe_said){errno, "a directory to try it in"};
	else if (berth_take(&pool, &probe_berth, &e) != ERR_NONE)
		said = (struct probe_said){e.sys, "namespaces"};
	else
		works = overlay_works(&said);
	if (works)
		check_add(l, CHECK_OK, "overlay", "",
			  "overlayfs over idmapped layers works");
	else
		check_add(l, CHECK_MISSING, "overlay", fix, "%s: %s", said.what,
			  strerrordesc_np(said.sys));
	berth_close(&probe_berth);
	own_fd(&probe_dir);
	rmdir(probe_path);
}

/* In the order in which the broker takes them. */
static void check_limits(struct check_list *l, const char *data)
{
	OWN(own_fd)
	int dir = open(access(data, F_OK) == 0 ? data : "/var/tmp",
		       O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	bool loop = disk_loop_usable();

	if (dir >= 0 && disk_quota_usable(dir))
		check_add(l, CHECK_OK, "disk limits", "",
			  "by project quotas of the file system");
	else if (loop && access("/sbin/mke2fs", X_OK) == 0)
		check_add(l, CHECK_OK, "disk limits", "",
			  "by ext4 images on loop devices");
	else
		check_add(l, CHECK_WARN, "disk limits",
			  "modprobe loop ext4; apt-get install e2fsprogs; or "
			  "mount the data directory with prjquota",
			  "none: %s, and no project quotas",
			  loop ? "no mke2fs" : "no loop devices or no ext4");
}

void probe_mount(struct check_list *l, const char *data)
{
	check_overlay(l, data);
	check_limits(l, data);
}

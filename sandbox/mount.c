#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/disk_parts.h"
#include "sandbox/mount.h"
#include "sandbox/mount_proc.h"

#define LAYER_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

int mount_layer(int dir, const char *path, int user_ns)
{
	struct mount_attr a = {
	    .attr_set = MOUNT_ATTR_IDMAP | LAYER_ATTRS,
	    .userns_fd = (__u64)user_ns,
	};
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
	int fd = open_tree(dir, path,
			   path[0] == '\0' ? flags | AT_EMPTY_PATH : flags);

	if (fd >= 0 && mount_setattr(fd, "", AT_EMPTY_PATH, &a, sizeof(a)) < 0)
		own_fd(&fd);
	return fd;
}

int mount_fixed(int dir, const char *path)
{
	struct mount_attr a = {.attr_set = LAYER_ATTRS};
	int fd = open_tree(dir, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (fd >= 0 && mount_setattr(fd, "", AT_EMPTY_PATH, &a, sizeof(a)) < 0)
		own_fd(&fd);
	return fd;
}

static int set(int fs, const char *key, const char *value)
{
	return fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0);
}

static int set_fd_path(int fs, const char *key, int fd, const char *sub)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d%s", fd, sub);
	return set(fs, key, path);
}

/*
 * A detached overlay of lower (over below) under files/<sub>/upper.
 * Directories of the image can be renamed as any other: what that leaves in
 * the upper layer is an attribute that only the kernel writes.
 */
static int overlay(int lower, int below, int files, const char *sub)
{
	OWN(own_fd) int fs = fsopen("overlay", FSOPEN_CLOEXEC);
	char upper[32], work[32], under[32] = "";
	struct statvfs s;
	int m;

	snprintf(upper, sizeof(upper), "/%s/upper", sub);
	snprintf(work, sizeof(work), "/%s/work", sub);
	if (below >= 0)
		snprintf(under, sizeof(under), ":/proc/self/fd/%d", below);
	if (fs < 0 || set(fs, "source", "warren") < 0 ||
	    set_fd_path(fs, "lowerdir", lower, under) < 0 ||
	    set_fd_path(fs, "upperdir", files, upper) < 0 ||
	    set_fd_path(fs, "workdir", files, work) < 0 ||
	    set(fs, "redirect_dir", "on") < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	m = fsmount(fs, FSMOUNT_CLOEXEC, LAYER_ATTRS);
	/* It is when there is no room for its work directory. */
	if (m >= 0 && fstatvfs(m, &s) == 0 && (s.f_flag & ST_RDONLY) != 0) {
		own_fd(&m);
		errno = ENOSPC;
	}
	return m;
}

/* A directory of the tree, without following any link; made if missing. */
static int place(int root, const char *name)
{
	struct open_how how = {
	    .flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		       RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root, name, &how, sizeof(how));

	if (fd >= 0 || (errno != ENOENT && errno != ELOOP && errno != ENOTDIR))
		return fd;
	unlinkat(root, name, 0);
	if (mkdirat(root, name, 0755) < 0)
		return -1;
	return (int)syscall(SYS_openat2, root, name, &how, sizeof(how));
}

int mount_onto(int mount, int target)
{
	return move_mount(mount, "", target, "",
			  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

struct tmpfs {
	uint64_t bytes;
	const char *inodes;
	const char *mode;
	uid_t uid;
	unsigned attrs;
};

struct dev_node {
	const char *name;
	unsigned major_nr;
	unsigned minor_nr;
};

static int tmpfs_at(int target, const struct tmpfs *t)
{
	OWN(own_fd) int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	OWN(own_fd) int m = -1;
	char size[32], uid[32];

	snprintf(size, sizeof(size), "%llu", (unsigned long long)t->bytes);
	snprintf(uid, sizeof(uid), "%u", t->uid);
	if (fs < 0 || set(fs, "size", size) < 0 ||
	    set(fs, "nr_inodes", t->inodes) < 0 ||
	    set(fs, "mode", t->mode) < 0 || set(fs, "uid", uid) < 0 ||
	    set(fs, "gid", uid) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	m = fsmount(fs, FSMOUNT_CLOEXEC, t->attrs);
	return m < 0 ? -1 : mount_onto(m, target);
}

/* An own node: the host's would be one inode, and one lock, for all. */
static int dev_node(int dev, const struct dev_node *n, uid_t owner)
{
	return mknodat(dev, n->name, S_IFCHR | 0666,
		       makedev(n->major_nr, n->minor_nr)) < 0 ||
		       fchownat(dev, n->name, owner, owner,
				AT_SYMLINK_NOFOLLOW) < 0
		   ? -1
		   : fchmodat(dev, n->name, 0666, 0);
}

/*
 * Terminals of its own: an instance that no other sandbox sees. All instances
 * of a machine share kernel.pty.max, hence so few.
 */
static int dev_pts(int dev)
{
	OWN(own_fd) int fs = fsopen("devpts", FSOPEN_CLOEXEC);
	OWN(own_fd) int at = place(dev, "pts"); /* makes it */
	OWN(own_fd) int m = -1;

	if (fs < 0 || at < 0 || set(fs, "mode", "620") < 0 ||
	    set(fs, "ptmxmode", "666") < 0 || set(fs, "max", "64") < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	m = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	return m < 0 ? -1 : mount_onto(m, at);
}

/* A tmpfs with the nodes at ${at}, which is seen by the name ${root}/dev. */
static int dev_nodes(int root, int at, uid_t owner)
{
	static const struct dev_node nodes[] = {
	    {"null", 1, 3},   {"zero", 1, 5},    {"full", 1, 7},
	    {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}};
	static const char *const links[][2] = {{"/proc/self/fd", "fd"},
					       {"pts/ptmx", "ptmx"},
					       {"fd/0", "stdin"},
					       {"fd/1", "stdout"},
					       {"fd/2", "stderr"}};
	struct tmpfs t = {.bytes = 65536,
			  .inodes = "64",
			  .mode = "0755",
			  .uid = owner,
			  .attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC};
	OWN(own_fd) int dev = -1;

	if (at < 0 || tmpfs_at(at, &t) < 0)
		return -1;
	dev = place(root, "dev");
	if (dev < 0 || mkdirat(dev, "shm", 0755) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		if (dev_node(dev, &nodes[i], owner) < 0)
			return -1;
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (symlinkat(links[i][0], dev, links[i][1]) < 0)
			return -1;
	return dev_pts(dev) < 0 ? -1 : STEAL_FD(dev);
}

static int dev_shm(int dev, const struct mount_plan *p)
{
	struct tmpfs shm = {.bytes = p->shm_bytes,
			    .inodes = "16384",
			    .mode = "1777",
			    .uid = p->root_uid,
			    .attrs = LAYER_ATTRS | MOUNT_ATTR_NOEXEC};
	OWN(own_fd) int at = place(dev, "shm");

	return at < 0 ? -1 : tmpfs_at(at, &shm);
}

/* The machine's own /usr, below what the image hides or adds there. */
static int usr_tree(const struct mount_plan *p, int root)
{
	OWN(own_fd) int m = overlay(p->usr_over, p->usr, p->files, "usr");
	OWN(own_fd) int at = place(root, "usr");

	return m < 0 || at < 0 ? -1 : mount_onto(m, at);
}

/* The same in what a sandbox's root may have moved away: its disk takes what is
 * made anew from no id but its own. */
static int place_as(int root, const char *name, uid_t owner)
{
	int fd = place(root, name);

	if (fd >= 0 || errno != EOVERFLOW)
		return fd;
	setfsgid(owner);
	setfsuid(owner);
	fd = place(root, name);
	setfsuid(0);
	setfsgid(0);
	return fd;
}

/*
 * What we run inside, which nobody there writes to: what a sandbox's root put
 * in that place is hidden. Its owner is nobody inside, so root cannot read what
 * may only be run: such a process is opaque from its first instruction on. An
 * overlay, as a bind would be one inode for all to watch and to lock; without
 * an upper layer it wants two lower ones.
 */
static int ours_at(const struct mount_plan *p, int root)
{
	OWN(own_fd) int fs = fsopen("overlay", FSOPEN_CLOEXEC);
	OWN(own_fd) int opt = place_as(root, "opt", p->root_uid);
	OWN(own_fd)
	int at = opt < 0 ? -1 : place_as(opt, "warren", p->root_uid);
	OWN(own_fd) int m = -1;
	char none[48];

	snprintf(none, sizeof(none), "/warren:/proc/self/fd/%d/none", p->ours);
	if (fs < 0 || at < 0 || set(fs, "source", "warren") < 0 ||
	    set_fd_path(fs, "lowerdir", p->ours, none) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	m = fsmount(fs, FSMOUNT_CLOEXEC, LAYER_ATTRS | MOUNT_ATTR_RDONLY);
	return m < 0 ? -1 : mount_onto(m, at);
}

/* The two layers, and /tmp which never touches the disk. */
static int root_tree(const struct mount_plan *p, int *root)
{
	struct tmpfs tmp = {.bytes = p->tmp_bytes,
			    .inodes = "65536",
			    .mode = "1777",
			    .uid = p->root_uid,
			    .attrs = LAYER_ATTRS};
	OWN(own_fd) int m = -1;
	OWN(own_fd) int at = -1;
	bool gave = disk_parts_yield(p->files);

	m = p->tools >= 0 ? overlay(p->tools, p->image, p->files, "root")
			  : overlay(p->image, -1, p->files, "root");
	if (m < 0 ||
	    move_mount(m, "", AT_FDCWD, p->point, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -1;
	*root = STEAL_FD(m);
	if (p->usr_over >= 0 && usr_tree(p, *root) < 0)
		return -1;
	if (p->ours >= 0 && ours_at(p, *root) < 0)
		return -1;
	if (gave)
		disk_parts_hold(p->files);
	at = place(*root, "tmp");
	return at < 0 ? -1 : tmpfs_at(at, &tmp);
}

/*
 * Before Linux 6.15 an overlay takes layers of its maker's own mount namespace
 * only, no detached ones. So they are put over the point, one on the other,
 * where the tree will cover them; the pivot drops them with the old root.
 */
static int attach_layers(const struct mount_plan *p)
{
	const int layers[] = {p->image,    p->tools, p->ours,
			      p->usr_over, p->usr,   p->files};

	for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
		if (layers[i] >= 0 &&
		    move_mount(layers[i], "", AT_FDCWD, p->point,
			       MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return -1;
	return 0;
}

static int make_private(void)
{
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

void mount_stage_close(struct mount_stage *s)
{
	own_fd(&s->dev);
	own_fd(&s->proc);
}

/* On a tmpfs over the point, which the layers will cover. */
int mount_stage(const char *point, uid_t root_uid, struct mount_stage *out)
{
	OWN(own_fd) int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	OWN(own_fd) int root = -1;
	OWN(own_fd) int at_dev = -1;
	OWN(own_fd) int at_proc = -1;
	OWN(mount_stage_close) struct mount_stage s = MOUNT_STAGE_NONE;

	if (make_private() < 0 || fs < 0)
		return -1;
	s.before = mount_count();
	if (fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", "8", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	root = fsmount(fs, FSMOUNT_CLOEXEC, LAYER_ATTRS);
	if (root < 0 ||
	    move_mount(root, "", AT_FDCWD, point, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -1;
	at_dev = place(root, "dev");
	at_proc = place(root, "proc");
	s.dev = dev_nodes(root, at_dev, root_uid);
	if (s.dev < 0 || at_proc < 0 || mount_proc(root, at_proc, root_uid) < 0)
		return -1;
	s.proc = place(root, "proc");
	if (s.proc < 0)
		return -1;
	s.made = mount_count_newer(&s.before) - 1; /* not the tmpfs below */
	*out = s;
	s = (struct mount_stage)MOUNT_STAGE_NONE;
	return 0;
}

/* What is staged moves with all that is mounted in it. */
static int take_stage(int root, const struct mount_stage *s)
{
	OWN(own_fd) int at_dev = place(root, "dev");
	OWN(own_fd) int at_proc = place(root, "proc");

	return at_dev < 0 || at_proc < 0 || mount_onto(s->dev, at_dev) < 0
		   ? -1
		   : mount_onto(s->proc, at_proc);
}

int mount_tree(const struct mount_plan *p, const struct mount_stage *stage)
{
	OWN(own_fd) int root = -1;
	OWN(own_fd) int at = -1;
	OWN(own_fd) int dev = -1;
	OWN(own_fd) int proc = -1;

	if ((stage == NULL && make_private() < 0) || attach_layers(p) < 0 ||
	    root_tree(p, &root) < 0)
		return -1;
	if (stage != NULL)
		return take_stage(root, stage) < 0 ? -1
						   : dev_shm(stage->dev, p);
	at = place(root, "dev");
	dev = dev_nodes(root, at, p->root_uid);
	if (dev < 0 || dev_shm(dev, p) < 0)
		return -1;
	proc = place(root, "proc");
	return proc < 0 ? -1 : mount_proc(root, proc, p->root_uid);
}

int mount_pivot(const char *point)
{
	if (chdir(point) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0)
		return -1;
	return chdir("/");
}

bool mount_is_ours(const struct mount_plan *p, const struct mount_stage *s,
		   int self)
{
	bool counts = s != NULL && s->before.n > 0;
	/* The root, /tmp, /dev/shm and maybe /usr and /opt/warren. */
	int made = counts ? s->made + 3 + (p->usr_over >= 0) + (p->ours >= 0)
			  : 0;

	if (counts && !mount_check_count(&s->before, made))
		return false;
#ifdef NDEBUG
	if (counts)
		return true;
#endif
	return mount_check(self);
}

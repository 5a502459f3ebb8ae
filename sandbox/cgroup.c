#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/cgroup.h"
#include "sandbox/inject.h"

#ifndef CGROUP2_SUPER_MAGIC
#define CGROUP2_SUPER_MAGIC 0x63677270
#define WEIGHT_V1_MAX 262144
#define WEIGHT_V2_MAX 10000
#endif

static const char *const v1_names[CGROUP_V1_COUNT] = {"memory", "pids", "cpu"};

static int open_dir(int at, const char *path)
{
	return openat(at, path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
}

/* Write text to file in dir; -1 with errno. */
static int put(int dir, const char *file, const char *text)
{
	OWN(own_fd) int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);

	if (fd < 0)
		return -1;
	return write(fd, text, n) == (ssize_t)n ? 0 : -1;
}

static int put_u64(int dir, const char *file, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return put(dir, file, text);
}

static int v2_mount_open(const char *mount_dir)
{
	static const char *const places[] = {"/sys/fs/cgroup",
					     "/sys/fs/cgroup/unified"};
	struct statfs s;

	for (size_t i = 0; i < 2; i++) {
		int fd = open_dir(AT_FDCWD, places[i]);

		if (fd >= 0 && fstatfs(fd, &s) == 0 &&
		    s.f_type == CGROUP2_SUPER_MAGIC)
			return fd;
		own_fd(&fd);
	}
	if (mkdir(mount_dir, 0755) < 0 && errno != EEXIST)
		return -1;
	if (statfs(mount_dir, &s) == 0 && s.f_type != CGROUP2_SUPER_MAGIC &&
	    mount("cgroup2", mount_dir, "cgroup2",
		  MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return -1;
	return open_dir(AT_FDCWD, mount_dir);
}

static int make_instance(int parent, const char *instance)
{
	if (mkdirat(parent, instance, 0755) < 0 && errno != EEXIST)
		return -1;
	return open_dir(parent, instance);
}

static bool v2_has_controllers(int mount)
{
	char text[512];
	OWN(own_fd)
	int fd = openat(mount, "cgroup.controllers", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return false;
	text[n] = '\0';
	return strstr(text, "memory") != NULL && strstr(text, "pids") != NULL &&
	       strstr(text, "cpu") != NULL;
}

/* Only a speed-up: kernels before 6.1 do not know the flag. */
static void fast_mount(struct cgroup_root *root, const char *instance,
		       const char *mount_dir)
{
	char options[128];

	snprintf(root->fast, sizeof(root->fast), "%s-fast", mount_dir);
	snprintf(options, sizeof(options), "none,name=%s,favordynmods",
		 instance);
	mkdir(root->fast, 0755);
	umount2(root->fast, MNT_DETACH); /* an earlier broker's */
	if (mount("cgroup", root->fast, "cgroup",
		  MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
		root->fast[0] = '\0';
}

static enum err v1_open(struct cgroup_root *root, const char *instance,
			struct errinfo *e)
{
	for (int i = 0; i < CGROUP_V1_COUNT; i++) {
		char path[64];
		OWN(own_fd) int dir = -1;

		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", v1_names[i]);
		dir = open_dir(AT_FDCWD, path);
		if (dir < 0)
			return err_set(e, ERR_IO, errno,
				       "no cgroup controller %s (v2 or v1)",
				       v1_names[i]);
		root->v1[i] = make_instance(dir, instance);
		if (root->v1[i] < 0)
			return err_set(e, ERR_IO, errno, "cgroup %s/%s", path,
				       instance);
	}
	return ERR_NONE;
}

/*
 * All sandboxes together weigh as much as one process of the machine's on each
 * processor: a group's weight is shared out over the processors it runs on,
 * and theirs would become less with each.
 */
static void weigh(int dir, bool v2, const char *file)
{
	uint64_t most = v2 ? WEIGHT_V2_MAX : WEIGHT_V1_MAX;
	uint64_t all = (uint64_t)get_nprocs() * (v2 ? 100 : 1024);

	put_u64(dir, file, all < most ? all : most);
}

enum err cgroup_root_open(struct cgroup_root *root, const char *instance,
			  const char *mount_dir, struct errinfo *e)
{
	OWN(own_fd) int mount_fd = -1;

	*root = (struct cgroup_root){.v2 = -1, .v1 = {-1, -1, -1}};
	mount_fd = v2_mount_open(mount_dir);
	if (mount_fd < 0)
		return err_set(e, ERR_IO, errno, "no cgroup v2 tree");
	root->v2_limits = v2_has_controllers(mount_fd);
	if (root->v2_limits)
		put(mount_fd, "cgroup.subtree_control", "+memory +pids +cpu");
	root->v2 = make_instance(mount_fd, instance);
	if (root->v2 < 0)
		return err_set(e, ERR_IO, errno, "cgroup v2 %s", instance);
	fast_mount(root, instance, mount_dir);
	if (!root->v2_limits) {
		enum err r = v1_open(root, instance, e);

		if (r == ERR_NONE)
			weigh(root->v1[CGROUP_CPU], false, "cpu.shares");
		return r;
	}
	weigh(root->v2, true, "cpu.weight");
	if (put(root->v2, "cgroup.subtree_control", "+memory +pids +cpu") < 0)
		return err_set(e, ERR_IO, errno, "cgroup v2 controllers");
	return ERR_NONE;
}

void cgroup_root_close(struct cgroup_root *root, const char *instance)
{
	if (root->v2 >= 0) {
		OWN(own_fd) int up = open_dir(root->v2, "..");

		if (up >= 0) /* not while a later broker's sandboxes live */
			unlinkat(up, instance, AT_REMOVEDIR);
	}
	own_fd(&root->v2);
	if (root->fast[0] != '\0') {
		umount2(root->fast, MNT_DETACH);
		rmdir(root->fast);
	}
	for (int i = 0; i < CGROUP_V1_COUNT; i++) {
		char path[PATH_MAX];

		own_fd(&root->v1[i]);
		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s",
			 v1_names[i], instance);
		rmdir(path);
	}
}

static int limit_v2(int dir, const struct cgroup_limits *l)
{
	char text[64];

	snprintf(text, sizeof(text), "%llu 100000",
		 (unsigned long long)l->cpu_millis * 100);
	if (put_u64(dir, "memory.max", l->memory_bytes) < 0 ||
	    put_u64(dir, "pids.max", l->pids) < 0 ||
	    put(dir, "cpu.max", text) < 0 ||
	    (l->cpu_weight > 0 &&
	     put_u64(dir, "cpu.weight", l->cpu_weight) < 0))
		return -1;
	put(dir, "memory.swap.max", "0"); /* absent where swap is off */
	return 0;
}

static int limit_v1(const int *dirs, const struct cgroup_limits *l)
{
	uint64_t quota_us = (uint64_t)l->cpu_millis * 100;
	uint64_t memory = l->memory_bytes;

	if (put_u64(dirs[CGROUP_MEMORY], "memory.limit_in_bytes", memory) < 0 ||
	    put_u64(dirs[CGROUP_PIDS], "pids.max", l->pids) < 0 ||
	    put_u64(dirs[CGROUP_CPU], "cpu.cfs_quota_us", quota_us) < 0)
		return -1;
	/* v2's weight of 100 is v1's share of 1024. */
	if (l->cpu_weight > 0 &&
	    put_u64(dirs[CGROUP_CPU], "cpu.shares",
		    (uint64_t)l->cpu_weight * 1024 / 100) < 0)
		return -1;
	put_u64(dirs[CGROUP_MEMORY], "memory.memsw.limit_in_bytes", memory);
	return 0;
}

static void close_dirs(int (*dirs)[CGROUP_V1_COUNT])
{
	for (int i = 0; i < CGROUP_V1_COUNT; i++)
		own_fd(&(*dirs)[i]);
}

static int delegate(int dir, uid_t owner)
{
	static const char *const files[] = {"cgroup.procs", "cgroup.threads"};

	if (fchown(dir, owner, owner) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++)
		if (fchownat(dir, files[i], owner, owner, 0) < 0)
			return -1;
	return 0;
}

static enum err make_dirs(const struct cgroup_root *root, const char *id,
			  const struct cgroup_limits *limits, uid_t owner,
			  struct errinfo *e)
{
	OWN(own_fd) int v2 = -1;
	OWN(close_dirs) int v1[CGROUP_V1_COUNT] = {-1, -1, -1};
	bool use_v1 = !root->v2_limits;

	if (mkdirat(root->v2, id, 0755) < 0)
		return err_set(e, ERR_IO, errno, "cgroup of %s", id);
	v2 = open_dir(root->v2, id);
	if (v2 < 0 || inject_at(INJECT_CGROUP_MAKE) || delegate(v2, owner) < 0)
		return err_set(e, ERR_IO, errno, "cgroup of %s", id);
	for (int i = 0; use_v1 && i < CGROUP_V1_COUNT; i++) {
		if (mkdirat(root->v1[i], id, 0755) < 0)
			return err_set(e, ERR_IO, errno, "cgroup v1");
		v1[i] = open_dir(root->v1[i], id);
		if (v1[i] < 0)
			return err_set(e, ERR_IO, errno, "cgroup v1");
	}
	if ((use_v1 ? limit_v1(v1, limits) : limit_v2(v2, limits)) < 0 ||
	    inject_at(INJECT_CGROUP_LIMIT))
		return err_set(e, ERR_IO, errno, "cgroup limits");
	return ERR_NONE;
}

enum err cgroup_make(const struct cgroup_root *root, const char *id,
		     const struct cgroup_limits *limits, uid_t owner,
		     struct errinfo *e)
{
	enum err r = make_dirs(root, id, limits, owner, e);

	if (r != ERR_NONE)
		cgroup_remove(root, id);
	return r;
}

enum err cgroup_attach(const struct cgroup_root *root, const char *id,
		       pid_t pid, struct errinfo *e)
{
	char path[64], text[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", id);
	snprintf(text, sizeof(text), "%d", (int)pid);
	for (int i = 0; !root->v2_limits && i < CGROUP_V1_COUNT; i++)
		if (put(root->v1[i], path, text) < 0)
			return err_set(e, ERR_IO, errno, "attach (%s)",
				       v1_names[i]);
	if (inject_at(INJECT_CGROUP_MOVE))
		return err_set(e, ERR_IO, errno, "attach");
	return ERR_NONE;
}

static uint64_t get_u64(int dir, const char *id, const char *file)
{
	char path[64], text[32];
	OWN(own_fd) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", id, file);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return UINT64_MAX;
	text[n] = '\0';
	return text[0] == 'm' ? UINT64_MAX : strtoull(text, NULL, 10);
}

enum err cgroup_enter_files(const struct cgroup_root *root, const char *id,
			    int *fds, int *n, struct errinfo *e)
{
	int pids = root->v2_limits ? root->v2 : root->v1[CGROUP_PIDS];
	char path[64];

	*n = 0;
	if (get_u64(pids, id, "pids.current") >= get_u64(pids, id, "pids.max"))
		return err_set(e, ERR_LIMIT, 0, "processes");
	snprintf(path, sizeof(path), "%s/cgroup.procs", id);
	for (int i = -1; i < (root->v2_limits ? 0 : CGROUP_V1_COUNT); i++) {
		int dir = i < 0 ? root->v2 : root->v1[i];
		int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);

		if (fd < 0) {
			while (*n > 0)
				close(fds[--*n]);
			return err_set(e, ERR_IO, errno, "cgroup of %s", id);
		}
		fds[(*n)++] = fd;
	}
	return ERR_NONE;
}

enum err cgroup_move(const struct cgroup_root *root, const char *id, pid_t pid,
		     struct errinfo *e)
{
	char path[64], text[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", id);
	snprintf(text, sizeof(text), "%d", (int)pid);
	if (put(root->v2, path, text) < 0)
		return err_set(e, ERR_IO, errno, "attach (v2)");
	return cgroup_attach(root, id, pid, e);
}

bool cgroup_moves_fast(const struct cgroup_root *root)
{
	return root->fast[0] != '\0';
}

void cgroup_kill(const struct cgroup_root *root, const char *id)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/cgroup.kill", id);
	put(root->v2, path, "1");
}

/* The leaves of executions that init left. */
static void remove_leaves(int dir)
{
	int fd = openat(dir, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (d == NULL) {
		own_fd(&fd);
		return;
	}
	while ((de = readdir(d)) != NULL)
		if (de->d_type == DT_DIR && de->d_name[0] != '.')
			unlinkat(dir, de->d_name, AT_REMOVEDIR);
	closedir(d);
}

bool cgroup_remove(const struct cgroup_root *root, const char *id)
{
	OWN(own_fd) int dir = open_dir(root->v2, id);
	bool gone = true;

	if (dir >= 0)
		remove_leaves(dir);
	for (int i = 0; !root->v2_limits && i < CGROUP_V1_COUNT; i++)
		if (unlinkat(root->v1[i], id, AT_REMOVEDIR) < 0 &&
		    errno != ENOENT)
			gone = false;
	if (unlinkat(root->v2, id, AT_REMOVEDIR) < 0 && errno != ENOENT)
		gone = false;
	return gone;
}

int cgroup_dir(const struct cgroup_root *root, const char *id)
{
	if (inject_at(INJECT_CGROUP_DIR))
		return -1;
	return open_dir(root->v2, id);
}

int cgroup_oom_file(const struct cgroup_root *root, const char *id)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", id,
		 root->v2_limits ? "memory.events" : "memory.oom_control");
	return openat(root->v2_limits ? root->v2 : root->v1[CGROUP_MEMORY],
		      path, O_RDONLY | O_CLOEXEC);
}

static int open_v2(const struct cgroup_root *root, const char *id,
		   const char *file, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", id, file);
	return openat(root->v2, path, flags | O_CLOEXEC);
}

int cgroup_freeze_file(const struct cgroup_root *root, const char *id)
{
	return open_v2(root, id, "cgroup.freeze", O_RDWR);
}

int cgroup_events_file(const struct cgroup_root *root, const char *id)
{
	return open_v2(root, id, "cgroup.events", O_RDONLY);
}

bool cgroup_asleep(const struct cgroup_root *root, const char *id)
{
	return get_u64(root->v2, id, "cgroup.freeze") == 1;
}

int cgroup_usage_file(const struct cgroup_root *root, const char *id,
		      enum cgroup_usage what)
{
	static const struct {
		const char *v2;
		const char *v1;
		enum cgroup_control control;
	} files[] = {
	    [CGROUP_MEMORY_NOW] = {"memory.current", "memory.usage_in_bytes",
				   CGROUP_MEMORY},
	    [CGROUP_MEMORY_MAX] = {"memory.max", "memory.limit_in_bytes",
				   CGROUP_MEMORY},
	    [CGROUP_PIDS_NOW] = {"pids.current", "pids.current", CGROUP_PIDS},
	    [CGROUP_PIDS_MAX] = {"pids.max", "pids.max", CGROUP_PIDS},
	    [CGROUP_MEMORY_PEAK] = {"memory.peak", "memory.max_usage_in_bytes",
				    CGROUP_MEMORY},
	    [CGROUP_PIDS_EVENTS] = {"pids.events", "pids.events", CGROUP_PIDS},
	};
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", id,
		 root->v2_limits ? files[what].v2 : files[what].v1);
	return openat(root->v2_limits ? root->v2
				      : root->v1[files[what].control],
		      path, O_RDONLY | O_CLOEXEC);
}

void cgroup_each(const struct cgroup_root *root,
		 void (*fn)(void *arg, const char *id), void *arg)
{
	int fd = openat(root->v2, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (d == NULL) {
		own_fd(&fd);
		return;
	}
	while ((de = readdir(d)) != NULL)
		if (de->d_type == DT_DIR && de->d_name[0] != '.')
			fn(arg, de->d_name);
	closedir(d);
}

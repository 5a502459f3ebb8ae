/*
 * The cgroups of sandboxes. Limits (memory, cpu, pids) by v2 controllers
 * where they are, else by v1 hierarchies; killing, freezing and one leaf per
 * execution always by a v2 tree, which needs no controllers.
 *
 *   <v2>/<instance>/<sandbox id>/      init sits here; owned by init's uid
 *   <v2>/<instance>/<sandbox id>/eN/   one execution each, made by init
 *   <v1 memory|pids|cpu>/<instance>/<sandbox id>/
 */
#ifndef SANDBOX_CGROUP_H
#define SANDBOX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define CGROUP_V1_COUNT 3

enum cgroup_control { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU };

/* Descriptors of the instance's directories; -1 where there is none. */
struct cgroup_root {
	int v2;                  /* the instance's v2 directory */
	int v1[CGROUP_V1_COUNT]; /* the same below v1 controllers */
	bool v2_limits;          /* memory, pids and cpu are v2's */
	char fast[256];          /* where the fast hierarchy is mounted */
};

struct cgroup_limits {
	uint64_t memory_bytes;
	uint32_t cpu_millis; /* 1000 = one core */
	uint32_t cpu_weight; /* 1 to 10000; 0: 100, as usual */
	uint32_t pids;
};

/**
 * cgroup_root_open(root, instance, mount_dir, e):
 * Find the hierarchies and make the instance's directories in them. Where no
 * v2 tree is mounted, one is mounted on ${mount_dir}. With v1 limits an empty
 * hierarchy of our own is mounted on ${mount_dir}-fast: its favordynmods flag
 * takes the wait for an RCU grace period (13 ms) out of each attach.
 * Owns: close with cgroup_root_close(). Errors: ERR_IO naming what is missing.
 */
FALLIBLE enum err cgroup_root_open(struct cgroup_root *root,
				   const char *instance, const char *mount_dir,
				   struct errinfo *e);
void cgroup_root_close(struct cgroup_root *root, const char *instance);

/**
 * cgroup_make(root, id, limits, owner, e):
 * Make a sandbox's directories with their limits; the v2 one is delegated to
 * ${owner}. On failure nothing of them is left.
 */
FALLIBLE enum err cgroup_make(const struct cgroup_root *root, const char *id,
			      const struct cgroup_limits *limits, uid_t owner,
			      struct errinfo *e);

/** cgroup_attach(root, id, pid, e): Put a process that was cloned into the
 * v2 directory into the v1 ones too, where there are such. */
FALLIBLE enum err cgroup_attach(const struct cgroup_root *root, const char *id,
				pid_t pid, struct errinfo *e);

#define CGROUP_ENTER_MAX (1 + CGROUP_V1_COUNT)

/**
 * cgroup_enter_files(root, id, fds, n, e):
 * Files of a sandbox's cgroups, ${n} of them, open for writing: who writes
 * "0" there is moved in. Owns: the caller closes them. Errors: ERR_IO;
 * ERR_LIMIT when no further process fits: moving in does not ask for that.
 */
FALLIBLE enum err cgroup_enter_files(const struct cgroup_root *root,
				     const char *id, int *fds, int *n,
				     struct errinfo *e);

/** cgroup_move(root, id, pid, e): Put any process into all of them. Blocks:
 * for 13 ms where cgroup_root_open() found no favordynmods. */
FALLIBLE enum err cgroup_move(const struct cgroup_root *root, const char *id,
			      pid_t pid, struct errinfo *e);

/** cgroup_moves_fast(root): That takes no time. */
bool cgroup_moves_fast(const struct cgroup_root *root);

/** cgroup_kill(root, id): SIGKILL to every process in it. */
void cgroup_kill(const struct cgroup_root *root, const char *id);

/** cgroup_remove(root, id): True when nothing is left (any more). */
bool cgroup_remove(const struct cgroup_root *root, const char *id);

/** cgroup_dir(root, id): A descriptor of the v2 directory, or -1. */
int cgroup_dir(const struct cgroup_root *root, const char *id);

/**
 * cgroup_oom_file(root, id):
 * A descriptor whose text has a line "oom_kill N": how often the kernel
 * killed in there for memory. -1 if there is none.
 */
int cgroup_oom_file(const struct cgroup_root *root, const char *id);

/**
 * cgroup_freeze_file(root, id), cgroup_events_file(root, id):
 * Descriptors for who may stop and continue all of a sandbox by writing "1"
 * or "0", and may read whether all of it has stopped (a line "frozen 1"). -1
 * if there is none. A frozen one can still be killed. Source: kernel
 * cgroup-v2.rst, "cgroup.freeze"; the v2 tree needs no controllers for it.
 */
int cgroup_freeze_file(const struct cgroup_root *root, const char *id);
int cgroup_events_file(const struct cgroup_root *root, const char *id);

/** cgroup_asleep(root, id): It was stopped that way, and not continued. */
bool cgroup_asleep(const struct cgroup_root *root, const char *id);

enum cgroup_usage {
	CGROUP_MEMORY_NOW, /* bytes */
	CGROUP_MEMORY_MAX,
	CGROUP_PIDS_NOW,
	CGROUP_PIDS_MAX,
	CGROUP_MEMORY_PEAK, /* bytes */
	CGROUP_PIDS_EVENTS  /* lines; "max N": so many forks were refused */
};

/** cgroup_usage_file(root, id, what): A descriptor whose text is that
 * number, or "max"; -1 if there is none. */
int cgroup_usage_file(const struct cgroup_root *root, const char *id,
		      enum cgroup_usage what);

/** cgroup_each(root, fn, arg): fn(arg, id) for each sandbox with a v2
 * directory: what an earlier broker may have left. */
void cgroup_each(const struct cgroup_root *root,
		 void (*fn)(void *arg, const char *id), void *arg);

#endif

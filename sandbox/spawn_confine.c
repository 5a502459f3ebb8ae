#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/init_msg.h"
#include "base/own.h"
#include "sandbox/caps.h"
#include "sandbox/fd_check.h"
#include "sandbox/inject.h"
#include "sandbox/landlock.h"
#include "sandbox/limits.h"
#include "sandbox/spawn_confine.h"

#define CAP_LAST 63
#define LIST_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

struct confine {
	struct spawn_plan *plan;
	const struct spawn_host *host;
	int open_list; /* our own descriptors, as a directory */
};

/* What is needed still goes out of the way; what is none stays so. */
static void keep_up(int *fd)
{
	int up = fcntl(*fd, F_DUPFD_CLOEXEC, SPAWN_FD_HIGH);

	if (up >= 0)
		*fd = up;
}

/*
 * 0-2 are /dev/null, then the two that init gets, and later the listener of
 * its filter; every other descriptor closes at exec.
 */
static int arrange_fds(const struct confine *c)
{
	struct spawn_plan *p = c->plan;
	int keeper = fcntl(p->keeper, F_DUPFD_CLOEXEC, SPAWN_FD_HIGH);
	int cgroup = fcntl(p->cgroup, F_DUPFD_CLOEXEC, SPAWN_FD_HIGH);

	if (keeper < 0 || cgroup < 0)
		return -1;
	keep_up(&p->init_program);
	keep_up(&p->user_ns);
	for (int i = 0; i < 3; i++)
		if (dup2(c->host->null, i) < 0)
			return -1;
	if (dup2(keeper, INIT_FD_KEEPER) < 0 ||
	    dup2(cgroup, INIT_FD_CGROUP) < 0)
		return -1;
	return close_range(INIT_FD_CGROUP + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

static int become_init(const struct confine *c)
{
	(void)c;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 ||
	    setresgid(INIT_UID, INIT_UID, INIT_UID) < 0 ||
	    setresuid(INIT_UID, INIT_UID, INIT_UID) < 0)
		return -1;
	if (getuid() != INIT_UID || getgid() != INIT_UID) {
		errno = EPERM;
		return -1;
	}
	return 0;
}

static int keep_caps(uint64_t keep)
{
	struct __user_cap_header_struct h = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2], got[2];

	for (int c = 0; c <= CAP_LAST; c++)
		if ((keep & CAP_BIT(c)) == 0 &&
		    prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0)
			break; /* past the kernel's last capability */
	for (int i = 0; i < 2; i++) {
		d[i].permitted = (uint32_t)(keep >> (32 * i));
		d[i].effective = d[i].inheritable = d[i].permitted;
	}
	if (syscall(SYS_capset, &h, d) < 0)
		return -1;
	for (int c = 0; c <= CAP_LAST; c++)
		if ((keep & CAP_BIT(c)) != 0 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, c, 0, 0) < 0)
			return -1;
	if (syscall(SYS_capget, &h, got) < 0)
		return -1;
	errno = EPERM;
	if (memcmp(d, got, sizeof(d)) != 0)
		return -1;
	for (int c = 0; c <= CAP_LAST; c++) {
		int bounded = prctl(PR_CAPBSET_READ, c, 0, 0, 0);

		if (bounded >= 0 && bounded != ((keep & CAP_BIT(c)) != 0))
			return -1;
	}
	return 0;
}

static int own_cgroups(const struct confine *c)
{
	(void)c;
	return unshare(CLONE_NEWCGROUP);
}

/* Killed before the host's own when memory is short; it cannot go lower. */
static int set_limits(const struct confine *c)
{
	return limits_set(&c->plan->limits) < 0
		   ? -1
		   : limits_oom(c->host->proc_self);
}

static int own_keyring(const struct confine *c)
{
	(void)c;
	return limits_keyring();
}

static int enter_users(const struct confine *c)
{
	return setgroups(0, NULL) < 0 ? -1
				      : setns(c->plan->user_ns, CLONE_NEWUSER);
}

static int lock_mounts(const struct confine *c)
{
	(void)c;
	return unshare(CLONE_NEWNS);
}

static int user_limits(const struct confine *c)
{
	return limits_user_last(c->host->proc_user);
}

static int init_caps(const struct confine *c)
{
	(void)c;
	return keep_caps(CAPS_INIT);
}

static int own_session(const struct confine *c)
{
	(void)c;
	return setsid() < 0 ? -1 : 0;
}

static int no_new_privs(const struct confine *c)
{
	(void)c;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int second_wall(const struct confine *c)
{
	return landlock_confine(c->plan->init_program, INIT_FD_CGROUP);
}

/* Init is told of the calls that its listener is asked about. */
static int load_filter(const struct confine *c)
{
	const struct filter *f = c->plan->filter;
	int listener;

	if (filter_load_counting(&f->counting, &f->fprog, &listener) < 0)
		return -1;
	if (listener == INIT_FD_CALLS) /* dup2() would leave it as it is */
		return fcntl(listener, F_SETFD, 0);
	return dup2(listener >= 0 ? listener : c->host->null, INIT_FD_CALLS) < 0
		   ? -1
		   : 0;
}

static int nothing_left_open(const struct confine *c)
{
	/* What a test breaks here is found, not told. */
	if (inject_at(INJECT_SPAWN_LEFT_OPEN) && dup(0) < 0)
		return -1;
	return fd_check(c->open_list, FD_CHECK_FIRST(INIT_FD_CALLS + 1), true)
		   ? 0
		   : -1;
}

static const struct {
	enum spawn_step step;
	int (*run)(const struct confine *c);
} steps[] = {
    {SPAWN_CGROUP_NS, own_cgroups},
    {SPAWN_FDS, arrange_fds},
    {SPAWN_RLIMITS, set_limits},
    {SPAWN_KEYRING, own_keyring},
    {SPAWN_USER_NS, enter_users},
    {SPAWN_MOUNT_NS, lock_mounts},
    {SPAWN_USER_LIMITS, user_limits},
    {SPAWN_IDS, become_init},
    {SPAWN_CAPS, init_caps},
    {SPAWN_SESSION, own_session},
    {SPAWN_NO_NEW_PRIVS, no_new_privs},
    {SPAWN_LANDLOCK, second_wall},
    {SPAWN_FILTER, load_filter},
    {SPAWN_LEFT_OPEN, nothing_left_open},
};

_Static_assert(sizeof(steps) / sizeof(steps[0]) == SPAWN_EXEC - SPAWN_CGROUP_NS,
	       "each step between those two is here");

enum spawn_step spawn_confine(struct spawn_plan *plan,
			      const struct spawn_host *host)
{
	struct confine c = {plan, host, -1};
	int list = openat(host->proc_self, "fd", LIST_FLAGS);

	/* Out of the way of what init gets. */
	c.open_list = fcntl(list, F_DUPFD_CLOEXEC, SPAWN_FD_HIGH);
	own_fd(&list);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		enum inject_point point = (enum inject_point)steps[i].step;

		if (steps[i].step != SPAWN_LEFT_OPEN && inject_at(point))
			return steps[i].step;
		if (steps[i].run(&c) < 0)
			return steps[i].step;
	}
	return SPAWN_OK;
}

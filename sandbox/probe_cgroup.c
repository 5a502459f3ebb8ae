/* Which cgroup tree has which controllers, and a rehearsal in them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/cgroup.h"
#include "sandbox/probe.h"

#define PLACE "/tmp" /* covered by a tmpfs, in the child's namespace only */
#define LEAF "rehearsal"
#define LIMIT_MS 5000

static struct cgroup_root probe_root;

static int note(struct probe_said *said, const struct errinfo *e)
{
	errno = e->sys;
	return probe_fail(said, e->text);
}

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, LIMIT_MS) == 1;
}

/* In the cgroup, which takes two processes: the third must be refused. */
static void limited(int in, int out)
{
	char c = 'n';

	if (read(in, &c, 1) != 1)
		_exit(1);
	c = 'n';
	if (fork() == 0)
		pause();
	if (fork() < 0 && errno == EAGAIN)
		c = 'y';
	(void)!write(out, &c, 1);
	pause();
	_exit(1);
}

static int rehearse_with(pid_t pid, int go, int answer, struct probe_said *said)
{
	struct errinfo e;
	char c = 'g';

	if (cgroup_attach(&probe_root, LEAF, pid, &e) != ERR_NONE)
		return note(said, &e);
	if (write(go, &c, 1) != 1 || !readable(answer) ||
	    read(answer, &c, 1) != 1)
		return probe_fail(said, "a process in a cgroup");
	errno = EDOM;
	return c == 'y' ? 0 : probe_fail(said, "the pids limit does not hold");
}

/* Clone into it, reach the limit, kill all of it. */
static int rehearse(struct probe_said *said)
{
	OWN(own_fd) int dir = cgroup_dir(&probe_root, LEAF);
	OWN(own_fd) int pidfd = -1;
	int go[2], answer[2], got = -1, r;
	struct clone_args a = {.flags = CLONE_PIDFD | CLONE_INTO_CGROUP,
			       .pidfd = (__u64)(uintptr_t)&got,
			       .exit_signal = SIGCHLD,
			       .cgroup = (__u64)dir};
	pid_t pid;

	if (pipe(go) < 0 || pipe(answer) < 0)
		return probe_fail(said, "pipe");
	pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
	if (pid == 0)
		limited(go[0], answer[1]);
	if (pid < 0)
		return probe_fail(said, "clone into a cgroup");
	pidfd = got;
	r = rehearse_with(pid, go[1], answer[0], said);
	cgroup_kill(&probe_root, LEAF);
	if (!readable(pidfd)) {
		kill(pid, SIGKILL);
		errno = ETIME;
		return probe_fail(said, "cgroup.kill kills nothing");
	}
	waitpid(pid, NULL, 0);
	return r;
}

static bool remove_leaf(void)
{
	for (int i = 0; i < 100; i++) {
		if (cgroup_remove(&probe_root, LEAF))
			return true;
		usleep(10000);
	}
	return false;
}

static int limit_and_rehearse(struct probe_said *said)
{
	static const struct cgroup_limits limits = {
	    .memory_bytes = 64U << 20, .cpu_millis = 1000, .pids = 2};
	struct errinfo e;
	int r;

	if (cgroup_make(&probe_root, LEAF, &limits, 0, &e) != ERR_NONE)
		return note(said, &e);
	r = rehearse(said);
	if (!remove_leaf() && r == 0) {
		errno = EBUSY;
		r = probe_fail(said, "a cgroup cannot be removed");
	}
	return r;
}

static int try_cgroup(struct probe_said *said)
{
	char instance[32];
	struct errinfo e;
	int r;

	snprintf(instance, sizeof(instance), "warren-probe-%d", (int)getpid());
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("warren", PLACE, "tmpfs", 0, "size=1m") < 0)
		return probe_fail(said, "tmpfs");
	if (cgroup_root_open(&probe_root, instance, PLACE "/cgroup", &e) ==
	    ERR_NONE)
		r = limit_and_rehearse(said);
	else
		r = note(said, &e);
	if (r == 0)
		snprintf(said->what, sizeof(said->what), "%s%s",
			 probe_root.v2_limits
			     ? "limits by v2"
			     : "limits by v1 hierarchies, kill by the v2 tree",
			 !probe_root.v2_limits && probe_root.fast[0] != '\0'
			     ? ", favordynmods"
			     : "");
	cgroup_root_close(&probe_root, instance);
	return r;
}

static void check_controllers(struct check_list *l,
			      const struct probe_said *said)
{
	if (strstr(said->what, "v1") == NULL)
		return;
	check_add(l, CHECK_WARN, "cgroup mode",
		  "boot with systemd.unified_cgroup_hierarchy=1 "
		  "cgroup_no_v1=all",
		  "v1 cannot limit a disk's bandwidth; v2 alone can");
	if (strstr(said->what, "favordynmods") == NULL)
		check_add(l, CHECK_WARN, "favordynmods",
			  "boot a kernel of 6.1 or newer",
			  "each start waits 13 ms for an RCU grace period");
}

void probe_cgroup(struct check_list *l)
{
	struct probe_said said;

	if (!probe_try(CLONE_NEWNS, try_cgroup, &said)) {
		check_add(l, CHECK_MISSING, "cgroup",
			  "the controllers memory, pids and cpu, all in v2 or "
			  "all in v1, writable by root (systemd: "
			  "Delegate=yes)",
			  "%s: %s", said.what, strerrordesc_np(said.sys));
		return;
	}
	check_add(l, CHECK_OK, "cgroup", "", "%s: rehearsed", said.what);
	check_controllers(l, &said);
}

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/init_msg.h"
#include "base/own.h"
#include "sandbox/caps.h"
#include "sandbox/child.h"
#include "sandbox/limits.h"
#include "sandbox/parcel.h"
#include "sandbox/spawn.h"

#define CAP_LAST 63
#define FD_HIGH 32

noreturn static void fail(int report, enum spawn_step step)
{
	struct spawn_report r = {.step = step, .sys = (uint32_t)errno};

	(void)!write(report, &r, sizeof(r));
	_exit(127);
}

static int wait_attached(int go)
{
	char c;
	ssize_t n;

	do {
		n = read(go, &c, 1);
	} while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -1;
}

/*
 * 0-2 are /dev/null, then the two that init gets; every other descriptor
 * closes at exec.
 */
static int arrange_fds(const struct spawn_plan *p, int null)
{
	int keeper = fcntl(p->keeper, F_DUPFD_CLOEXEC, FD_HIGH);
	int cgroup = fcntl(p->cgroup, F_DUPFD_CLOEXEC, FD_HIGH);

	if (keeper < 0 || cgroup < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (dup2(null, i) < 0)
			return -1;
	if (dup2(keeper, INIT_FD_KEEPER) < 0 ||
	    dup2(cgroup, INIT_FD_CGROUP) < 0)
		return -1;
	return close_range(INIT_FD_CGROUP + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

static int become_init(void)
{
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

/* From real root with its tree to a process that may become init. */
static enum spawn_step confine(const struct spawn_plan *p, int null,
			       int proc_user)
{
	if (unshare(CLONE_NEWCGROUP) < 0)
		return SPAWN_CGROUP_NS;
	if (arrange_fds(p, null) < 0)
		return SPAWN_FDS;
	/* Before the host's own when memory is short; it cannot go lower. */
	if (limits_set(&p->limits) < 0 || limits_oom() < 0)
		return SPAWN_RLIMITS;
	if (limits_keyring() < 0)
		return SPAWN_KEYRING;
	if (setgroups(0, NULL) < 0 || setns(p->user_ns, CLONE_NEWUSER) < 0)
		return SPAWN_USER_NS;
	if (unshare(CLONE_NEWNS) < 0)
		return SPAWN_MOUNT_NS;
	if (limits_user_last(proc_user) < 0)
		return SPAWN_USER_LIMITS;
	if (become_init() < 0)
		return SPAWN_IDS;
	if (keep_caps(CAPS_INIT) < 0)
		return SPAWN_CAPS;
	setsid();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return SPAWN_NO_NEW_PRIVS;
	return filter_load(p->filter) < 0 ? SPAWN_FILTER : SPAWN_OK;
}

/* Out of the way of what init gets. */
static bool move_up(int *fd)
{
	int up = fcntl(*fd, F_DUPFD_CLOEXEC, FD_HIGH);

	own_fd(fd);
	*fd = up;
	return up >= 0;
}

/* What both ways of a start begin with: the host's, hidden later. */
struct opened {
	int proc_user;
	int null;
};

static struct opened open_first(int net_ns, int report)
{
	struct opened o = {.proc_user = open("/proc/sys/user",
					     O_PATH | O_DIRECTORY | O_CLOEXEC),
			   .null = open("/dev/null", O_RDWR | O_CLOEXEC)};

	limits_signals(true);
	if (!move_up(&o.proc_user) || !move_up(&o.null))
		fail(report, SPAWN_FDS);
	if (setns(net_ns, CLONE_NEWNET) < 0)
		fail(report, SPAWN_NET);
	return o;
}

static void build(const struct spawn_plan *p, const struct mount_stage *stage,
		  int report)
{
	if (mount_tree(&p->mounts, stage) < 0)
		fail(report, SPAWN_MOUNTS);
	if (mount_pivot(p->mounts.point) < 0)
		fail(report, SPAWN_PIVOT);
	if (sethostname("sandbox", 7) < 0)
		fail(report, SPAWN_HOSTNAME);
}

noreturn static void become(const struct spawn_plan *p, const struct opened *o,
			    int report)
{
	char name[] = "warren-init";
	char *const argv[] = {name, NULL};
	char *const env[] = {NULL};
	enum spawn_step step = confine(p, o->null, o->proc_user);

	if (step != SPAWN_OK)
		fail(report, step);
	syscall(SYS_execveat, p->init_program, "", argv, env, AT_EMPTY_PATH);
	fail(report, SPAWN_EXEC);
}

noreturn static void child_main(const struct spawn_plan *p, int go, int report)
{
	struct opened o = open_first(p->net_ns, report);

	build(p, NULL, report);
	if (wait_attached(go) < 0)
		fail(report, SPAWN_ATTACHED);
	become(p, &o, report);
}

void spawn_child_close(struct spawn_child *c)
{
	own_fd(&c->pidfd);
	own_fd(&c->go);
	own_fd(&c->report);
}

static void close_pair(int (*fds)[2])
{
	own_fd(&(*fds)[0]);
	own_fd(&(*fds)[1]);
}

enum err spawn_start(const struct spawn_plan *plan, struct spawn_child *child,
		     struct errinfo *e)
{
	OWN(close_pair) int go[2] = {-1, -1};
	OWN(close_pair) int report[2] = {-1, -1};
	int pidfd = -1;
	struct clone_args a = {
	    .flags = CLONE_PIDFD | CLONE_INTO_CGROUP | CLONE_NEWNS |
		     CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS,
	    .pidfd = (__u64)(uintptr_t)&pidfd,
	    .exit_signal = SIGCHLD,
	    .cgroup = (__u64)plan->cgroup,
	};
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0)
		return err_set(e, ERR_IO, errno, "pipe");
	/* Below FD_HIGH they would stand where init's descriptors go. */
	for (int i = 0; i < 2; i++) {
		int up = fcntl(i == 0 ? go[0] : report[1], F_DUPFD_CLOEXEC,
			       FD_HIGH);

		if (up < 0)
			return err_set(e, ERR_IO, errno, "dup");
		if (i == 0) {
			own_fd(&go[0]);
			go[0] = up;
		} else {
			own_fd(&report[1]);
			report[1] = up;
		}
	}
	pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
	if (pid < 0)
		return err_set(e, ERR_IO, errno, "clone3");
	if (pid == 0) {
		own_fd(&go[1]);
		own_fd(&report[0]);
		child_main(plan, go[0], report[1]);
	}
	*child = (struct spawn_child){.pid = pid,
				      .pidfd = pidfd,
				      .go = STEAL_FD(go[1]),
				      .report = STEAL_FD(report[0])};
	return ERR_NONE;
}

/* ---- husks ---- */

/* The plan in a message: its numbers, then its descriptors as below. */
struct orders {
	uid_t root_uid;
	uint64_t tmp_bytes;
	uint64_t shm_bytes;
	struct limits limits;
	bool host_usr;
	bool tools;
};

enum { ORDER_IMAGE, ORDER_FILES, ORDER_COUNT };
enum { GO_KEEPER, GO_CGROUP, GO_COUNT };

bool spawn_fill(const struct spawn_plan *p, const struct spawn_child *husk)
{
	const struct orders o = {.root_uid = p->mounts.root_uid,
				 .tmp_bytes = p->mounts.tmp_bytes,
				 .shm_bytes = p->mounts.shm_bytes,
				 .limits = p->limits,
				 .host_usr = p->mounts.usr_over >= 0,
				 .tools = p->mounts.tools >= 0};
	struct parcel_fds fds = {{p->mounts.image, p->mounts.files},
				 ORDER_COUNT};

	if (o.host_usr) {
		fds.at[fds.n++] = p->mounts.usr_over;
		fds.at[fds.n++] = p->mounts.usr;
	}
	if (o.tools)
		fds.at[fds.n++] = p->mounts.tools;
	return parcel_send(husk->go, &o, sizeof(o), &fds, MSG_DONTWAIT);
}

bool spawn_go(const struct spawn_child *husk, int keeper, int cgroup)
{
	const struct parcel_fds fds = {{keeper, cgroup}, GO_COUNT};

	return parcel_send(husk->go, "g", 1, &fds, MSG_DONTWAIT);
}

static int take_go(int socket_fd, struct spawn_plan *p)
{
	struct parcel_fds fds;
	char c;

	if (!parcel_receive(socket_fd, &c, 1, &fds, 0) || fds.n != GO_COUNT ||
	    !move_up(&fds.at[GO_KEEPER]) || !move_up(&fds.at[GO_CGROUP]))
		return -1;
	p->keeper = fds.at[GO_KEEPER];
	p->cgroup = fds.at[GO_CGROUP];
	return 0;
}

static bool take_orders(int socket_fd, struct spawn_plan *p)
{
	struct orders o;
	struct parcel_fds fds;

	if (!parcel_receive(socket_fd, &o, sizeof(o), &fds, 0) ||
	    fds.n != ORDER_COUNT + (o.host_usr ? 2 : 0) + (o.tools ? 1 : 0))
		return false;
	for (int i = 0; i < fds.n; i++)
		if (!move_up(&fds.at[i]))
			return false;
	p->limits = o.limits;
	p->mounts.image = fds.at[ORDER_IMAGE];
	p->mounts.files = fds.at[ORDER_FILES];
	p->mounts.usr_over = o.host_usr ? fds.at[ORDER_COUNT] : -1;
	p->mounts.usr = o.host_usr ? fds.at[ORDER_COUNT + 1] : -1;
	p->mounts.tools = o.tools ? fds.at[fds.n - 1] : -1;
	p->mounts.root_uid = o.root_uid;
	p->mounts.tmp_bytes = o.tmp_bytes;
	p->mounts.shm_bytes = o.shm_bytes;
	return true;
}

/* All but what a husk needs: its maker's sockets would look open else. */
static bool close_others(int *const *keep, int n)
{
	for (int i = 0; i < n; i++)
		if (!move_up(keep[i]))
			return false;
	if (close_range(3, FD_HIGH - 1, 0) < 0)
		return false;
	for (int fd = FD_HIGH, top = FD_HIGH + 64; fd < top; fd++) {
		bool kept = false;

		for (int i = 0; i < n; i++)
			kept = kept || *keep[i] == fd;
		if (!kept)
			close(fd);
	}
	return close_range(FD_HIGH + 64, ~0U, 0) == 0;
}

noreturn static void husk_main(struct spawn_plan *p, int go, int report)
{
	int *const keep[] = {&go, &report, &p->net_ns, &p->user_ns,
			     &p->init_program};
	struct mount_stage stage;
	struct opened o;

	if (!close_others(keep, sizeof(keep) / sizeof(keep[0])))
		fail(report, SPAWN_FDS);
	o = open_first(p->net_ns, report);
	if (mount_stage(p->mounts.point, p->mounts.root_uid, &stage) < 0)
		fail(report, SPAWN_MOUNTS);
	/* Never needed: the broker has ended, or ends it. */
	if (!take_orders(go, p))
		_exit(0);
	build(p, &stage, report);
	if (take_go(go, p) < 0)
		fail(report, SPAWN_ATTACHED);
	become(p, &o, report);
}

enum err spawn_husk(const struct spawn_plan *plan, struct spawn_child *child,
		    struct errinfo *e)
{
	OWN(close_pair) int go[2] = {-1, -1};
	OWN(close_pair) int report[2] = {-1, -1};
	struct spawn_plan copy = *plan;
	int pidfd = -1;
	struct clone_args a = {
	    .flags = CLONE_PIDFD | CLONE_PARENT | CLONE_NEWNS | CLONE_NEWPID |
		     CLONE_NEWIPC | CLONE_NEWUTS,
	    .pidfd = (__u64)(uintptr_t)&pidfd,
	};
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, go) < 0 ||
	    pipe2(report, O_CLOEXEC) < 0)
		return err_set(e, ERR_IO, errno, "husk");
	pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
	if (pid < 0)
		return err_set(e, ERR_IO, errno, "clone3");
	if (pid == 0)
		husk_main(&copy, go[0], report[1]);
	*child = (struct spawn_child){.pid = pid,
				      .pidfd = pidfd,
				      .go = STEAL_FD(go[1]),
				      .report = STEAL_FD(report[0])};
	return ERR_NONE;
}

void spawn_husk_end(struct spawn_child *husk)
{
	siginfo_t si;

	if (husk->pidfd < 0)
		return;
	child_signal(husk->pidfd, SIGKILL);
	waitid(P_PIDFD, (id_t)husk->pidfd, &si, WEXITED);
	spawn_child_close(husk);
}

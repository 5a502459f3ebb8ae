#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/inject.h"
#include "sandbox/limits.h"
#include "sandbox/parcel.h"
#include "sandbox/spawn.h"
#include "sandbox/spawn_confine.h"

#define FD_HIGH SPAWN_FD_HIGH

#define STEP(name)                                                             \
	_Static_assert((int)SPAWN_##name == (int)INJECT_SPAWN_##name, #name);
#include "sandbox/spawn_steps.def"
#undef STEP

noreturn static void fail(int report, enum spawn_step step)
{
	struct spawn_report r = {.step = step, .sys = (uint32_t)errno};

	(void)!write(report, &r, sizeof(r));
	_exit(127);
}

/* ${ok}, unless a test breaks the step. */
static void need(bool ok, int report, enum spawn_step step)
{
	if (!ok || inject_at((enum inject_point)step))
		fail(report, step);
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

/* Out of the way of what init gets. */
static bool move_up(int *fd)
{
	int up = fcntl(*fd, F_DUPFD_CLOEXEC, FD_HIGH);

	own_fd(fd);
	*fd = up;
	return up >= 0;
}

/* What both ways of a start begin with. */
static struct spawn_host open_first(int net_ns, int report)
{
	const int dir = O_PATH | O_DIRECTORY | O_CLOEXEC;
	struct spawn_host h = {.null = open("/dev/null", O_RDWR | O_CLOEXEC),
			       .proc_user = open("/proc/sys/user", dir),
			       .proc_self = open("/proc/self", dir)};

	limits_signals(true);
	if (!move_up(&h.null) || !move_up(&h.proc_user) ||
	    !move_up(&h.proc_self))
		fail(report, SPAWN_FDS);
	need(setns(net_ns, CLONE_NEWNET) == 0, report, SPAWN_NET);
	return h;
}

/* What a test breaks here is found, not told. */
static bool nothing_foreign(const struct spawn_plan *p,
			    const struct mount_stage *stage, int proc_self)
{
	if (inject_at(INJECT_SPAWN_FOREIGN) &&
	    mount("none", "/tmp", "tmpfs", 0, NULL) < 0)
		return false;
	return mount_is_ours(&p->mounts, stage, proc_self);
}

static void build(const struct spawn_plan *p, const struct mount_stage *stage,
		  const struct spawn_host *h, int report)
{
	need(mount_tree(&p->mounts, stage) == 0, report, SPAWN_MOUNTS);
	need(mount_pivot(p->mounts.point) == 0, report, SPAWN_PIVOT);
	if (!nothing_foreign(p, stage, h->proc_self))
		fail(report, SPAWN_FOREIGN);
	need(sethostname("sandbox", 7) == 0, report, SPAWN_HOSTNAME);
}

noreturn static void become(struct spawn_plan *p, const struct spawn_host *h,
			    int report)
{
	char name[] = "warren-init";
	char *const argv[] = {name, NULL};
	char *const env[] = {NULL};
	enum spawn_step step = spawn_confine(p, h);

	if (step != SPAWN_OK)
		fail(report, step);
	need(true, report, SPAWN_EXEC);
	syscall(SYS_execveat, p->init_program, "", argv, env, AT_EMPTY_PATH);
	fail(report, SPAWN_EXEC);
}

noreturn static void child_main(const struct spawn_plan *plan, int go,
				int report)
{
	struct spawn_plan p = *plan;
	struct spawn_host h = open_first(p.net_ns, report);

	build(&p, NULL, &h, report);
	need(wait_attached(go) == 0, report, SPAWN_ATTACHED);
	become(&p, &h, report);
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
	pid = inject_at(INJECT_CLONE)
		  ? -1
		  : (pid_t)syscall(SYS_clone3, &a, sizeof(a));
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
	bool ours;
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
				 .tools = p->mounts.tools >= 0,
				 .ours = p->mounts.ours >= 0};
	struct parcel_fds fds = {{p->mounts.image, p->mounts.files},
				 ORDER_COUNT};

	if (o.host_usr) {
		fds.at[fds.n++] = p->mounts.usr_over;
		fds.at[fds.n++] = p->mounts.usr;
	}
	if (o.tools)
		fds.at[fds.n++] = p->mounts.tools;
	if (o.ours)
		fds.at[fds.n++] = p->mounts.ours;
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
	    fds.n != ORDER_COUNT + (o.host_usr ? 2 : 0) + o.tools + o.ours)
		return false;
	for (int i = 0; i < fds.n; i++)
		if (!move_up(&fds.at[i]))
			return false;
	p->limits = o.limits;
	p->mounts.image = fds.at[ORDER_IMAGE];
	p->mounts.files = fds.at[ORDER_FILES];
	p->mounts.usr_over = o.host_usr ? fds.at[ORDER_COUNT] : -1;
	p->mounts.usr = o.host_usr ? fds.at[ORDER_COUNT + 1] : -1;
	p->mounts.tools = o.tools ? fds.at[fds.n - 1 - o.ours] : -1;
	p->mounts.ours = o.ours ? fds.at[fds.n - 1] : -1;
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
	struct spawn_host h;

	if (!close_others(keep, sizeof(keep) / sizeof(keep[0])) ||
	    inject_at(INJECT_HUSK_FDS))
		fail(report, SPAWN_FDS);
	h = open_first(p->net_ns, report);
	need(mount_stage(p->mounts.point, p->mounts.root_uid, &stage) == 0,
	     report, SPAWN_STAGE);
	/* Never needed: the broker has ended, or ends it. */
	if (!take_orders(go, p))
		_exit(0);
	/* Not as its maker any more. */
	setpriority(PRIO_PROCESS, 0, 0);
	build(p, &stage, &h, report);
	need(take_go(go, p) == 0, report, SPAWN_ATTACHED);
	become(p, &h, report);
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
	pid = inject_at(INJECT_HUSK)
		  ? -1
		  : (pid_t)syscall(SYS_clone3, &a, sizeof(a));
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

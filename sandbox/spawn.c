#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/husk.h"
#include "sandbox/inject.h"
#include "sandbox/parcel.h"
#include "sandbox/spawn.h"
#include "sandbox/spawn_child.h"

#define STACK_BYTES 32768

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
	/* Below SPAWN_FD_HIGH they would stand where init's descriptors go. */
	for (int i = 0; i < 2; i++) {
		int up = fcntl(i == 0 ? go[0] : report[1], F_DUPFD_CLOEXEC,
			       SPAWN_FD_HIGH);

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
		spawn_child_main(plan, go[0], report[1]);
	}
	*child = (struct spawn_child){.pid = pid,
				      .pidfd = pidfd,
				      .go = STEAL_FD(go[1]),
				      .report = STEAL_FD(report[0])};
	return ERR_NONE;
}

/* ---- husks ---- */

/*
 * Woken by a message a process is put where its sender runs, as if that would
 * sleep now; but we go on, and it shall build its tree meanwhile. It undoes
 * this itself.
 */
static void part(pid_t husk)
{
	int here = sched_getcpu();
	cpu_set_t cpus;

	if (here < 0 || here >= CPU_SETSIZE ||
	    sched_getaffinity(husk, sizeof(cpus), &cpus) < 0)
		return;
	CPU_CLR((unsigned)here, &cpus);
	if (CPU_COUNT(&cpus) > 0)
		sched_setaffinity(husk, sizeof(cpus), &cpus);
}

bool spawn_fill(const struct spawn_plan *p, const struct spawn_child *husk)
{
	const struct husk_orders o = {.root_uid = p->mounts.root_uid,
				      .tmp_bytes = p->mounts.tmp_bytes,
				      .shm_bytes = p->mounts.shm_bytes,
				      .limits = p->limits,
				      .host_usr = p->mounts.usr_over >= 0,
				      .tools = p->mounts.tools >= 0,
				      .ours = p->mounts.ours >= 0};
	struct parcel_fds fds = {{p->mounts.image, p->mounts.files},
				 HUSK_ORDERS};

	if (o.host_usr) {
		fds.at[fds.n++] = p->mounts.usr_over;
		fds.at[fds.n++] = p->mounts.usr;
	}
	if (o.tools)
		fds.at[fds.n++] = p->mounts.tools;
	if (o.ours)
		fds.at[fds.n++] = p->mounts.ours;
	part(husk->pid);
	return parcel_send(husk->go, &o, sizeof(o), &fds, MSG_DONTWAIT);
}

bool spawn_go(const struct spawn_child *husk, int keeper, int cgroup)
{
	const struct parcel_fds fds = {{keeper, cgroup}, HUSK_GO_COUNT};

	return parcel_send(husk->go, "g", 1, &fds, MSG_DONTWAIT);
}

/* What a husk is exec'd with, by the numbers of husk.h. */
struct husk_start {
	int fds[HUSK_FD_COUNT - HUSK_FD_GO];
	int program;
	char *point;
	char root_uid[16];
};

/* Nothing else: its maker's sockets would look open. */
static bool husk_fds(struct husk_start *s)
{
	const int n = HUSK_FD_COUNT - HUSK_FD_GO;

	if (!spawn_child_move_up(&s->program))
		return false;
	for (int i = 0; i < n; i++)
		if (!spawn_child_move_up(&s->fds[i]))
			return false;
	for (int i = 0; i < n; i++)
		if (dup2(s->fds[i], HUSK_FD_GO + i) < 0)
			return false;
	return close_range(HUSK_FD_COUNT, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

/* In its maker's memory, which waits: it only makes calls. */
__attribute__((no_sanitize_address)) static int husk_main(void *arg)
{
	struct husk_start s = *(const struct husk_start *)arg;
	char name[] = HUSK_NAME;
	char *const argv[] = {name, s.point, s.root_uid, NULL};
	char *const env[] = {NULL};

	_Static_assert(sizeof(argv) / sizeof(argv[0]) == HUSK_WORDS + 1,
		       "as husk.h has it");
	if (!husk_fds(&s) || inject_at(INJECT_HUSK_FDS))
		spawn_child_fail(s.fds[1], SPAWN_FDS);
	syscall(SYS_execveat, s.program, "", argv, env, AT_EMPTY_PATH);
	spawn_child_fail(s.fds[1], SPAWN_EXEC);
}

static pid_t husk_clone(struct husk_start *s, int *pidfd)
{
	static _Alignas(16) char stack[STACK_BYTES];

	if (inject_at(INJECT_HUSK))
		return -1;
	return clone(husk_main, stack + STACK_BYTES,
		     CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE_PARENT |
			 CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
			 CLONE_NEWUTS,
		     s, pidfd);
}

enum err spawn_husk(const struct spawn_plan *plan, struct spawn_child *child,
		    struct errinfo *e)
{
	OWN(close_pair) int go[2] = {-1, -1};
	OWN(close_pair) int report[2] = {-1, -1};
	OWN(own_mem) char *point = strdup(plan->mounts.point);
	struct husk_start s = {.program = plan->init_program, .point = point};
	int pidfd = -1;
	pid_t pid;

	if (point == NULL ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, go) < 0 ||
	    pipe2(report, O_CLOEXEC) < 0)
		return err_set(e, ERR_IO, errno, "husk");
	s.fds[HUSK_FD_GO - HUSK_FD_GO] = go[0];
	s.fds[HUSK_FD_REPORT - HUSK_FD_GO] = report[1];
	s.fds[HUSK_FD_NET - HUSK_FD_GO] = plan->net_ns;
	s.fds[HUSK_FD_USER - HUSK_FD_GO] = plan->user_ns;
	s.fds[HUSK_FD_FILTER - HUSK_FD_GO] = plan->filter_fd;
	snprintf(s.root_uid, sizeof(s.root_uid), "%u", plan->mounts.root_uid);
	pid = husk_clone(&s, &pidfd);
	if (pid < 0)
		return err_set(e, ERR_IO, errno, "clone");
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

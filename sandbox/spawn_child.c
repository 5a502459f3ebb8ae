#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/inject.h"
#include "sandbox/limits.h"
#include "sandbox/spawn_child.h"

#define STEP(name)                                                             \
	_Static_assert((int)SPAWN_##name == (int)INJECT_SPAWN_##name, #name);
#include "sandbox/spawn_steps.def"
#undef STEP

noreturn void spawn_child_fail(int report, enum spawn_step step)
{
	struct spawn_report r = {.step = step, .sys = (uint32_t)errno};

	(void)!write(report, &r, sizeof(r));
	_exit(127);
}

void spawn_child_need(bool ok, int report, enum spawn_step step)
{
	if (!ok || inject_at((enum inject_point)step))
		spawn_child_fail(report, step);
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

bool spawn_child_move_up(int *fd)
{
	int up = fcntl(*fd, F_DUPFD_CLOEXEC, SPAWN_FD_HIGH);

	own_fd(fd);
	*fd = up;
	return up >= 0;
}

struct spawn_host spawn_child_first(int net_ns, int report)
{
	const int dir = O_PATH | O_DIRECTORY | O_CLOEXEC;
	struct spawn_host h = {.null = open("/dev/null", O_RDWR | O_CLOEXEC),
			       .proc_user = open("/proc/sys/user", dir),
			       .proc_self = open("/proc/self", dir)};

	limits_signals(true);
	if (!spawn_child_move_up(&h.null) ||
	    !spawn_child_move_up(&h.proc_user) ||
	    !spawn_child_move_up(&h.proc_self))
		spawn_child_fail(report, SPAWN_FDS);
	spawn_child_need(setns(net_ns, CLONE_NEWNET) == 0, report, SPAWN_NET);
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

void spawn_child_build(const struct spawn_plan *p,
		       const struct mount_stage *stage,
		       const struct spawn_host *h, int report)
{
	spawn_child_need(mount_tree(&p->mounts, stage) == 0, report,
			 SPAWN_MOUNTS);
	spawn_child_need(mount_pivot(p->mounts.point) == 0, report,
			 SPAWN_PIVOT);
	if (!nothing_foreign(p, stage, h->proc_self))
		spawn_child_fail(report, SPAWN_FOREIGN);
	spawn_child_need(sethostname("sandbox", 7) == 0, report,
			 SPAWN_HOSTNAME);
}

noreturn static void become(struct spawn_plan *p, const struct spawn_host *h,
			    int report)
{
	char name[] = "warren-init";
	char *const argv[] = {name, NULL};
	char *const env[] = {NULL};
	enum spawn_step step = spawn_confine(p, h);

	if (step != SPAWN_OK)
		spawn_child_fail(report, step);
	spawn_child_need(true, report, SPAWN_EXEC);
	syscall(SYS_execveat, p->init_program, "", argv, env, AT_EMPTY_PATH);
	spawn_child_fail(report, SPAWN_EXEC);
}

noreturn void spawn_child_main(const struct spawn_plan *plan, int go,
			       int report)
{
	struct spawn_plan p = *plan;
	struct spawn_host h = spawn_child_first(p.net_ns, report);

	spawn_child_build(&p, NULL, &h, report);
	spawn_child_need(wait_attached(go) == 0, report, SPAWN_ATTACHED);
	become(&p, &h, report);
}

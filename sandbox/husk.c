#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/init_msg.h"
#include "base/own.h"
#include "sandbox/fd_check.h"
#include "sandbox/husk.h"
#include "sandbox/inject.h"
#include "sandbox/pages.h"
#include "sandbox/parcel.h"
#include "sandbox/spawn_child.h"

#define POINT_MAX 512

static bool take_orders(int go, struct spawn_plan *p)
{
	struct husk_orders o;
	struct parcel_fds fds;

	if (!parcel_receive(go, &o, sizeof(o), &fds, 0) ||
	    fds.n != HUSK_ORDERS + (o.host_usr ? 2 : 0) + o.tools + o.ours)
		return false;
	for (int i = 0; i < fds.n; i++)
		if (!spawn_child_move_up(&fds.at[i]))
			return false;
	p->limits = o.limits;
	p->mounts.image = fds.at[HUSK_IMAGE];
	p->mounts.files = fds.at[HUSK_FILES];
	p->mounts.usr_over = o.host_usr ? fds.at[HUSK_ORDERS] : -1;
	p->mounts.usr = o.host_usr ? fds.at[HUSK_ORDERS + 1] : -1;
	p->mounts.tools = o.tools ? fds.at[fds.n - 1 - o.ours] : -1;
	p->mounts.ours = o.ours ? fds.at[fds.n - 1] : -1;
	p->mounts.root_uid = o.root_uid;
	p->mounts.tmp_bytes = o.tmp_bytes;
	p->mounts.shm_bytes = o.shm_bytes;
	return true;
}

static int take_go(int go, struct spawn_plan *p)
{
	struct parcel_fds fds;
	char c;

	if (!parcel_receive(go, &c, 1, &fds, 0) || fds.n != HUSK_GO_COUNT ||
	    !spawn_child_move_up(&fds.at[HUSK_KEEPER]) ||
	    !spawn_child_move_up(&fds.at[HUSK_CGROUP]))
		return -1;
	p->keeper = fds.at[HUSK_KEEPER];
	p->cgroup = fds.at[HUSK_CGROUP];
	return 0;
}

/* An exec would have left neither. */
static bool forget(struct filter *filter)
{
	filter_return(filter);
	return prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) == 0 &&
	       prctl(PR_SET_NAME, "warren-init", 0, 0, 0) == 0;
}

/* All at once, the report among them: that is the good news. */
static void close_all(int report)
{
	if (close_range(INIT_FD_CALLS + 1, ~0U, 0) < 0)
		spawn_child_fail(report, SPAWN_EXEC);
}

static void confine(struct spawn_plan *p, struct filter *filter,
		    const struct spawn_host *h, int report)
{
	enum spawn_step step = spawn_confine(p, h);

	if (step != SPAWN_OK)
		spawn_child_fail(report, step);
	spawn_child_need(forget(filter), report, SPAWN_EXEC);
	close_all(report);
}

void husk_become(char **argv)
{
	static char point[POINT_MAX];
	int fds[] = {HUSK_FD_GO, HUSK_FD_REPORT, HUSK_FD_NET, HUSK_FD_USER,
		     HUSK_FD_FILTER};
	struct filter filter;
	struct spawn_plan p = {.init_program = -1, .filter = &filter};
	struct mount_stage stage;
	struct spawn_host h;
	cpu_set_t cpus;
	int report;

	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NAME, "warrend-husk", 0, 0, 0);
	if (!fd_check_own(FD_CHECK_FIRST(HUSK_FD_COUNT), false))
		spawn_child_fail(HUSK_FD_REPORT, SPAWN_FDS);
	for (int i = 0; i < HUSK_FD_COUNT - HUSK_FD_GO; i++)
		if (!spawn_child_move_up(&fds[i]))
			_exit(127);
	report = fds[1];
	snprintf(point, sizeof(point), "%s", argv[1]);
	p.mounts.point = point;
	p.mounts.root_uid = (uid_t)strtoul(argv[2], NULL, 10);
	for (int i = 1; i < HUSK_WORDS; i++) /* seen inside, by some */
		memset(argv[i], 0, strlen(argv[i]));
	inject_use_of(point);
	p.net_ns = fds[2];
	p.user_ns = fds[3];
	if (!filter_borrow(fds[4], &filter))
		spawn_child_fail(report, SPAWN_FILTER);
	h = spawn_child_first(p.net_ns, report);
	spawn_child_need(mount_stage(point, p.mounts.root_uid, &stage) == 0,
			 report, SPAWN_STAGE);
	pages_map();
	sched_getaffinity(0, sizeof(cpus), &cpus);
	/* Never needed: the broker has ended, or ends it. */
	if (!take_orders(fds[0], &p))
		_exit(0);
	sched_setaffinity(0, sizeof(cpus), &cpus); /* spawn_fill() changed it */
	setpriority(PRIO_PROCESS, 0, 0); /* not as its maker any more */
	spawn_child_build(&p, &stage, &h, report);
	spawn_child_need(take_go(fds[0], &p) == 0, report, SPAWN_ATTACHED);
	confine(&p, &filter, &h, report);
}

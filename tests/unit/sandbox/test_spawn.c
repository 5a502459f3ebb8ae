/*
 * spawn: a step that fails is told, ends the child and leaves nothing. Each
 * case breaks one thing of a plan that works.
 */
#include "tests/unit/sandbox/root_unit.h"

#include <linux/filter.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "sandbox/berth.h"
#include "sandbox/cgroup.h"
#include "sandbox/inject.h"
#include "sandbox/parcel.h"
#include "sandbox/spawn.h"

#define ID "s00000spawntestunit000"
#define FRESH (-2) /* run() makes it: layers and namespaces serve once */

static struct {
	char dir[64];
	int dir_fd;
	char point[96];
	char mount_dir[96];
	char instance[48];
	struct cgroup_root cgroups;
	struct berth_pool pool;
	struct filter filter;
	struct spawn_plan plan;
	int keeper[2];
} u;

static int make_dirs(void)
{
	static const char *const dirs[] = {
	    "image",           "image/proc",      "image/dev",
	    "image/tmp",       "point",           "files",
	    "files/root",      "files/usr",       "files/root/upper",
	    "files/root/work", "files/usr/upper", "files/usr/work"};
	int dir = open(u.dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (mkdirat(dir, dirs[i], 0755) < 0)
			return -1;
	if (fchownat(dir, "files/root/upper", BERTH_DISK_BASE, BERTH_DISK_BASE,
		     0) < 0)
		return -1;
	return dir;
}

/* warren-init of this build: where this program is, too. */
static int init_program(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		return -1;
	snprintf(slash, 16, "/warren-init");
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int set_up(void **state)
{
	struct errinfo e = {0};
	int dir;

	(void)state;
	if (geteuid() != 0)
		return 0;
	snprintf(u.dir, sizeof(u.dir), "/tmp/spawn-unit-%d", (int)getpid());
	snprintf(u.point, sizeof(u.point), "%s/point", u.dir);
	snprintf(u.mount_dir, sizeof(u.mount_dir), "%s/cgroup", u.dir);
	snprintf(u.instance, sizeof(u.instance), "warren-spawn-%d",
		 (int)getpid());
	if (mkdir(u.dir, 0700) < 0 || (dir = make_dirs()) < 0 ||
	    cgroup_root_open(&u.cgroups, u.instance, u.mount_dir, &e) !=
		ERR_NONE ||
	    filter_compile(&u.filter, &e) != ERR_NONE ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, u.keeper) < 0) {
		print_message("%s\n", e.text);
		return -1;
	}
	u.plan = (struct spawn_plan){
	    .mounts = {.point = u.point,
		       .image = FRESH,
		       .tools = -1,
		       .ours = -1,
		       .usr_over = -1,
		       .usr = -1,
		       .files = FRESH,
		       .tmp_bytes = 1U << 20,
		       .shm_bytes = 1U << 20},
	    .net_ns = FRESH,
	    .user_ns = FRESH,
	    .init_program = init_program(),
	    .keeper = u.keeper[1],
	    .cgroup = -1,
	    .filter = &u.filter,
	    .filter_fd = filter_share(&u.filter),
	};
	u.dir_fd = dir;
	return 0;
}

static int tear_down(void **state)
{
	char command[160];
	int parent;

	(void)state;
	if (geteuid() != 0)
		return 0;
	filter_free(&u.filter);
	close(u.plan.filter_fd);
	close(u.dir_fd);
	parent = openat(u.cgroups.v2, "..", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	cgroup_root_close(&u.cgroups, u.instance);
	unlinkat(parent, u.instance, AT_REMOVEDIR);
	umount2(u.mount_dir, MNT_DETACH);
	snprintf(command, sizeof(command), "rm -rf --one-file-system %s",
		 u.dir);
	return system(command);
}

static int mounts(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "r");
	char line[4096];
	int n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, u.dir) != NULL;
	fclose(f);
	return n;
}

/* Wait for the child's end; its report, all zero when it was exec'd. */
static struct spawn_report report_of(struct spawn_child *c)
{
	struct spawn_report r = {0};
	siginfo_t si;

	if (read(c->report, &r, sizeof(r)) == 0) {
		/* Init runs. It ends with its keeper. */
		own_fd(&u.keeper[0]);
		own_fd(&u.keeper[1]);
	}
	assert_int_equal(waitid(P_PIDFD, (id_t)c->pidfd, &si, WEXITED), 0);
	spawn_child_close(c);
	return r;
}

/* Replace what is FRESH in ${plan}; ${own} holds it. */
static void freshen(struct spawn_plan *plan, struct berth *b, int own[2])
{
	struct errinfo e;

	assert_int_equal(berth_take(&u.pool, b, &e), ERR_NONE);
	own[0] = mount_layer(u.dir_fd, "image", b->user_ns);
	own[1] = mount_layer(u.dir_fd, "files", b->disk_ns);
	assert_true(own[0] >= 0 && own[1] >= 0);
	if (plan->mounts.image == FRESH)
		plan->mounts.image = own[0];
	if (plan->mounts.files == FRESH)
		plan->mounts.files = own[1];
	if (plan->net_ns == FRESH)
		plan->net_ns = b->net_ns;
	if (plan->user_ns == FRESH)
		plan->user_ns = b->user_ns;
	plan->mounts.root_uid = berth_uid(b->slot, 0);
}

/* A husk is a child of its maker's parent: of this process. */
static void make_husk(const struct spawn_plan *plan, struct spawn_child *c)
{
	struct parcel_fds fds;
	int pair[2];
	pid_t maker;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	maker = fork();
	if (maker == 0) {
		struct spawn_child h;
		struct errinfo e;

		if (spawn_husk(plan, &h, &e) != ERR_NONE)
			_exit(1);
		fds = (struct parcel_fds){{h.pidfd, h.go, h.report}, 3};
		_exit(!parcel_send(pair[1], &h.pid, sizeof(h.pid), &fds, 0));
	}
	assert_true(parcel_receive(pair[0], &c->pid, sizeof(c->pid), &fds, 0));
	assert_int_equal(fds.n, 3);
	c->pidfd = fds.at[0];
	c->go = fds.at[1];
	c->report = fds.at[2];
	close(pair[0]);
	close(pair[1]);
	assert_int_equal(waitpid(maker, NULL, 0), maker);
}

/* As live.c does it; one that has died meanwhile tells why by its report. */
static void start(const struct spawn_plan *plan, struct spawn_child *c,
		  const char *go)
{
	struct errinfo e = {0};

	if (c->pidfd >= 0) {
		if (spawn_fill(plan, c) &&
		    cgroup_move(&u.cgroups, ID, c->pid, &e) == ERR_NONE)
			spawn_go(c, plan->keeper, plan->cgroup);
		return;
	}
	assert_int_equal(spawn_start(plan, c, &e), ERR_NONE);
	assert_int_equal(cgroup_attach(&u.cgroups, ID, c->pid, &e), ERR_NONE);
	if (go != NULL)
		(void)!write(c->go, go, 1);
}

/* Which step a plan fails at; nothing is left of it then. */
static struct spawn_report run_by(bool husk, struct spawn_plan plan,
				  const char *go)
{
	struct cgroup_limits limits = {
	    .memory_bytes = 64U << 20, .cpu_millis = 1000, .pids = 32};
	struct spawn_child c = SPAWN_CHILD_NONE;
	struct berth b = BERTH_NONE;
	struct spawn_report r;
	struct errinfo e = {0};
	int fds = open_fds(), before = mounts(), own[2];

	freshen(&plan, &b, own);
	assert_int_equal(
	    cgroup_make(&u.cgroups, ID, &limits, berth_uid(b.slot, 65533), &e),
	    ERR_NONE);
	plan.cgroup = cgroup_dir(&u.cgroups, ID);
	if (husk)
		make_husk(&plan, &c);
	start(&plan, &c, go);
	close(plan.cgroup);
	own_fd(&c.go);
	r = report_of(&c);
	for (int i = 0; i < 200 && !cgroup_remove(&u.cgroups, ID); i++)
		usleep(10000);
	assert_int_equal(cgroup_dir(&u.cgroups, ID), -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	close(own[0]);
	close(own[1]);
	berth_close(&b);
	berth_free_slot(&u.pool, b.slot);
	assert_int_equal(mounts(), before);
	assert_true(open_fds() <= fds);
	return r;
}

static struct spawn_report run(struct spawn_plan plan, const char *go)
{
	return run_by(false, plan, go);
}

static void fails_at(struct spawn_plan plan, enum spawn_step step)
{
	struct spawn_report r;

	signal(SIGPIPE, SIG_IGN);
	r = run(plan, "g");
	assert_int_equal(r.step, step);
	assert_int_not_equal(r.sys, 0);
}

static void a_bad_network_is_told(void **state)
{
	struct spawn_plan p = u.plan;

	(void)state;
	need_root("to make namespaces");
	p.net_ns = -1;
	fails_at(p, SPAWN_NET);
	p.net_ns = u.dir_fd;
	fails_at(p, SPAWN_NET);
}

static void a_bad_layer_is_told(void **state)
{
	struct spawn_plan p = u.plan;

	(void)state;
	need_root("to make namespaces");
	p.mounts.image = -1;
	fails_at(p, SPAWN_MOUNTS);
	p = u.plan;
	p.mounts.files = -1;
	fails_at(p, SPAWN_MOUNTS);
	p = u.plan;
	p.mounts.files = u.dir_fd;
	fails_at(p, SPAWN_MOUNTS);
	p = u.plan;
	p.mounts.usr_over = 999;
	fails_at(p, SPAWN_MOUNTS);
	p = u.plan;
	p.mounts.tools = 999;
	fails_at(p, SPAWN_MOUNTS);
	p = u.plan;
	p.mounts.ours = 999;
	fails_at(p, SPAWN_MOUNTS);
	p = u.plan;
	p.mounts.point = "/nowhere/at/all";
	fails_at(p, SPAWN_MOUNTS);
}

static void without_the_go_it_does_not_go_on(void **state)
{
	(void)state;
	need_root("to make namespaces");
	assert_int_equal(run(u.plan, NULL).step, SPAWN_ATTACHED);
}

static void bad_descriptors_for_init_are_told(void **state)
{
	struct spawn_plan p = u.plan;

	(void)state;
	need_root("to make namespaces");
	p.keeper = -1;
	fails_at(p, SPAWN_FDS);
	p.keeper = 999;
	fails_at(p, SPAWN_FDS);
}

static void a_bad_user_namespace_is_told(void **state)
{
	struct spawn_plan p = u.plan;
	OWN(own_fd) int own = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);

	(void)state;
	need_root("to make namespaces");
	p.user_ns = -1;
	fails_at(p, SPAWN_USER_NS);
	p.user_ns = u.dir_fd;
	fails_at(p, SPAWN_USER_NS);
	/* The machine's own, above all. */
	p.user_ns = own;
	fails_at(p, SPAWN_USER_NS);
}

static void a_bad_filter_is_told(void **state)
{
	struct sock_filter wrong = {.code = 0xffff};
	struct filter bad = {.fprog = {.len = 1, .filter = &wrong}};
	struct filter none = {.fprog = {.len = 0}};
	struct spawn_plan p = u.plan;

	(void)state;
	need_root("to make namespaces");
	p.filter = &bad;
	fails_at(p, SPAWN_FILTER);
	p.filter = &none;
	fails_at(p, SPAWN_FILTER);
}

static void a_program_that_is_none_is_told(void **state)
{
	OWN(own_fd) int text = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	struct spawn_plan p = u.plan;

	(void)state;
	need_root("to make namespaces");
	p.init_program = -1;
	fails_at(p, SPAWN_EXEC);
	p.init_program = text;
	fails_at(p, SPAWN_EXEC);
}

static void without_a_cgroup_there_is_no_child(void **state)
{
	struct spawn_plan p = u.plan;
	struct spawn_child c = SPAWN_CHILD_NONE;
	int fds = open_fds();
	struct errinfo e;

	(void)state;
	need_root("to make namespaces");
	p.cgroup = -1;
	assert_int_equal(spawn_start(&p, &c, &e), ERR_IO);
	assert_int_equal(c.pid, -1);
	assert_int_equal(open_fds(), fds);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

#ifndef NDEBUG
/* A file where husks look for it, as they are programs of their own. */
static struct inject *share_inject(void)
{
	int fd = openat(u.dir_fd, "inject", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct inject *at;

	assert_int_equal(ftruncate(fd, sizeof(*at)), 0);
	at = mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* spawn_steps.def, whole: a step that is added is broken here too. */
static void each_step_fails(bool husk)
{
	static const char *const names[] = {
	    "",
#define STEP(name) #name,
#include "sandbox/spawn_steps.def"
#undef STEP
	};
	struct inject *shared = share_inject();

	signal(SIGPIPE, SIG_IGN);
	/* None is built with a sanitizer, and none is exec'd here. */
	if (u.plan.init_program < 0)
		u.plan.init_program = open("/proc/self/exe",
					   O_RDONLY | O_CLOEXEC);
	inject_use(shared);
	for (uint32_t step = SPAWN_OK + 1; step <= SPAWN_EXEC; step++) {
		struct spawn_report r;

		if (step == SPAWN_STAGE && !husk)
			continue;
		shared->armed = step;
		r = run_by(husk, u.plan, "g");
		if (r.step != step || r.sys == 0)
			fail_msg("%s broken, told as %s: %s", names[step],
				 names[r.step], strerror((int)r.sys));
		assert_int_equal(shared->reached[step], 1);
		memset(shared->reached, 0, sizeof(shared->reached));
	}
	inject_use(NULL);
	munmap(shared, sizeof(*shared));
	unlinkat(u.dir_fd, "inject", 0);
}
#else
static void each_step_fails(bool husk)
{
	(void)husk;
	print_message("skipped: a release build lets no step fail\n");
	skip();
}
#endif

static void each_step_that_fails_is_told_and_undone(void **state)
{
	(void)state;
	need_root("to make namespaces");
	each_step_fails(false);
}

static void so_is_each_step_of_a_husk(void **state)
{
	(void)state;
	need_root("to make namespaces");
#ifdef __SANITIZE_ADDRESS__
	print_message("skipped: init is not static with a sanitizer\n");
	skip();
#else
	each_step_fails(true);
#endif
}

static void the_unbroken_plan_becomes_init(void **state)
{
	(void)state;
	need_root("to make namespaces");
#ifdef __SANITIZE_ADDRESS__
	print_message("skipped: init is not static with a sanitizer\n");
	skip();
#else
	assert_true(u.plan.init_program >= 0);
	assert_int_equal(run(u.plan, "g").step, SPAWN_OK);
#endif
}

static void a_husk_becomes_init(void **state)
{
	(void)state;
	need_root("to make namespaces");
#ifdef __SANITIZE_ADDRESS__
	print_message("skipped: init is not static with a sanitizer\n");
	skip();
#else
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, u.keeper), 0);
	u.plan.keeper = u.keeper[1];
	assert_int_equal(run_by(true, u.plan, "g").step, SPAWN_OK);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_bad_network_is_told),
	    cmocka_unit_test(a_bad_layer_is_told),
	    cmocka_unit_test(without_the_go_it_does_not_go_on),
	    cmocka_unit_test(bad_descriptors_for_init_are_told),
	    cmocka_unit_test(a_bad_user_namespace_is_told),
	    cmocka_unit_test(a_bad_filter_is_told),
	    cmocka_unit_test(a_program_that_is_none_is_told),
	    cmocka_unit_test(without_a_cgroup_there_is_no_child),
	    cmocka_unit_test(each_step_that_fails_is_told_and_undone),
	    cmocka_unit_test(so_is_each_step_of_a_husk),
	    cmocka_unit_test(the_unbroken_plan_becomes_init),
	    cmocka_unit_test(a_husk_becomes_init),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* cgroup: limits that can be read back, a kill, nothing that stays. */
#include "tests/unit/sandbox/root_unit.h"

#include <sys/mount.h>

#include "sandbox/cgroup.h"

#define ID "s00000cgroupstestunit0"
#define MIB (UINT64_C(1) << 20)
#define OWNER 0x10000000

static struct cgroup_root root;
static char instance[64];
static char mount_dir[128];

static const struct cgroup_limits limits = {
    .memory_bytes = 64 * MIB, .cpu_millis = 500, .pids = 20};

static int open_root(void **state)
{
	struct errinfo e = {0};

	(void)state;
	if (geteuid() != 0)
		return 0;
	snprintf(instance, sizeof(instance), "warren-unit-%d", (int)getpid());
	snprintf(mount_dir, sizeof(mount_dir), "/tmp/%s-cg", instance);
	if (cgroup_root_open(&root, instance, mount_dir, &e) == ERR_NONE)
		return 0;
	print_message("%s\n", e.text);
	return -1;
}

static int close_root(void **state)
{
	int mount_fd;

	(void)state;
	if (geteuid() != 0)
		return 0;
	mount_fd = openat(root.v2, "..", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	cgroup_root_close(&root, instance);
	unlinkat(mount_fd, instance, AT_REMOVEDIR);
	close(mount_fd);
	umount2(mount_dir, MNT_DETACH);
	rmdir(mount_dir);
	return 0;
}

static void make(void)
{
	struct errinfo e = {0};

	if (cgroup_make(&root, ID, &limits, OWNER, &e) != ERR_NONE)
		fail_msg("%s", e.text);
}

static const char *limit_text(enum cgroup_control c, const char *v1,
			      const char *v2)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", ID, root.v2_limits ? v2 : v1);
	return text_at(root.v2_limits ? root.v2 : root.v1[c], path);
}

static void limits_are_read_back(void **state)
{
	(void)state;
	need_root("for cgroups");
	make();
	assert_int_equal(
	    strtoull(limit_text(CGROUP_MEMORY, "memory.limit_in_bytes",
				"memory.max"),
		     NULL, 10),
	    64 * MIB);
	assert_int_equal(
	    strtoull(limit_text(CGROUP_PIDS, "pids.max", "pids.max"), NULL, 10),
	    20);
	assert_int_equal(
	    strtoull(limit_text(CGROUP_CPU, "cpu.cfs_quota_us", "cpu.max"),
		     NULL, 10),
	    50000);
	assert_true(cgroup_remove(&root, ID));
}

static void it_belongs_to_its_owner_and_its_limits_do_not(void **state)
{
	struct stat st;
	OWN(own_fd) int dir = -1;

	(void)state;
	need_root("for cgroups");
	make();
	dir = cgroup_dir(&root, ID);
	assert_true(dir >= 0);
	assert_int_equal(fstat(dir, &st), 0);
	assert_int_equal(st.st_uid, OWNER);
	assert_int_equal(fstatat(dir, "cgroup.procs", &st, 0), 0);
	assert_int_equal(st.st_uid, OWNER);
	/* Nor may it let itself out, or thaw itself. */
	assert_int_equal(fstatat(dir, "cgroup.max.depth", &st, 0), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(fstatat(dir, "cgroup.freeze", &st, 0), 0);
	assert_int_equal(st.st_uid, 0);
	if (root.v2_limits) {
		assert_int_equal(fstatat(dir, "memory.max", &st, 0), 0);
		assert_int_equal(st.st_uid, 0);
	}
	assert_true(cgroup_remove(&root, ID));
}

static void the_same_one_is_not_made_twice(void **state)
{
	struct errinfo e;

	(void)state;
	need_root("for cgroups");
	make();
	assert_int_equal(cgroup_make(&root, ID, &limits, OWNER, &e), ERR_IO);
	cgroup_remove(&root, ID);
	assert_true(cgroup_remove(&root, ID));
}

static void limits_that_the_kernel_refuses_leave_nothing(void **state)
{
	struct cgroup_limits bad = limits;
	struct errinfo e;

	(void)state;
	need_root("for cgroups");
	bad.cpu_millis = 0;
	assert_int_equal(cgroup_make(&root, ID, &bad, OWNER, &e), ERR_IO);
	assert_int_equal(cgroup_dir(&root, ID), -1);
	make();
	assert_true(cgroup_remove(&root, ID));
}

/* A process in the sandbox's cgroups that has children there. */
static pid_t start_in(void)
{
	OWN(own_fd) int procs = -1;
	struct errinfo e;
	char text[16];
	int go[2];
	pid_t pid;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char c;

		close(go[1]);
		if (read(go[0], &c, 1) == 1)
			for (int i = 0; i < 5; i++)
				fork();
		for (;;)
			pause();
	}
	procs = openat(root.v2, ID "/cgroup.procs", O_WRONLY | O_CLOEXEC);
	snprintf(text, sizeof(text), "%d", (int)pid);
	assert_true(write(procs, text, strlen(text)) > 0);
	assert_int_equal(cgroup_attach(&root, ID, pid, &e), ERR_NONE);
	assert_int_equal(write(go[1], "g", 1), 1);
	close(go[0]);
	close(go[1]);
	return pid;
}

static long inside(void)
{
	return strtol(limit_text(CGROUP_PIDS, "pids.current", "pids.current"),
		      NULL, 10);
}

static void a_kill_reaches_all_and_then_nothing_stays(void **state)
{
	pid_t pid;
	int status;
	long all;

	(void)state;
	need_root("for cgroups");
	make();
	pid = start_in();
	assert_false(cgroup_remove(&root, ID));
	/* 32 forks were asked for; pids.max is 20. */
	for (int i = 0; i < 1000 && inside() != 20; i++)
		usleep(10000);
	all = inside();
	cgroup_kill(&root, ID);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(all, 20);
	for (int i = 0; i < 200 && !cgroup_remove(&root, ID); i++)
		usleep(10000);
	assert_int_equal(cgroup_dir(&root, ID), -1);
	assert_true(cgroup_remove(&root, ID));
}

static bool frozen(int events)
{
	char text[256];
	ssize_t n = pread(events, text, sizeof(text) - 1, 0);

	assert_true(n > 0);
	text[n] = '\0';
	return strstr(text, "frozen 1") != NULL;
}

static void one_that_is_stopped_says_so_and_can_be_killed(void **state)
{
	OWN(own_fd) int freeze = -1;
	OWN(own_fd) int events = -1;
	pid_t pid;
	int status;

	(void)state;
	need_root("for cgroups");
	make();
	freeze = cgroup_freeze_file(&root, ID);
	events = cgroup_events_file(&root, ID);
	assert_true(freeze >= 0 && events >= 0);
	pid = start_in();
	assert_false(cgroup_asleep(&root, ID));
	assert_int_equal(pwrite(freeze, "1", 1, 0), 1);
	assert_true(cgroup_asleep(&root, ID));
	for (int i = 0; i < 1000 && !frozen(events); i++)
		usleep(10000);
	assert_true(frozen(events));
	assert_int_equal(pwrite(freeze, "0", 1, 0), 1);
	assert_false(cgroup_asleep(&root, ID));
	for (int i = 0; i < 1000 && frozen(events); i++)
		usleep(10000);
	assert_false(frozen(events));
	assert_int_equal(pwrite(freeze, "1", 1, 0), 1);
	cgroup_kill(&root, ID);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	for (int i = 0; i < 1000 && !cgroup_remove(&root, ID); i++)
		usleep(10000);
	assert_false(cgroup_asleep(&root, ID));
	assert_int_equal(cgroup_freeze_file(&root, ID), -1);
}

static void leaves_that_init_left_are_removed(void **state)
{
	(void)state;
	need_root("for cgroups");
	make();
	assert_int_equal(mkdirat(root.v2, ID "/e1", 0755), 0);
	assert_int_equal(mkdirat(root.v2, ID "/e2", 0755), 0);
	assert_true(cgroup_remove(&root, ID));
}

static void count_it(void *arg, const char *id)
{
	int *n = arg;

	*n += strcmp(id, ID) == 0;
}

static void each_one_is_told_of(void **state)
{
	int n = 0;

	(void)state;
	need_root("for cgroups");
	cgroup_each(&root, count_it, &n);
	assert_int_equal(n, 0);
	make();
	cgroup_each(&root, count_it, &n);
	assert_int_equal(n, 1);
	assert_true(cgroup_remove(&root, ID));
}

static void the_counter_of_kills_for_memory_is_there(void **state)
{
	OWN(own_fd) int fd = -1;
	char text[512];
	ssize_t n;

	(void)state;
	need_root("for cgroups");
	make();
	fd = cgroup_oom_file(&root, ID);
	assert_true(fd >= 0);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "oom_kill 0"));
	assert_true(cgroup_remove(&root, ID));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(limits_are_read_back),
	    cmocka_unit_test(it_belongs_to_its_owner_and_its_limits_do_not),
	    cmocka_unit_test(the_same_one_is_not_made_twice),
	    cmocka_unit_test(limits_that_the_kernel_refuses_leave_nothing),
	    cmocka_unit_test(a_kill_reaches_all_and_then_nothing_stays),
	    cmocka_unit_test(one_that_is_stopped_says_so_and_can_be_killed),
	    cmocka_unit_test(leaves_that_init_left_are_removed),
	    cmocka_unit_test(each_one_is_told_of),
	    cmocka_unit_test(the_counter_of_kills_for_memory_is_there),
	};

	return cmocka_run_group_tests(tests, open_root, close_root);
}

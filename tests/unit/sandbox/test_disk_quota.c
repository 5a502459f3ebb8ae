/*
 * disk_quota: needs a file system that enforces project quotas, in whose
 * directory DISK_QUOTA_DIR it works; most machines for tests have none.
 */
#include "tests/unit/sandbox/disk_unit.h"

#include <linux/capability.h>
#include <sys/syscall.h>

#include "sandbox/disk_quota.h"

#define A "s00000aaaaaaaaaaaaaaaa"
#define B "s00000bbbbbbbbbbbbbbbb"

static bool on_quota(struct disk_unit *u)
{
	struct errinfo e;

	if (geteuid() != 0 || !disk_quota_usable(u->sandboxes)) {
		print_message("skipped: no project quotas in %s\n", u->dir);
		return false;
	}
	assert_int_equal(u->root.kind, DISK_QUOTA);
	if (u->berth.disk_ns < 0)
		assert_int_equal(berth_take(&u->berths, &u->berth, &e),
				 ERR_NONE);
	return true;
}

static int open_it(struct disk_unit *u, const char *id, uint64_t bytes,
		   uint64_t inodes)
{
	const struct disk_want want = disk_unit_want(u, bytes, inodes);
	struct disk_files f = {.mount = -1};
	struct errinfo e = {0};

	if (disk_open(&u->root, id, &want, &f, &e) != ERR_NONE)
		fail_msg("%s (%s)", e.text, strerror(e.sys));
	assert_true(f.bounded);
	assert_false(f.image);
	return f.mount;
}

/* As the overlay does: root, but bound by quotas. */
static void drop_resource(void)
{
	struct __user_cap_header_struct h = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d) < 0)
		_exit(9);
	d[0].effective &= ~(1U << CAP_SYS_RESOURCE);
	if (syscall(SYS_capset, &h, d) < 0)
		_exit(9);
}

/* How many bytes, or files, can be made there until it is refused. */
static uint64_t fill(int mount, bool files)
{
	int said[2], n = 0;
	uint64_t made = 0;
	pid_t pid;

	assert_int_equal(pipe(said), 0);
	pid = fork();
	if (pid == 0) {
		static const char block[4096];
		int fd = openat(mount, "root/upper/big", O_CREAT | O_WRONLY,
				0600);

		drop_resource();
		while (!files && write(fd, block, sizeof(block)) ==
				     (ssize_t)sizeof(block))
			made += sizeof(block);
		for (char name[64]; files; made++) {
			snprintf(name, sizeof(name), "root/upper/%d", n++);
			fd = openat(mount, name, O_CREAT | O_WRONLY, 0600);
			if (fd < 0)
				break;
			close(fd);
		}
		n = errno == EDQUOT || errno == ENOSPC ? 0 : errno;
		(void)!write(said[1], &made, sizeof(made));
		_exit(n);
	}
	assert_int_equal(read(said[0], &made, sizeof(made)), sizeof(made));
	assert_int_equal(waitpid(pid, &n, 0), pid);
	assert_int_equal(n, 0);
	close(said[0]);
	close(said[1]);
	return made;
}

static void bytes_are_bounded(void **state)
{
	struct disk_unit *u = *state;
	OWN(own_fd) int m = -1;
	OWN(own_fd) int other = -1;
	struct statvfs s;
	uint64_t had;

	if (!on_quota(u))
		return;
	m = open_it(u, A, 16 * MIB, 1000);
	other = open_it(u, B, 16 * MIB, 1000);
	had = fill(m, false);
	print_message("%llu bytes of 16 MiB\n", (unsigned long long)had);
	/* What the overlay will make is not there yet. */
	assert_true(had >= 16 * MIB && had < 16 * MIB + 64 * 1024);
	assert_int_equal(fstatvfs(m, &s), 0);
	assert_true(s.f_bavail * s.f_frsize < 64 * 1024);
	assert_int_equal(fstatvfs(other, &s), 0);
	assert_true(s.f_blocks * s.f_frsize > 16 * MIB);
	assert_true(s.f_bavail * s.f_frsize > 15 * MIB);
}

static void files_are_bounded(void **state)
{
	struct disk_unit *u = *state;
	OWN(own_fd) int m = -1;
	struct statvfs s;
	uint64_t had;

	if (!on_quota(u))
		return;
	m = open_it(u, A, 16 * MIB, 1000);
	had = fill(m, true);
	print_message("%llu files of 1000\n", (unsigned long long)had);
	assert_true(had >= 1000 && had < 1016);
	assert_int_equal(fstatvfs(m, &s), 0);
	assert_int_equal(s.f_favail, 0);
}

static void a_project_is_one_sandboxs(void **state)
{
	struct disk_unit *u = *state;
	struct disk_root later;
	struct disk_usage usage;
	OWN(own_fd) int other = -1;
	uint32_t a = 0, b = 0;

	if (!on_quota(u))
		return;
	for (int i = 0; i < 2; i++) {
		OWN(own_fd) int m = open_it(u, A, 16 * MIB, 1000);

		fill(m, false);
		disk_root_open(&later, u->sandboxes, u->images, 1);
		u->root = later;
	}
	other = open_it(u, B, 32 * MIB, 1000);
	for (int i = 0; i < 2; i++) {
		OWN(own_fd)
		int dir = openat(u->sandboxes, i == 0 ? A : B,
				 O_DIRECTORY | O_RDONLY | O_CLOEXEC);

		*(i == 0 ? &a : &b) = disk_quota_project(dir);
		assert_true(disk_quota_usage(dir, &usage));
		assert_true(usage.limit_bytes / MIB == (i == 0 ? 16 : 32));
		assert_true(i != 0 || usage.used_bytes > 15 * MIB);
	}
	assert_true(a > DISK_PROJECT_BASE && b > a);
	assert_true(u->root.promised / MIB == 48);
	disk_forget(&u->root, A);
	assert_true(u->root.promised / MIB == 32);
}

static void without_limits_there_is_no_project(void **state)
{
	struct disk_unit *u = *state;
	struct disk_files f = {.mount = -1};
	struct disk_want want;
	struct errinfo e;

	if (!on_quota(u))
		return;
	want = disk_unit_want(u, 0, 0);
	assert_int_equal(disk_open(&u->root, A, &want, &f, &e), ERR_NONE);
	assert_false(f.bounded);
	own_fd(&f.mount);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(f)                                                                \
	cmocka_unit_test_setup_teardown(f, disk_unit_open, disk_unit_close)
	    CASE(bytes_are_bounded),
	    CASE(files_are_bounded),
	    CASE(a_project_is_one_sandboxs),
	    CASE(without_limits_there_is_no_project),
#undef CASE
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* disk: limits hold exactly, nothing is left, nothing is mounted twice. */
#include "tests/unit/sandbox/disk_unit.h"

#include <poll.h>
#include <signal.h>
#include <sys/file.h>

#include "sandbox/disk_parts.h"

#define A "s00000aaaaaaaaaaaaaaaa"
#define B "s00000bbbbbbbbbbbbbbbb"

static int open_it(struct disk_unit *u, const char *id, uint64_t bytes,
		   uint64_t inodes)
{
	const struct disk_want want = disk_unit_want(u, bytes, inodes);
	struct disk_files f = {.mount = -1};
	struct errinfo e = {0};

	if (disk_open(&u->root, id, &want, &f, &e) != ERR_NONE)
		print_message("%s (%s)\n", e.text, strerror(e.sys));
	return f.mount;
}

static enum err refused(struct disk_unit *u, const char *id, uint64_t bytes)
{
	const struct disk_want want = disk_unit_want(u, bytes, 0);
	struct disk_files f = {.mount = -1};
	struct errinfo e = {0};
	enum err r = disk_open(&u->root, id, &want, &f, &e);

	assert_int_equal(f.mount, -1);
	return r;
}

static int image_of(struct disk_unit *u, const char *id)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/" DISK_IMAGE_NAME, id);
	return openat(u->sandboxes, path, O_RDWR | O_CLOEXEC);
}

static void put_file(int mount, const char *name)
{
	OWN(own_fd)
	int fd = openat(mount, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "kept", 4), 4);
}

static void exactly_the_bytes_can_be_had(void **state)
{
	static const struct {
		uint64_t bytes;
		uint64_t inodes;
	} all[] = {{MIB, 64},
		   {4 * MIB, 4096},
		   {64 * MIB, 2000},
		   {100 * MIB + 4096, 100},
		   {1000 * MIB, 1000000},
		   {2048 * MIB, 200000}};
	struct disk_unit *u = *state;
	struct statvfs s;

	if (!disk_unit_loop(u))
		return;
	u->root.overcommit = DISK_OVERCOMMIT_MAX; /* small disks too */
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char id[] = "s00000aaaaaaaaaaaaaaaa";
		OWN(own_fd) int m = -1;
		/* What the overlay makes in both parts. */
		uint64_t free_files, groups = all[i].bytes / (128 * MIB) +
					      all[i].inodes / 32768 + 2;

		id[10] = (char)('b' + i);
		m = open_it(u, id, all[i].bytes, all[i].inodes);
		assert_true(m >= 0);
		assert_int_equal(mkdirat(m, "root/work/work", 0), 0);
		assert_int_equal(mkdirat(m, "usr/work/work", 0), 0);
		assert_int_equal(fstatvfs(m, &s), 0);
		if (s.f_bavail * s.f_frsize != all[i].bytes)
			fail_msg("%llu of %llu bytes",
				 (unsigned long long)s.f_bavail * s.f_frsize,
				 (unsigned long long)all[i].bytes);
		free_files = s.f_favail;
		assert_true(free_files >= all[i].inodes);
		assert_true(free_files <= all[i].inodes + 16 * groups);
	}
}

static void files_are_there_the_next_time(void **state)
{
	struct disk_unit *u = *state;
	struct stat st;

	if (!disk_unit_loop(u))
		return;
	for (int i = 0; i < 2; i++) {
		OWN(own_fd) int m = open_it(u, A, 16 * MIB << i, 0);

		assert_true(m >= 0);
		if (i == 0)
			put_file(m, "root/upper/file");
		assert_int_equal(fstatat(m, "root/upper/file", &st, 0), 0);
		assert_int_equal(fstatat(m, "root/upper", &st, 0), 0);
		assert_int_equal(st.st_uid, berth_uid(u->berth.slot, 0));
	}
}

static void a_device_is_free_after_the_last_descriptor(void **state)
{
	struct disk_unit *u = *state;
	int m, other;

	if (!disk_unit_loop(u))
		return;
	m = open_it(u, A, 16 * MIB, 0);
	assert_true(m >= 0);
	assert_int_equal(disk_unit_loops(u), 1);
	other = openat(m, ".", O_PATH | O_CLOEXEC);
	own_fd(&m);
	assert_int_equal(disk_unit_loops_soon(u, 1), 1);
	own_fd(&other);
	assert_int_equal(disk_unit_loops_soon(u, 0), 0);
}

static enum disk_need wait_for(struct disk_unit *u, const char *id,
			       struct disk_job *job)
{
	enum disk_need need;

	while ((need = disk_prepare(&u->root, id, job)) == DISK_NEED_JOB) {
		struct pollfd p = {.fd = job->pidfd, .events = POLLIN};

		assert_int_equal(poll(&p, 1, 30000), 1);
		assert_true(disk_job_end(job));
	}
	return need;
}

static void an_image_is_never_mounted_twice(void **state)
{
	struct disk_unit *u = *state;
	struct disk_job job = DISK_JOB_NONE, other = DISK_JOB_NONE;
	OWN(own_fd) int m = -1;

	if (!disk_unit_loop(u))
		return;
	m = open_it(u, A, 16 * MIB, 0);
	assert_true(m >= 0);
	assert_int_equal(disk_prepare(&u->root, A, &job), DISK_NEED_WAIT);
	assert_int_equal(refused(u, A, 16 * MIB), ERR_STATE);
	own_fd(&m);
	assert_int_equal(disk_unit_loops_soon(u, 0), 0);
	assert_int_equal(wait_for(u, A, &job), DISK_NEED_NOTHING);
	assert_true(job.mount >= 0);
	assert_int_equal(disk_prepare(&u->root, A, &other), DISK_NEED_WAIT);
	assert_int_equal(refused(u, A, 16 * MIB), ERR_STATE);
	disk_job_close(&job);
	assert_int_equal(disk_unit_loops_soon(u, 0), 0);
	m = open_it(u, A, 16 * MIB, 0);
	assert_true(m >= 0);
}

static void what_a_child_mounted_is_used(void **state)
{
	struct disk_unit *u = *state;
	struct disk_job job = DISK_JOB_NONE;
	struct disk_files f = {.mount = -1};
	struct disk_want want;
	struct errinfo e;
	int m;

	if (!disk_unit_loop(u))
		return;
	m = open_it(u, A, 16 * MIB, 0);
	put_file(m, "root/upper/file");
	own_fd(&m);
	assert_int_equal(disk_unit_loops_soon(u, 0), 0);
	assert_int_equal(wait_for(u, A, &job), DISK_NEED_NOTHING);
	want = disk_unit_want(u, 16 * MIB, 0);
	want.mount = &job.mount;
	assert_int_equal(disk_open(&u->root, A, &want, &f, &e), ERR_NONE);
	assert_int_equal(job.mount, -1);
	assert_true(f.image && f.bounded);
	assert_int_equal(faccessat(f.mount, "root/upper/file", F_OK, 0), 0);
	assert_int_equal(disk_unit_loops(u), 1);
	own_fd(&f.mount);
}

/* A's image as a crash of the host would leave it, as B's: taken while it is
 * mounted. */
static void crash(struct disk_unit *u)
{
	OWN(own_fd) int m = open_it(u, A, 16 * MIB, 0);
	OWN(own_fd) int image = -1;
	OWN(own_fd) int copy = -1;
	OWN(own_fd) int to = -1;
	OWN(own_fd) int here = -1;
	char name[64];

	put_file(m, "root/upper/file");
	here = openat(m, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	assert_int_equal(syncfs(here), 0);
	put_file(m, "root/upper/later");
	image = image_of(u, A);
	copy = disk_unit_copy(u, image);
	assert_int_equal(mkdirat(u->sandboxes, B, 0700), 0);
	to = openat(u->sandboxes, B, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", copy);
	assert_int_equal(
	    linkat(AT_FDCWD, name, to, DISK_IMAGE_NAME, AT_SYMLINK_FOLLOW), 0);
}

static void after_a_crash_an_image_is_checked_first(void **state)
{
	struct disk_unit *u = *state;
	struct disk_job job = DISK_JOB_NONE, other = DISK_JOB_NONE;
	OWN(own_fd) int m = -1;

	if (!disk_unit_loop(u))
		return;
	crash(u);
	assert_int_equal(refused(u, B, 16 * MIB), ERR_STATE);
	assert_int_equal(disk_prepare(&u->root, B, &job), DISK_NEED_JOB);
	assert_int_equal(job.socket, -1);
	assert_int_equal(disk_prepare(&u->root, B, &other), DISK_NEED_WAIT);
	disk_job_close(&job);
	assert_int_equal(wait_for(u, B, &job), DISK_NEED_NOTHING);
	disk_job_close(&job);
	assert_int_equal(disk_unit_loops_soon(u, 0), 0);
	m = open_it(u, B, 16 * MIB, 0);
	assert_int_equal(faccessat(m, "root/upper/file", F_OK, 0), 0);
}

static void a_job_can_be_given_up(void **state)
{
	struct disk_unit *u = *state;
	struct disk_job job = DISK_JOB_NONE;
	int m;

	if (!disk_unit_loop(u))
		return;
	crash(u);
	assert_int_equal(disk_unit_loops_soon(u, 0), 0);
	/* A check, then mounts at whatever step they are. */
	assert_int_equal(disk_prepare(&u->root, B, &job), DISK_NEED_JOB);
	disk_job_close(&job);
	for (unsigned us = 0; us < 20000; us += 1000) {
		while (disk_prepare(&u->root, A, &job) == DISK_NEED_WAIT)
			usleep(1000);
		usleep(us);
		disk_job_close(&job);
		assert_int_equal(job.pidfd, -1);
		assert_int_equal(job.image, -1);
		assert_int_equal(job.mount, -1);
		assert_false(disk_job_end(&job));
	}
	assert_int_equal(disk_unit_loops_soon(u, 0), 0);
	m = open_it(u, A, 16 * MIB, 0);
	assert_true(m >= 0);
	own_fd(&m);
}

static void a_blank_image_is_made_anew(void **state)
{
	struct disk_unit *u = *state;
	OWN(own_fd) int image = -1;
	OWN(own_fd) int m = -1;

	if (!disk_unit_loop(u))
		return;
	m = open_it(u, A, 16 * MIB, 0);
	own_fd(&m);
	assert_int_equal(disk_unit_loops_soon(u, 0), 0);
	image = image_of(u, A);
	assert_int_equal(ftruncate(image, 0), 0);
	m = open_it(u, A, 16 * MIB, 0);
	assert_true(m >= 0);
	put_file(m, "root/upper/file");
}

static void what_does_not_fit_is_refused(void **state)
{
	struct disk_unit *u = *state;
	uint64_t promised;
	struct statvfs s;
	int m;

	if (!disk_unit_loop(u))
		return;
	m = open_it(u, A, 16 * MIB, 0);
	assert_true(m >= 0);
	own_fd(&m);
	promised = u->root.promised;
	assert_true(promised > 16 * MIB && promised < 20 * MIB);
	assert_int_equal(fstatvfs(u->sandboxes, &s), 0);
	if (s.f_bavail * s.f_frsize > DISK_BYTES_MAX) {
		print_message("skipped: the disk is too large\n");
		return;
	}
	assert_int_equal(refused(u, B, s.f_bavail * s.f_frsize), ERR_LIMIT);
	assert_true(u->root.promised == promised);
	assert_int_equal(image_of(u, B), -1);
	u->root.overcommit = 2;
	m = open_it(u, B, s.f_bavail * s.f_frsize, 1000);
	assert_true(m >= 0);
	own_fd(&m);
	disk_forget(&u->root, B);
	assert_true(u->root.promised == promised);
}

static void what_is_promised_is_known_after_a_restart(void **state)
{
	struct disk_unit *u = *state;
	struct disk_root later;
	uint64_t promised;
	int m;

	if (!disk_unit_loop(u))
		return;
	m = open_it(u, A, 16 * MIB, 0);
	own_fd(&m);
	promised = u->root.promised;
	disk_root_open(&later, u->sandboxes, u->images, 1);
	disk_root_close(&u->root);
	u->root = later;
	u->root.kind = DISK_LOOP;
	m = open_it(u, B, 16 * MIB, 0);
	own_fd(&m);
	assert_true(u->root.promised == 2 * promised);
}

static void a_directory_of_before_stays_one(void **state)
{
	struct disk_unit *u = *state;
	struct statvfs s, host;
	int m;

	if (!disk_unit_loop(u))
		return;
	m = open_it(u, A, 0, 0);
	assert_true(m >= 0);
	put_file(m, "root/upper/file");
	own_fd(&m);
	m = open_it(u, A, 16 * MIB, 0);
	assert_int_equal(faccessat(m, "root/upper/file", F_OK, 0), 0);
	assert_int_equal(fstatvfs(m, &s), 0);
	assert_int_equal(fstatvfs(u->sandboxes, &host), 0);
	assert_true(s.f_blocks == host.f_blocks);
	own_fd(&m);
	assert_int_equal(image_of(u, A), -1);
}

static void files_in_memory_are_bounded_too(void **state)
{
	struct disk_unit *u = *state;
	struct disk_want want;
	struct disk_files f = {.mount = -1};
	struct statvfs s;
	struct errinfo e;

	if (!disk_unit_loop(u))
		return;
	want = disk_unit_want(u, 8 * MIB, 300);
	want.ephemeral = true;
	assert_int_equal(disk_open(&u->root, A, &want, &f, &e), ERR_NONE);
	assert_true(f.bounded);
	assert_false(f.image);
	assert_int_equal(fstatvfs(f.mount, &s), 0);
	assert_true(s.f_blocks * s.f_frsize == 8 * MIB);
	assert_true(s.f_files == 300);
	own_fd(&f.mount);
	assert_int_equal(faccessat(u->sandboxes, A, F_OK, 0), -1);
}

static void spares_have_no_name_and_the_limits_mostly_asked_for(void **state)
{
	struct disk_unit *u = *state;
	struct statvfs s;
	DIR *d;
	int m, n = 0;

	if (!disk_unit_loop(u))
		return;
	m = open_it(u, A, 16 * MIB, 0);
	own_fd(&m);
	while (disk_spare_refill(&u->root.spares))
		continue;
	assert_int_equal(u->root.spares.nready, DISK_SPARES);
	assert_int_equal(disk_unit_loops_soon(u, DISK_SPARES), DISK_SPARES);
	d = fdopendir(openat(u->sandboxes, ".", O_DIRECTORY | O_RDONLY));
	for (struct dirent *de; (de = readdir(d)) != NULL;)
		n += de->d_name[0] != '.';
	closedir(d);
	assert_int_equal(n, 1);
	for (int i = 1; i <= DISK_SPARES_MISSES; i++) {
		char id[] = B;

		id[10] = (char)('b' + i);
		m = open_it(u, id, 32 * MIB, 0);
		assert_int_equal(fstatvfs(m, &s), 0);
		assert_true(s.f_bavail * s.f_frsize > 31 * MIB);
		own_fd(&m);
		/* One by the way does not change what is ready. */
		assert_int_equal(u->root.spares.nready,
				 i < DISK_SPARES_MISSES ? DISK_SPARES : 0);
	}
	assert_true(u->root.spares.limits.bytes == 32 * MIB);
	for (int i = 0; i < DISK_SPARES; i++)
		disk_spare_tidy(&u->root.spares);
	assert_int_equal(disk_unit_loops_soon(u, 0), 0);
}

/* The host of images is an image itself here, so that nothing else can be
 * hurt if this claim is wrong. */
static void the_file_system_of_the_images_is_never_forsaken(void **state)
{
	struct disk_unit *u = *state;
	int m;
	OWN(own_fd) int inside = -1;

	if (!disk_unit_loop(u))
		return;
	m = open_it(u, A, 16 * MIB, 0);
	assert_true(m >= 0);
	assert_int_equal(mkdirat(m, "host", 0700), 0);
	inside = openat(m, "host", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	disk_loop_forsake(m, inside);
	put_file(inside, "still");
	disk_forsake(&u->root, -1);
	disk_forsake(&u->root, m);
	assert_int_equal(openat(inside, "no", O_CREAT | O_WRONLY, 0600), -1);
	assert_int_equal(errno, EIO);
	own_fd(&inside);
	own_fd(&m);
	assert_int_equal(disk_unit_loops_soon(u, 0), 0);
}

/* One step further for each ${last}; then it dies. */
static void die_after(struct disk_unit *u, int last)
{
	const struct disk_limits l = {.bytes = 16 * MIB, .inodes = 1024};
	int template_fd = -1, image = -1, m = -1;
	struct errinfo e;
	enum err r = disk_image_template(u->images, &l, &template_fd, &e);

	if (last > 0 && r == ERR_NONE)
		r = disk_image_new(u->sandboxes, template_fd, &image, &e);
	if (last > 1 && r == ERR_NONE)
		(void)!flock(image, LOCK_EX | LOCK_NB);
	if (last > 2 && r == ERR_NONE)
		r = disk_loop_mount_new(image, template_fd, &m, &e);
	if (last > 3)
		m = open_it(u, A, 16 * MIB, 1024);
	if (last > 4)
		(void)disk_spare_refill(&u->root.spares);
	if (r != ERR_NONE || (last > 2 && m < 0))
		_exit(1);
	kill(getpid(), SIGKILL);
}

static void killed_after_any_step_nothing_stays(void **state)
{
	struct disk_unit *u = *state;

	if (!disk_unit_loop(u))
		return;
	for (int last = 0; last <= 5; last++) {
		struct disk_job job = DISK_JOB_NONE;
		pid_t pid = fork();
		int status, m;

		if (pid == 0)
			die_after(u, last);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(disk_unit_loops_soon(u, 0), 0);
		/* And what is there can be used at once. */
		assert_int_equal(wait_for(u, A, &job), DISK_NEED_NOTHING);
		disk_job_close(&job);
		assert_int_equal(disk_unit_loops_soon(u, 0), 0);
		m = open_it(u, A, 16 * MIB, 1024);
		assert_true(m >= 0);
		own_fd(&m);
		assert_int_equal(disk_unit_loops_soon(u, 0), 0);
	}
}

static void two_hundred_leave_no_device(void **state)
{
	struct disk_unit *u = *state;
	int before;

	if (!disk_unit_loop(u))
		return;
	before = open(u->dir, O_RDONLY | O_CLOEXEC);
	close(before);
	for (int i = 0; i < 200; i++) {
		int now, m = open_it(u, A, 16 * MIB, 1024);

		assert_true(m >= 0);
		put_file(m, "root/upper/file");
		if (i % 2 == 0)
			disk_forsake(&u->root, m);
		own_fd(&m);
		disk_forget(&u->root, A);
		assert_int_equal(
		    unlinkat(u->sandboxes, A "/" DISK_IMAGE_NAME, 0), 0);
		now = open(u->dir, O_RDONLY | O_CLOEXEC);
		close(now);
		/* One more: the template's, kept for spares. */
		assert_true(now <= before + 1);
	}
	assert_int_equal(disk_unit_loops_soon(u, 0), 0);
	assert_true(u->root.promised == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(f)                                                                \
	cmocka_unit_test_setup_teardown(f, disk_unit_open, disk_unit_close)
	    CASE(exactly_the_bytes_can_be_had),
	    CASE(files_are_there_the_next_time),
	    CASE(a_device_is_free_after_the_last_descriptor),
	    CASE(an_image_is_never_mounted_twice),
	    CASE(what_a_child_mounted_is_used),
	    CASE(after_a_crash_an_image_is_checked_first),
	    CASE(a_job_can_be_given_up),
	    CASE(a_blank_image_is_made_anew),
	    CASE(what_does_not_fit_is_refused),
	    CASE(what_is_promised_is_known_after_a_restart),
	    CASE(a_directory_of_before_stays_one),
	    CASE(files_in_memory_are_bounded_too),
	    CASE(spares_have_no_name_and_the_limits_mostly_asked_for),
	    CASE(the_file_system_of_the_images_is_never_forsaken),
	    CASE(killed_after_any_step_nothing_stays),
	    CASE(two_hundred_leave_no_device),
#undef CASE
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

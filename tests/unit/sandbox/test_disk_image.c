/* disk_image: templates, copies, and what a crash leaves. */
#include "tests/unit/sandbox/disk_unit.h"

#include <poll.h>

#include "sandbox/child.h"
#include "sandbox/disk_image.h"

static const struct disk_limits small = {.bytes = 16 * MIB, .inodes = 1024};

static void limits_become_whole_blocks_and_sane_counts(void **state)
{
	struct disk_limits in = {.bytes = 2 * MIB - 1, .inodes = 0}, out;

	(void)state;
	assert_true(disk_limits_fit(&in, &out));
	assert_true(out.bytes == 2 * MIB);
	assert_true(out.inodes == 128);
	in.inodes = UINT32_MAX;
	assert_true(disk_limits_fit(&in, &out));
	assert_true(out.inodes == 2048);
	in.inodes = 1;
	assert_true(disk_limits_fit(&in, &out));
	assert_true(out.inodes == DISK_INODES_MIN);
}

static void limits_that_no_image_can_have_are_refused(void **state)
{
	static const uint64_t bytes[] = {0,
					 1,
					 DISK_BYTES_MIN - 1,
					 DISK_BYTES_MAX + 1,
					 UINT64_MAX,
					 UINT64_MAX - 4095};
	struct disk_limits out = {.bytes = 7};

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct disk_limits in = {.bytes = bytes[i]};

		assert_false(disk_limits_fit(&in, &out));
		assert_true(out.bytes == 7);
	}
}

static void a_template_is_made_once_and_is_sparse(void **state)
{
	struct disk_unit *u = *state;
	struct stat a, b;
	struct errinfo e;
	OWN(own_fd) int first = -1;
	OWN(own_fd) int again = -1;

	assert_int_equal(disk_image_template(u->images, &small, &first, &e),
			 ERR_NONE);
	assert_int_equal(disk_image_template(u->images, &small, &again, &e),
			 ERR_NONE);
	assert_int_equal(fstat(first, &a), 0);
	assert_int_equal(fstat(again, &b), 0);
	assert_true(a.st_ino == b.st_ino);
	assert_true((uint64_t)a.st_size > small.bytes);
	assert_true((uint64_t)a.st_size < small.bytes + 3 * MIB);
	assert_true(a.st_blocks * 512 < 256 * 1024);
	assert_int_equal(a.st_uid, 0);
	assert_int_equal(a.st_mode & 0777, 0600);
}

static void templates_do_not_pile_up(void **state)
{
	struct disk_unit *u = *state;
	struct errinfo e;
	DIR *d;
	int n = 0;

	for (uint64_t i = 0; i < DISK_TEMPLATES_MAX + 4; i++) {
		const struct disk_limits l = {.bytes = MIB + i * 4096,
					      .inodes = 64};
		OWN(own_fd) int fd = -1;

		assert_int_equal(disk_image_template(u->images, &l, &fd, &e),
				 ERR_NONE);
	}
	d = fdopendir(openat(u->images, ".", O_DIRECTORY | O_RDONLY));
	assert_non_null(d);
	for (struct dirent *de; (de = readdir(d)) != NULL;)
		n += de->d_name[0] != '.';
	closedir(d);
	assert_int_equal(n, DISK_TEMPLATES_MAX);
}

static bool same_bytes(int a, int b, off_t size)
{
	static char p[65536], q[sizeof(p)];

	for (off_t at = 0; at < size; at += (off_t)sizeof(p)) {
		ssize_t n = pread(a, p, sizeof(p), at);

		if (n <= 0 || pread(b, q, sizeof(q), at) != n ||
		    memcmp(p, q, (size_t)n) != 0)
			return false;
	}
	return true;
}

static void a_copy_has_the_same_bytes_and_no_name(void **state)
{
	struct disk_unit *u = *state;
	OWN(own_fd) int from = -1;
	OWN(own_fd) int copy = -1;
	struct stat a, b;
	struct errinfo e;

	assert_int_equal(disk_image_template(u->images, &small, &from, &e),
			 ERR_NONE);
	copy = disk_unit_copy(u, from);
	assert_int_equal(fstat(from, &a), 0);
	assert_int_equal(fstat(copy, &b), 0);
	assert_true(a.st_size == b.st_size);
	assert_true(b.st_blocks <= a.st_blocks);
	assert_int_equal(b.st_nlink, 0);
	assert_true(same_bytes(from, copy, a.st_size));
	assert_int_equal(disk_image_state(copy), DISK_CLEAN);
}

static int an_image(struct disk_unit *u)
{
	OWN(own_fd) int from = -1;
	struct errinfo e;

	assert_int_equal(disk_image_template(u->images, &small, &from, &e),
			 ERR_NONE);
	return disk_unit_copy(u, from);
}

static void a_template_has_what_all_sandboxes_have(void **state)
{
	struct disk_unit *u = *state;
	OWN(own_fd) int from = -1;
	OWN(own_fd) int image = -1;
	OWN(own_fd) int mount = -1;
	struct errinfo e;

	if (!disk_unit_loop(u))
		return;
	assert_int_equal(disk_image_template(u->images, &small, &from, &e),
			 ERR_NONE);
	assert_int_equal(disk_image_state(from), DISK_CLEAN);
	assert_int_equal(disk_image_new(u->sandboxes, from, &image, &e),
			 ERR_NONE);
	assert_int_equal(disk_loop_mount_new(image, from, &mount, &e),
			 ERR_NONE);
	assert_int_equal(faccessat(mount, "root/upper", F_OK, 0), 0);
	assert_int_equal(faccessat(mount, "usr/work", F_OK, 0), 0);
	assert_int_equal(faccessat(mount, "ballast/0", F_OK, 0), 0);
}

static void what_only_began_to_come_to_the_disk_is_blank(void **state)
{
	static const char zero[4096];
	struct disk_unit *u = *state;
	OWN(own_fd) int image = an_image(u);

	assert_int_equal(pwrite(image, zero, sizeof(zero), 4096), 4096);
	assert_int_equal(disk_image_state(image), DISK_BLANK);
}

static bool check(int image)
{
	OWN(own_fd) int pidfd = -1;
	struct pollfd p = {.events = POLLIN};
	struct errinfo e;
	int status;
	pid_t pid;

	assert_int_equal(disk_image_check_start(image, &pid, &pidfd, &e),
			 ERR_NONE);
	p.fd = pidfd;
	assert_int_equal(poll(&p, 1, 30000), 1);
	child_reap(pidfd, &status);
	return disk_image_check_done(image, status);
}

static void what_a_crash_damaged_is_repaired(void **state)
{
	static const char wrong[64] = "not a bitmap";
	struct disk_unit *u = *state;
	OWN(own_fd) int image = -1;
	OWN(own_fd) int crashed = -1;
	OWN(own_fd) int mount = -1;
	OWN(own_fd) int here = -1;
	struct stat st;
	struct errinfo e;

	if (!disk_unit_loop(u))
		return;
	image = an_image(u);
	assert_int_equal(disk_loop_mount(image, &mount, &e), ERR_NONE);
	assert_int_equal(mkdirat(mount, "x", 0700), 0);
	here = openat(mount, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	assert_int_equal(syncfs(here), 0);
	crashed = disk_unit_copy(u, image);
	/* Descriptors, bitmaps, tables: a block half written. */
	for (off_t at = 2; at < 40; at += 3)
		assert_int_equal(pwrite(crashed, wrong, 64, at * 4096 + 128),
				 64);
	assert_int_equal(disk_image_state(crashed), DISK_UNCLEAN);
	assert_true(check(crashed));
	assert_int_equal(disk_image_state(crashed), DISK_CLEAN);
	assert_int_equal(fstat(crashed, &st), 0);
	assert_int_equal(st.st_uid, 0);
}

static void what_cannot_be_repaired_is_not_fit(void **state)
{
	struct disk_unit *u = *state;
	OWN(own_fd) int image = -1;
	char noise[4096];

	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return;
	}
	image = an_image(u);
	memset(noise, 0x5a, sizeof(noise));
	for (off_t at = 0; at < (off_t)(20 * MIB); at += 4096)
		assert_int_equal(pwrite(image, noise, 4096, at), 4096);
	assert_int_equal(disk_image_state(image), DISK_UNCLEAN);
	assert_false(check(image));
}

static void what_never_came_to_the_disk_is_blank(void **state)
{
	struct disk_unit *u = *state;
	OWN(own_fd)
	int image = openat(u->sandboxes, "x", O_CREAT | O_RDWR | O_CLOEXEC,
			   0600);

	assert_int_equal(disk_image_state(image), DISK_BLANK);
	assert_int_equal(ftruncate(image, 16 << 20), 0);
	assert_int_equal(disk_image_state(image), DISK_BLANK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(f)                                                                \
	cmocka_unit_test_setup_teardown(f, disk_unit_open, disk_unit_close)
	    CASE(limits_become_whole_blocks_and_sane_counts),
	    CASE(limits_that_no_image_can_have_are_refused),
	    CASE(a_template_is_made_once_and_is_sparse),
	    CASE(templates_do_not_pile_up),
	    CASE(a_copy_has_the_same_bytes_and_no_name),
	    CASE(a_template_has_what_all_sandboxes_have),
	    CASE(what_a_crash_damaged_is_repaired),
	    CASE(what_cannot_be_repaired_is_not_fit),
	    CASE(what_never_came_to_the_disk_is_blank),
	    CASE(what_only_began_to_come_to_the_disk_is_blank),
#undef CASE
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* mount_check: what mountinfo may say of a sandbox's mounts. */
#include "tests/unit/sandbox/root_unit.h"

#include <sched.h>
#include <sys/mount.h>

#include "sandbox/mount_check.h"

#define ROOT "1 0 0:1 / / rw,nosuid,nodev - overlay warren rw\n"
#define TMP "2 1 0:2 / /tmp rw - tmpfs none rw\n"
#define DEV                                                                    \
	"3 1 0:3 / /dev rw - tmpfs none rw\n"                                  \
	"4 3 0:4 / /dev/pts rw - devpts none rw\n"                             \
	"5 3 0:5 / /dev/shm rw - tmpfs none rw\n"
#define PROC                                                                   \
	"6 1 0:6 / /proc rw - proc none rw\n"                                  \
	"7 6 0:3 /null /proc/kcore rw - tmpfs none rw\n"                       \
	"8 6 0:6 /sys /proc/sys ro - proc none rw\n"

static bool check(const char *text)
{
	char copy[4096];

	assert_true(strlen(text) < sizeof(copy));
	memcpy(copy, text, strlen(text) + 1);
	return mount_check_text(copy);
}

static void what_we_mount_is_known(void **state)
{
	(void)state;
	assert_true(check(ROOT TMP DEV PROC));
	assert_true(
	    check(ROOT "9 1 0:9 / /usr rw - overlay warren rw\n" TMP DEV PROC));
}

static void what_is_missing_is_noticed(void **state)
{
	(void)state;
	assert_false(check(""));
	assert_false(check(TMP DEV PROC));
	assert_false(check(ROOT DEV PROC));
	assert_false(check(ROOT TMP PROC));
	assert_false(check(ROOT TMP DEV));
}

static void a_mount_that_is_not_ours_is_refused(void **state)
{
	static const char *const others[] = {
	    "9 1 0:9 / /mnt rw - ext4 /dev/vda rw\n",
	    "9 1 0:9 / /etc rw - tmpfs none rw\n",
	    "9 1 0:9 / /tmp rw - tmpfs none rw\n", /* over ours */
	    "9 1 0:9 / /tmp/x rw - tmpfs none rw\n",
	    "9 1 0:9 / /sys ro - sysfs none rw\n",
	    "9 1 0:9 / /proc/kcore rw - ext4 /dev/vda rw\n",
	    "9 1 0:9 / /procfs rw - proc none rw\n",
	    "9 1 0:9 / /usr rw - ext4 /dev/vda rw\n",
	    "9 1 0:9 / / rw - overlay warren rw\n",
	    "nonsense\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char text[2048];

		snprintf(text, sizeof(text), ROOT TMP DEV PROC "%s", others[i]);
		assert_false(check(text));
		assert_int_equal(errno, EXDEV);
	}
}

static void one_that_hears_of_other_namespaces_is_refused(void **state)
{
	static const char *const tags[] = {"shared:1", "master:7",
					   "shared:2 master:7",
					   "propagate_from:3", "unbindable"};

	(void)state;
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		char text[2048];

		snprintf(text, sizeof(text),
			 ROOT DEV PROC "2 1 0:2 / /tmp rw %s - tmpfs none rw\n",
			 tags[i]);
		assert_false(check(text));
	}
}

static int one_more(void *arg)
{
	struct mount_count before, after;

	(void)arg;
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 1;
	before = mount_count();
	if (before.n == 0)
		return 77;
	if (mount("none", "/tmp", "tmpfs", 0, NULL) < 0)
		return 2;
	after = mount_count();
	if (after.n != before.n + 1 || after.newest <= before.newest)
		return 3;
	/* As many as there are, but older ones among them. */
	if (mount_check_count(&before, after.n) || errno != EXDEV)
		return 4;
	before.newest = 0;
	if (!mount_check_count(&before, after.n))
		return 5;
	return mount_check_count(&before, after.n - 1) ||
		       mount_check_count(&before, after.n + 1)
		   ? 6
		   : 0;
}

static void one_too_many_or_one_from_before_is_noticed(void **state)
{
	int r;

	(void)state;
	need_root("to mount");
	r = apart(one_more, NULL);
	if (r == 77) {
		print_message("skipped: this kernel does not count mounts\n");
		skip();
	}
	assert_int_equal(r, 0);
}

/* As when the host removes a place where something was mounted. */
static int one_less(void *arg)
{
	struct mount_count before;

	(void)arg;
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/tmp", "tmpfs", 0, NULL) < 0)
		return 1;
	before = mount_count();
	if (before.n == 0)
		return 77;
	if (umount2("/tmp", MNT_DETACH) < 0 ||
	    mount("none", "/tmp", "tmpfs", 0, NULL) < 0 ||
	    mount("none", "/mnt", "tmpfs", 0, NULL) < 0)
		return 2;
	return mount_count_newer(&before) == 2 ? 0 : 3;
}

static void those_of_before_may_become_fewer(void **state)
{
	int r;

	(void)state;
	need_root("to mount");
	r = apart(one_less, NULL);
	if (r == 77) {
		print_message("skipped: this kernel does not count mounts\n");
		skip();
	}
	assert_int_equal(r, 0);
}

static int of_this_machine(void *arg)
{
	(void)arg;
	return mount_check(open("/proc/self", O_PATH | O_CLOEXEC));
}

static void the_machines_own_tree_is_refused(void **state)
{
	(void)state;
	assert_int_equal(apart(of_this_machine, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_we_mount_is_known),
	    cmocka_unit_test(what_is_missing_is_noticed),
	    cmocka_unit_test(a_mount_that_is_not_ours_is_refused),
	    cmocka_unit_test(one_that_hears_of_other_namespaces_is_refused),
	    cmocka_unit_test(one_too_many_or_one_from_before_is_noticed),
	    cmocka_unit_test(those_of_before_may_become_fewer),
	    cmocka_unit_test(the_machines_own_tree_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* host: what a machine must not do for sandboxes' sake. */
#include "tests/unit/sandbox/root_unit.h"

#include "sandbox/host.h"

static void a_pattern_that_names_a_file_is_fine(void **state)
{
	static const char *const fine[] = {"core",          "",    "core.%p",
					   "/var/crash/%e", "a|b", "a@b"};
	struct errinfo e;

	(void)state;
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		assert_int_equal(host_core_pattern(fine[i], false, &e),
				 ERR_NONE);
}

static void one_that_starts_a_program_needs_the_operators_word(void **state)
{
	static const char *const bad[] = {"|/usr/share/apport/apport -p%p -s%s",
					  "|x", "@/run/coredump.sock",
					  "@@/run/coredump.sock"};
	struct errinfo e = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(host_core_pattern(bad[i], false, &e),
				 ERR_STATE);
		assert_non_null(strstr(e.text, "sysctl"));
		assert_non_null(strstr(e.text, bad[i]));
		assert_int_equal(host_core_pattern(bad[i], true, &e), ERR_NONE);
	}
}

static long number(const char *path)
{
	return strtol(text_at(AT_FDCWD, path), NULL, 10);
}

static void what_sandboxes_share_is_enough_for_them(void **state)
{
	struct errinfo e = {0};
	long before = number("/proc/sys/fs/inotify/max_user_watches");

	(void)state;
	need_root("to raise limits of the machine");
	assert_int_equal(host_prepare(true, &e), ERR_NONE);
	assert_true(number("/proc/sys/fs/inotify/max_user_instances") >= 128);
	assert_true(number("/proc/sys/fs/inotify/max_user_watches") >= 65536);
	/* never lowered */
	assert_true(number("/proc/sys/fs/inotify/max_user_watches") >= before);
	assert_true(number("/proc/sys/kernel/pty/max") >= 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_pattern_that_names_a_file_is_fine),
	    cmocka_unit_test(
		one_that_starts_a_program_needs_the_operators_word),
	    cmocka_unit_test(what_sandboxes_share_is_enough_for_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

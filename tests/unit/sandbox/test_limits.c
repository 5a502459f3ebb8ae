/* limits: what every process of a sandbox starts with. */
#include "tests/unit/sandbox/root_unit.h"

#include <linux/keyctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "sandbox/limits.h"

static int core_and_files(void *arg)
{
	const struct limits l = {.open_files = 100, .file_bytes = 1U << 20};
	struct rlimit r;

	(void)arg;
	if (limits_set(&l) < 0)
		return 1;
	if (getrlimit(RLIMIT_CORE, &r) < 0 || r.rlim_cur != 1 ||
	    r.rlim_max != 1)
		return 2;
	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_max != 100)
		return 3;
	return getrlimit(RLIMIT_FSIZE, &r) < 0 || r.rlim_max != 1U << 20 ? 4
									 : 0;
}

static void they_are_hard_ones(void **state)
{
	(void)state;
	assert_int_equal(apart(core_and_files, NULL), 0);
}

static long session(void)
{
	return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID,
		       KEY_SPEC_SESSION_KEYRING, 0);
}

static int other_keyring(void *arg)
{
	long before = session(), after;

	(void)arg;
	if (before < 0 && errno == ENOSYS)
		return 0;
	if (limits_keyring() < 0)
		return 1;
	after = session();
	return after > 0 && after != before ? 0 : 2;
}

static void its_session_keyring_is_a_fresh_one(void **state)
{
	(void)state;
	assert_int_equal(apart(other_keyring, NULL), 0);
}

static int first_to_go(void *arg)
{
	int self = open("/proc/self", O_PATH | O_DIRECTORY);

	(void)arg;
	return limits_oom(self) < 0 ||
	       strcmp(text_at(self, "oom_score_adj"), "500\n") != 0;
}

static void it_is_killed_before_the_machines_own(void **state)
{
	(void)state;
	assert_int_equal(apart(first_to_go, NULL), 0);
	assert_string_not_equal(text_at(AT_FDCWD, "/proc/self/oom_score_adj"),
				"500\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(they_are_hard_ones),
	    cmocka_unit_test(its_session_keyring_is_a_fresh_one),
	    cmocka_unit_test(it_is_killed_before_the_machines_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

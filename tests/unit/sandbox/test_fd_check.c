/* fd_check: a descriptor that was left open is found. */
#include "tests/unit/sandbox/root_unit.h"

#include "sandbox/fd_check.h"

#ifndef NDEBUG
static int alone(void)
{
	return close_range(3, ~0U, 0);
}

static int nothing_open(void *arg)
{
	(void)arg;
	return alone() < 0 || !fd_check_own(FD_CHECK_FIRST(3), false) ||
	       !fd_check_own(FD_CHECK_FIRST(3), true);
}

static void what_is_known_may_be_open(void **state)
{
	(void)state;
	assert_int_equal(apart(nothing_open, NULL), 0);
}

static int leak(void *arg)
{
	int at = *(int *)arg;

	if (alone() < 0 || dup2(0, at) != at)
		return 1;
	if (fd_check_own(FD_CHECK_FIRST(3), false) || errno != EBADFD)
		return 2;
	if (fd_check_own(FD_CHECK_FIRST(3), true))
		return 3;
	/* It closes at exec. */
	if (fcntl(at, F_SETFD, FD_CLOEXEC) < 0 ||
	    !fd_check_own(FD_CHECK_FIRST(3), true))
		return 4;
	return fd_check_own(FD_CHECK_FIRST(3), false) ? 5 : 0;
}

static void one_that_leaked_is_found_wherever_it_is(void **state)
{
	int places[] = {3, 4, 31, 63, 64, 100, 900};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		assert_int_equal(apart(leak, &places[i]), 0);
}

static int many(void *arg)
{
	(void)arg;
	if (alone() < 0)
		return 1;
	for (int i = 3; i < 600; i++)
		if (fcntl(0, F_DUPFD_CLOEXEC, 3) < 0)
			return 2;
	if (!fd_check_own(FD_CHECK_FIRST(3), true) || dup2(0, 700) < 0)
		return 3;
	return fd_check_own(FD_CHECK_FIRST(3), true);
}

static void it_is_found_among_many_that_close(void **state)
{
	(void)state;
	assert_int_equal(apart(many, NULL), 0);
}

static int a_gap(void *arg)
{
	(void)arg;
	if (alone() < 0 || dup2(0, 7) < 0)
		return 1;
	return !fd_check_own(FD_CHECK_FIRST(3) | 1 << 7, false) ||
	       fd_check_own(FD_CHECK_FIRST(3) | 1 << 6, false);
}

static void each_known_one_is_named_by_its_bit(void **state)
{
	(void)state;
	assert_int_equal(apart(a_gap, NULL), 0);
}
#endif

int main(void)
{
#ifdef NDEBUG
	puts("skipped: a release build does not look");
	return 0;
#else
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_known_may_be_open),
	    cmocka_unit_test(one_that_leaked_is_found_wherever_it_is),
	    cmocka_unit_test(it_is_found_among_many_that_close),
	    cmocka_unit_test(each_known_one_is_named_by_its_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}

/* clock: deadlines as poll's timeouts, stamps as ISO text. */
#include "tests/unit/base/unit.h"

#include <limits.h>
#include <string.h>

#include "base/clock.h"

static void a_stamp_is_utc_with_milliseconds(void **state)
{
	char out[CLOCK_ISO_LEN + 1];

	(void)state;
	clock_iso(0, out);
	assert_string_equal(out, "1970-01-01T00:00:00.000Z");
	clock_iso(1769860800007, out);
	assert_string_equal(out, "2026-01-31T12:00:00.007Z");
	clock_iso(951782399999, out);
	assert_string_equal(out, "2000-02-28T23:59:59.999Z");
	clock_iso(951782400000, out);
	assert_string_equal(out, "2000-02-29T00:00:00.000Z");
}

static void a_time_before_1970_keeps_the_form(void **state)
{
	char out[CLOCK_ISO_LEN + 1];

	(void)state;
	clock_iso(-1, out);
	assert_string_equal(out, "1969-12-31T23:59:59.999Z");
	clock_iso(-1000, out);
	assert_string_equal(out, "1969-12-31T23:59:59.000Z");
}

static void any_number_gives_a_stamp_of_the_same_length(void **state)
{
	static const int64_t at[] = {INT64_MIN, INT64_MIN + 1,   -1,       0,
				     1,         253402300800000, INT64_MAX};
	char out[CLOCK_ISO_LEN + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		clock_iso(at[i], out);
		assert_int_equal(strlen(out), CLOCK_ISO_LEN);
		assert_int_equal(out[CLOCK_ISO_LEN - 1], 'Z');
	}
}

static void a_passed_deadline_leaves_nothing(void **state)
{
	(void)state;
	assert_int_equal(clock_left_ms(0), 0);
	assert_int_equal(clock_left_ms(clock_mono_ms() - 1), 0);
}

static void no_deadline_waits_for_ever(void **state)
{
	(void)state;
	assert_int_equal(clock_left_ms(CLOCK_NEVER), -1);
}

static void a_far_deadline_fits_poll(void **state)
{
	int left = clock_left_ms(clock_mono_ms() + 60000);

	(void)state;
	assert_in_range(left, 50000, 60000);
	assert_int_equal(clock_left_ms(CLOCK_NEVER - 1), INT_MAX);
}

static void deadlines_do_not_run_backwards(void **state)
{
	int64_t last = clock_mono_ms();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t now = clock_mono_ms();

		assert_true(now >= last);
		last = now;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_stamp_is_utc_with_milliseconds),
	    cmocka_unit_test(a_time_before_1970_keeps_the_form),
	    cmocka_unit_test(any_number_gives_a_stamp_of_the_same_length),
	    cmocka_unit_test(a_passed_deadline_leaves_nothing),
	    cmocka_unit_test(no_deadline_waits_for_ever),
	    cmocka_unit_test(a_far_deadline_fits_poll),
	    cmocka_unit_test(deadlines_do_not_run_backwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fcgi/duration.h"

static void a_number_and_a_unit_is_a_duration(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} good[] = {{"0s", 0},
		    {"1ms", 1},
		    {"90s", 90000},
		    {"10m", 600000},
		    {"2h", 7200000},
		    {"3d", 259200000},
		    {"3650d", 315360000000}};
	int64_t ms;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(duration_parse(good[i].text, &ms));
		assert_int_equal(ms, good[i].ms);
	}
}

static void anything_else_is_not(void **state)
{
	static const char *const bad[] = {
	    "",     "10",    "m",     "-1s",   "1 s",
	    "1.5h", "1h30m", "1S",    "3651d", "99999999999999999999s",
	    " 1s",  "1s ",   "0x10s", "1w",
	};
	int64_t ms;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(duration_parse(bad[i], &ms));
}

static void what_is_shown_is_read_back(void **state)
{
	static const int64_t all[] = {1,      999,     1000,     61000,
				      600000, 5400000, 86400000, 86400001};
	char text[32];
	int64_t ms;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		duration_show(all[i], text, sizeof(text));
		assert_true(duration_parse(text, &ms));
		assert_int_equal(ms, all[i]);
	}
	duration_show(600000, text, sizeof(text));
	assert_string_equal(text, "10m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_number_and_a_unit_is_a_duration),
	    cmocka_unit_test(anything_else_is_not),
	    cmocka_unit_test(what_is_shown_is_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

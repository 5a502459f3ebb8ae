/* file_cond: dates, tags and ranges as RFC 9110 has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fcgi/file_cond.h"

static void a_date_survives_the_trip(void **state)
{
	static const int64_t times[] = {0, 784111777, 1700000000, 4102444800};
	char text[FILE_DATE_LEN];
	int64_t t;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		file_cond_date(times[i], text);
		assert_true(file_cond_time(text, &t));
		assert_int_equal(t, times[i]);
	}
	file_cond_date(784111777, text);
	assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
	file_cond_date(INT64_MAX, text);
	file_cond_date(-5, text);
	assert_string_equal(text, "Thu, 01 Jan 1970 00:00:00 GMT");
}

static void what_is_no_date_is_none(void **state)
{
	static const char *const bad[] = {
	    "", "now", "Sun, 06 Nov 1994 08:49:37", "1994-11-06T08:49:37Z",
	    "Sun, 06 Nov 1994 08:49:37 GMT and more"};
	int64_t t;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(file_cond_time(bad[i], &t));
}

static void a_tag_is_found_in_a_list(void **state)
{
	(void)state;
	assert_true(file_cond_listed("\"a\"", "\"a\"", false));
	assert_true(file_cond_listed("\"x\", \"a\"", "\"a\"", false));
	assert_true(file_cond_listed("\"x\" ,\t\"a\",", "\"a\"", false));
	assert_true(file_cond_listed(" *", "\"a\"", false));
	assert_true(file_cond_listed("W/\"a\"", "\"a\"", true));
	assert_false(file_cond_listed("W/\"a\"", "\"a\"", false));
	assert_false(file_cond_listed("\"ab\"", "\"a\"", true));
	assert_false(file_cond_listed("a", "\"a\"", true));
	assert_false(file_cond_listed("\"a", "\"a\"", true));
	assert_false(file_cond_listed("", "\"a\"", true));
}

struct range_case {
	const char *text;
	uint64_t size;
	enum file_range want;
	uint64_t at, n;
};

static void a_range_is_within_the_file_or_none(void **state)
{
	static const struct range_case cases[] = {
	    {"bytes=0-0", 10, FILE_RANGE_PART, 0, 1},
	    {"bytes=0-", 10, FILE_RANGE_PART, 0, 10},
	    {"bytes=3-5", 10, FILE_RANGE_PART, 3, 3},
	    {"bytes=9-", 10, FILE_RANGE_PART, 9, 1},
	    {"bytes=-4", 10, FILE_RANGE_PART, 6, 4},
	    {"bytes=-40", 10, FILE_RANGE_PART, 0, 10},
	    {"bytes=5-18446744073709551616", 10, FILE_RANGE_PART, 5, 5},
	    {"bytes=10-", 10, FILE_RANGE_NONE, 0, 0},
	    {"bytes=99999999999999999999999-", 10, FILE_RANGE_NONE, 0, 0},
	    {"bytes=-0", 10, FILE_RANGE_NONE, 0, 0},
	    {"bytes=0-", 0, FILE_RANGE_NONE, 0, 0},
	    {"bytes=-1", 0, FILE_RANGE_NONE, 0, 0},
	    {"bytes=5-4", 10, FILE_RANGE_ALL, 0, 0},
	    {"bytes=1-2,4-5", 10, FILE_RANGE_ALL, 0, 0},
	    {"bytes=", 10, FILE_RANGE_ALL, 0, 0},
	    {"bytes=-", 10, FILE_RANGE_ALL, 0, 0},
	    {"bytes=--1", 10, FILE_RANGE_ALL, 0, 0},
	    {"items=0-1", 10, FILE_RANGE_ALL, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct range_case *c = &cases[i];
		uint64_t at = 0, n = 0;

		assert_int_equal(file_cond_bytes(c->text, c->size, &at, &n),
				 c->want);
		assert_int_equal(at, c->at);
		assert_int_equal(n, c->n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_date_survives_the_trip),
	    cmocka_unit_test(what_is_no_date_is_none),
	    cmocka_unit_test(a_tag_is_found_in_a_list),
	    cmocka_unit_test(a_range_is_within_the_file_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

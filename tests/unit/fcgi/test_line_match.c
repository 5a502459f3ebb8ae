/* What waits look for: lines, signals' names, argv as a command. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "base/own.h"
#include "fcgi/launch.h"
#include "fcgi/line_match.h"
#include "fcgi/signal_name.h"

static bool finds(const char *pattern, const char *flags, const char *line)
{
	OWN(line_match_free) struct line_match m = {0};
	struct errinfo e;
	char why[160];
	bool found = false;

	assert_int_equal(
	    line_match_regex(&m, pattern, flags, why, sizeof(why), &e),
	    ERR_NONE);
	assert_int_equal(line_match_find(&m, line, strlen(line), &found, &e),
			 ERR_NONE);
	return found;
}

static void patterns_mean_what_they_mean_in_javascript(void **state)
{
	(void)state;
	assert_true(finds("ready on (\\d+)", "", "ready on 8080"));
	assert_false(finds("READY", "", "ready"));
	assert_true(finds("READY", "i", "ready"));
	assert_true(finds("^a.c$", "s", "a\nc"));
	assert_true(finds("(?<=port )\\d+(?!x)", "g", "port 80"));
	assert_true(finds("(?<name>a)\\k<name>", "", "aa"));
	assert_true(finds("^\\u00e9\\u{1F600}$", "u", "é😀"));
	assert_true(finds("[]|^$", "", ""));
	assert_true(finds("x", "", "\xff\xfe x"));
}

static void groups_are_told_and_those_that_took_no_part(void **state)
{
	OWN(line_match_free) struct line_match m = {0};
	const char line[] = "port 8080";
	struct errinfo e;
	size_t from, to;
	char why[160];
	bool found;

	(void)state;
	assert_int_equal(
	    line_match_regex(&m, "port (\\d+)(x)?", "", why, sizeof(why), &e),
	    ERR_NONE);
	assert_int_equal(line_match_find(&m, line, strlen(line), &found, &e),
			 ERR_NONE);
	assert_true(line_match_group(&m, 1, &from, &to));
	assert_int_equal(from, 5);
	assert_int_equal(to, 9);
	assert_true(line_match_group(&m, 2, &from, &to));
	assert_true(from == SIZE_MAX);
	assert_false(line_match_group(&m, 3, &from, &to));
}

static void bad_patterns_are_refused_with_a_reason(void **state)
{
	static const char *const bad[][2] = {
	    {"(", ""}, {"a", "q"}, {"[a", ""}, {"a{3,1}", ""}, {"\\C", ""}};
	OWN(buf_free) struct buf b = BUF_INIT(LINE_PATTERN_MAX + 10);
	struct line_match m;
	struct errinfo e;
	char why[160];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(line_match_regex(&m, bad[i][0], bad[i][1], why,
						  sizeof(why), &e),
				 ERR_ARG);
		assert_true(strlen(why) > 5);
	}
	for (int i = 0; i <= LINE_PATTERN_MAX; i++)
		buf_addc(&b, 'a');
	assert_int_equal(
	    line_match_regex(&m, buf_str(&b), "", why, sizeof(why), &e),
	    ERR_ARG);
}

static void a_pattern_that_takes_too_long_is_an_error(void **state)
{
	OWN(line_match_free) struct line_match m = {0};
	char line[4096], why[160];
	struct errinfo e;
	bool found;

	(void)state;
	memset(line, 'a', sizeof(line));
	assert_int_equal(
	    line_match_regex(&m, "^(a|aa)+$|(a*)*b", "", why, sizeof(why), &e),
	    ERR_NONE);
	line[sizeof(line) - 1] = 'c';
	assert_int_equal(line_match_find(&m, line, sizeof(line), &found, &e),
			 ERR_LIMIT);
}

static void signals_have_names_and_numbers(void **state)
{
	(void)state;
	assert_int_equal(signal_name("TERM"), SIGTERM);
	assert_int_equal(signal_name("SIGTERM"), SIGTERM);
	assert_int_equal(signal_name("sigusr1"), SIGUSR1);
	assert_int_equal(signal_name("9"), SIGKILL);
	assert_int_equal(signal_name("0"), 0);
	assert_int_equal(signal_name("SIG"), 0);
	assert_int_equal(signal_name("09"), 0);
	assert_int_equal(signal_name("999"), 0);
	assert_int_equal(signal_name(""), 0);
}

static void argv_in_quotes_is_argv(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct json_object *v = json_tokener_parse(
	    "[\"a b\", \"\", \"it's\", \"$x\\n\"]");

	(void)state;
	launch_quoted(v, &b);
	json_object_put(v);
	assert_string_equal(buf_str(&b), "(builtin exec -- 'a b' '' "
					 "'it'\\''s' '$x\n')");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(patterns_mean_what_they_mean_in_javascript),
	    cmocka_unit_test(groups_are_told_and_those_that_took_no_part),
	    cmocka_unit_test(bad_patterns_are_refused_with_a_reason),
	    cmocka_unit_test(a_pattern_that_takes_too_long_is_an_error),
	    cmocka_unit_test(signals_have_names_and_numbers),
	    cmocka_unit_test(argv_in_quotes_is_argv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

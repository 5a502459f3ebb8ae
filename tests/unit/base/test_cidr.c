/* cidr: only whole ranges of IPv4; lists that are joined and cut. */
#include "tests/unit/base/unit.h"

#include <string.h>

#include "base/cidr.h"

static bool parsed(const char *text, struct cidr *c)
{
	return cidr_parse(text, strlen(text), c);
}

static void a_range_is_read_and_written(void **state)
{
	struct cidr_list l;
	char text[CIDR_LIST_TEXT_MAX + 1];

	(void)state;
	assert_int_equal(
	    cidr_list_parse("10.0.0.0/8, 192.0.2.7 0.0.0.0/0", &l, NULL),
	    ERR_NONE);
	cidr_list_text(&l, text);
	assert_string_equal(text, "10.0.0.0/8 192.0.2.7/32 0.0.0.0/0");
	assert_int_equal(cidr_list_parse("", &l, NULL), ERR_NONE);
	assert_int_equal(l.n, 0);
	cidr_list_text(&l, text);
	assert_string_equal(text, "");
}

static void what_is_no_range_is_refused(void **state)
{
	static const char *const bad[] = {
	    "",           "10",           "10.0.0.0/33", "10.0.0.0/",
	    "10.0.0.1/8", "10.0.0.0/08",  "10.0.0.0/-1", "::1",
	    "a.b.c.d",    "10.0.0.0/8/8", "256.0.0.0/8", "10.0.0.0/8 ",
	    "10.0.0.0/+8"};
	struct cidr c;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parsed(bad[i], &c))
			fail_msg("%s", bad[i]);
}

static void a_range_is_within_a_wider_one(void **state)
{
	struct cidr a, b, all;

	(void)state;
	assert_true(parsed("10.1.0.0/16", &a));
	assert_true(parsed("10.0.0.0/8", &b));
	assert_true(parsed("0.0.0.0/0", &all));
	assert_true(cidr_within(&a, &b));
	assert_true(cidr_within(&a, &a));
	assert_true(cidr_within(&b, &all));
	assert_false(cidr_within(&b, &a));
	assert_false(cidr_within(&all, &b));
}

static void lists_meet_in_the_narrower_ranges(void **state)
{
	struct cidr_list a, b, out;
	char text[CIDR_LIST_TEXT_MAX + 1];

	(void)state;
	assert_int_equal(cidr_list_parse("10.1.0.0/16 8.0.0.0/8", &a, NULL),
			 ERR_NONE);
	assert_int_equal(cidr_list_parse("10.0.0.0/8 8.8.8.8", &b, NULL),
			 ERR_NONE);
	assert_true(cidr_list_meet(&a, &b, &out));
	cidr_list_text(&out, text);
	assert_string_equal(text, "10.1.0.0/16 8.8.8.8/32");
	assert_true(cidr_list_within(&out, &a));
	assert_true(cidr_list_within(&out, &b));
	assert_false(cidr_list_within(&a, &b));
}

static void a_list_has_each_once_and_not_too_many(void **state)
{
	struct cidr_list l = {.n = 0};
	struct cidr c = {.addr = 1, .prefix = 32};

	(void)state;
	assert_true(cidr_list_add(&l, &c));
	assert_true(cidr_list_add(&l, &c));
	assert_int_equal(l.n, 1);
	while (l.n < CIDR_LIST_MAX) {
		c.addr++;
		assert_true(cidr_list_add(&l, &c));
	}
	c.addr++;
	assert_false(cidr_list_add(&l, &c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_range_is_read_and_written),
	    cmocka_unit_test(what_is_no_range_is_refused),
	    cmocka_unit_test(a_range_is_within_a_wider_one),
	    cmocka_unit_test(lists_meet_in_the_narrower_ranges),
	    cmocka_unit_test(a_list_has_each_once_and_not_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

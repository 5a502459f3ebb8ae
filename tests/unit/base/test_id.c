/* id: the forms of what we name, and what may name an execution. */
#include "tests/unit/base/unit.h"

#include <string.h>

#include "base/clock.h"
#include "base/id.h"

static void a_sandbox_id_has_its_form(void **state)
{
	id_sandbox_t a, b;

	(void)state;
	for (int i = 0; i < 200; i++) {
		id_sandbox(a);
		id_sandbox(b);
		assert_true(id_sandbox_ok(a));
		assert_memory_equal(a, "s00000", 6);
		assert_string_not_equal(a, b);
	}
}

static void other_forms_are_no_sandbox_ids(void **state)
{
	static const char *const bad[] = {
	    "",
	    "s",
	    "s000000123456789abcde",   /* one too few */
	    "s000000123456789abcdefg", /* one too many */
	    "t000000123456789abcdef",
	    "s000000123456789abcdeF",
	    "s00000012345678/abcdef",
	    "s00000012345678.abcdef",
	    "s000000123456789abcdel", /* a look-alike */
	    "../../../../etc/passwd",
	};

	(void)state;
	assert_true(id_sandbox_ok("s000000123456789abcdef"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(id_sandbox_ok(bad[i]));
}

static void a_token_is_sixteen_lower_case_characters(void **state)
{
	char a[ID_TOKEN_LEN + 1], b[ID_TOKEN_LEN + 1];

	(void)state;
	id_token(a);
	id_token(b);
	assert_int_equal(strlen(a), ID_TOKEN_LEN);
	assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyz0123456789"),
			 ID_TOKEN_LEN);
	assert_string_not_equal(a, b);
}

static void a_uuid_is_of_version_four(void **state)
{
	id_text_t a, b;

	(void)state;
	for (int i = 0; i < 100; i++) {
		id_uuid(a);
		id_uuid(b);
		assert_string_not_equal(a, b);
		assert_int_equal(strlen(a), 36);
		assert_int_equal(strspn(a, "0123456789abcdef-"), 36);
		assert_int_equal(a[8], '-');
		assert_int_equal(a[13], '-');
		assert_int_equal(a[14], '4');
		assert_int_equal(a[18], '-');
		assert_non_null(strchr("89ab", a[19]));
		assert_int_equal(a[23], '-');
		assert_true(id_text_ok(a));
	}
}

static void a_stamped_id_tells_its_kind_and_time(void **state)
{
	int64_t before = clock_unix_ms();
	char *end;
	id_text_t id;

	(void)state;
	id_stamped("run", id);
	assert_memory_equal(id, "run_", 4);
	assert_in_range((uintmax_t)strtoll(id + 4, &end, 10), before,
			clock_unix_ms());
	assert_int_equal(*end, '_');
	assert_int_equal(strlen(end), 11);
	assert_true(id_text_ok(id));
}

static void a_name_of_an_execution_is_no_path_and_no_option(void **state)
{
	static const char *const bad[] = {
	    "",    ".",   "..",   ".hid", "-rf",      "a/b",
	    "a b", "a\n", "\x7f", "a:b",  "\xc3\xa4", "a%2f",
	};
	char longest[ID_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(id_text_ok(bad[i]));
	assert_true(id_text_ok("a"));
	assert_true(id_text_ok("A-b_c.9"));
	memset(longest, 'x', sizeof(longest));
	longest[ID_MAX + 1] = '\0';
	assert_false(id_text_ok(longest));
	longest[ID_MAX] = '\0';
	assert_true(id_text_ok(longest));
}

static int prepare(void **state)
{
	(void)state;
	id_init();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_sandbox_id_has_its_form),
	    cmocka_unit_test(other_forms_are_no_sandbox_ids),
	    cmocka_unit_test(a_token_is_sixteen_lower_case_characters),
	    cmocka_unit_test(a_uuid_is_of_version_four),
	    cmocka_unit_test(a_stamped_id_tells_its_kind_and_time),
	    cmocka_unit_test(a_name_of_an_execution_is_no_path_and_no_option),
	};

	return cmocka_run_group_tests(tests, prepare, NULL);
}

/* check: lists of checks, written by one program and read by another. */
#include "tests/unit/base/unit.h"

#include <string.h>

#include "base/check.h"

static struct check_list list, back;

static void write_and_read(void)
{
	struct errinfo e;
	FILE *f = tmpfile();

	assert_non_null(f);
	check_write(&list, f);
	rewind(f);
	back = (struct check_list){.n = 0};
	assert_int_equal(check_read(&back, f, &e), ERR_NONE);
	fclose(f);
}

static void what_is_written_is_read(void **state)
{
	(void)state;
	list = (struct check_list){.n = 0};
	check_add(&list, CHECK_OK, "kernel", "", "Linux %d", 6);
	check_add(&list, CHECK_WARN, "clock", "set it", "%s", "");
	check_add(&list, CHECK_MISSING, "user", "add it", "none");
	write_and_read();
	assert_int_equal(back.n, 3);
	assert_memory_equal(back.at, list.at, sizeof(back.at[0]) * 3);
	assert_int_equal(check_count(&back, CHECK_OK), 1);
	assert_int_equal(check_count(&back, CHECK_MISSING), 1);
}

static void a_text_stays_on_its_line(void **state)
{
	(void)state;
	list = (struct check_list){.n = 0};
	check_add(&list, CHECK_WARN, "a\tb", "c\nd", "e\x1b\x7f%s", "\r");
	assert_string_equal(list.at[0].name, "a?b");
	assert_string_equal(list.at[0].fix, "c?d");
	assert_string_equal(list.at[0].text, "e???");
	write_and_read();
	assert_memory_equal(back.at, list.at, sizeof(back.at[0]));
}

static void the_longest_texts_are_cut_and_read_back(void **state)
{
	char text[600];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	list = (struct check_list){.n = 0};
	check_add(&list, CHECK_MISSING, text, text, "%s", text);
	assert_int_equal(strlen(list.at[0].name), CHECK_NAME_MAX);
	assert_int_equal(strlen(list.at[0].text), CHECK_TEXT_MAX);
	write_and_read();
	assert_memory_equal(back.at, list.at, sizeof(back.at[0]));
}

static void what_is_in_order_needs_no_remedy(void **state)
{
	(void)state;
	list = (struct check_list){.n = 0};
	check_add(&list, CHECK_OK, "user", "add it", "is there");
	assert_string_equal(list.at[0].fix, "");
}

static void other_lines_are_refused(void **state)
{
	static const char *const lines[] = {
	    "\n",
	    "ok\n",
	    "ok\ta\n",
	    "ok\ta\tb\n",
	    "fine\ta\tb\tc\n",
	    "ok\ta\tb\tc\td\n",
	    "ok\ta\tb\tc",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct errinfo e;
		FILE *f = tmpfile();

		assert_non_null(f);
		fputs(lines[i], f);
		rewind(f);
		back = (struct check_list){.n = 0};
		assert_int_equal(check_read(&back, f, &e), ERR_PEER);
		fclose(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_written_is_read),
	    cmocka_unit_test(a_text_stays_on_its_line),
	    cmocka_unit_test(the_longest_texts_are_cut_and_read_back),
	    cmocka_unit_test(what_is_in_order_needs_no_remedy),
	    cmocka_unit_test(other_lines_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

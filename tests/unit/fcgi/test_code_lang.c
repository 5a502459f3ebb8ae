/* code_lang: names and aliases of sandbox/kernels.def. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/code_lang.h"

static void names_and_aliases_of_the_wire_are_known(void **state)
{
	static const char *const known[][2] = {
	    {"python", "python"},         {"python3", "python"},
	    {"javascript", "javascript"}, {"js", "javascript"},
	    {"node", "javascript"},       {"typescript", "typescript"},
	    {"ts", "typescript"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct code_lang *l = code_lang_find(known[i][0]);

		assert_non_null(l);
		assert_string_equal(l->name, known[i][1]);
	}
}

static void every_language_has_a_program(void **state)
{
	(void)state;
	assert_int_equal(code_lang_find("python")->argv[0][0], '/');
	for (uint32_t i = 0; i < code_lang_find("ts")->argc; i++)
		assert_non_null(code_lang_find("ts")->argv[i]);
	assert_null(code_lang_find("ts")->argv[code_lang_find("ts")->argc]);
}

static void parts_of_names_are_unknown(void **state)
{
	static const char *const unknown[] = {
	    "", ",", "js,node", "pyth", "Python", "python ", "nod", "s", "ruby",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_null(code_lang_find(unknown[i]));
}

static void all_names_are_told_to_people(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);

	(void)state;
	code_lang_names(&b);
	assert_non_null(strstr(buf_str(&b), "python"));
	assert_non_null(strstr(buf_str(&b), "javascript (js, node)"));
	assert_non_null(strstr(buf_str(&b), "typescript (ts)"));
	assert_non_null(strstr(buf_str(&b), "bash (sh, shell)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_and_aliases_of_the_wire_are_known),
	    cmocka_unit_test(every_language_has_a_program),
	    cmocka_unit_test(parts_of_names_are_unknown),
	    cmocka_unit_test(all_names_are_told_to_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

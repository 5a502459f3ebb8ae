#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fcgi/backup_xml.h"

static size_t text(const char *s, char out[16])
{
	memcpy(out, "untouched", 10);
	return backup_xml_text(s, strlen(s), "Id", out, 16);
}

static void an_elements_text_is_found_and_the_next_ones(void **state)
{
	static const char s[] = "<A xmlns='x'><Idle>no</Idle><Id>a-1</Id>"
				"<Id\nk='v'>b</Id></A>";
	char out[16];
	size_t used = text(s, out);

	(void)state;
	assert_int_equal(used, strstr(s, "<Id\n") - s);
	assert_string_equal(out, "a-1");
	assert_int_equal(text(s + used, out), strlen(s) - used - 4);
	assert_string_equal(out, "b");
	assert_int_equal(text("</A>", out), 0);
}

static void what_is_not_whole_or_plain_is_none(void **state)
{
	static const char *const bad[] = {
	    "",
	    "<Id",
	    "<Id>",
	    "<Id>a",
	    "<Id>a<",
	    "<Id>a</",
	    "<Id>a</Id",
	    "<Id>a</Ie>",
	    "<Id></Id>",
	    "<Id/>",
	    "<Id >a&amp;b</Id>",
	    "<Id>a b</Id>",
	    "<Id>a\nb</Id>",
	    "<Id><x/></Id>",
	    "<Id>0123456789abcdef</Id>",
	    "<id>a</id>",
	};
	char out[16];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(text(bad[i], out), 0);
		assert_string_equal(out, "untouched");
	}
	assert_int_not_equal(text("<Id>0123456789abcde</Id>", out), 0);
}

static void nothing_is_read_beyond_its_end(void **state)
{
	static const char s[] = "<Id>a</Id>";
	char out[16];

	(void)state;
	for (size_t n = 0; n + 1 < sizeof(s) - 1; n++)
		assert_int_equal(backup_xml_text(s, n, "Id", out, 16), 0);
	assert_true(backup_xml_has(s, 5, "Id"));
	assert_false(backup_xml_has(s, 3, "Id"));
	assert_false(backup_xml_has("<Error/>", 8, "Id"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_elements_text_is_found_and_the_next_ones),
	    cmocka_unit_test(what_is_not_whole_or_plain_is_none),
	    cmocka_unit_test(nothing_is_read_beyond_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* file_mime: what a file is told to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fcgi/file_mime.h"

static const char *type_of(const char *path, const char *p, size_t n)
{
	return file_mime_type(path, p, n, file_mime_text(p, n, true));
}

static void content_counts_more_than_the_name(void **state)
{
	static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

	(void)state;
	assert_string_equal(type_of("a.png", png, sizeof(png)), "image/png");
	assert_string_equal(type_of("a.txt", png, sizeof(png)), "image/png");
	assert_string_equal(type_of("a", png, sizeof(png)), "image/png");
	assert_string_equal(type_of("a.png", "hello", 5), "text/plain");
	assert_string_equal(type_of("a.json", "\0\1\2", 3),
			    "application/octet-stream");
}

static void names_tell_texts_apart(void **state)
{
	(void)state;
	assert_string_equal(type_of("x/a.JSON", "{}", 2), "application/json");
	assert_string_equal(type_of("a.b.py", "x", 1), "text/x-python");
	assert_string_equal(type_of("d.py/noext", "x", 1), "text/plain");
	assert_string_equal(type_of("a.svg", "<svg/>", 6), "image/svg+xml");
	assert_string_equal(type_of("Makefile", "x", 1), "text/plain");
	assert_string_equal(type_of("empty.png", "", 0), "image/png");
	assert_string_equal(type_of("empty", "", 0), "text/plain");
}

static void svg_and_json_are_text_png_is_not(void **state)
{
	(void)state;
	assert_false(file_mime_binary("image/svg+xml"));
	assert_false(file_mime_binary("application/json"));
	assert_true(file_mime_binary("image/png"));
	assert_true(file_mime_binary("application/octet-stream"));
}

static void text_is_valid_utf8_without_nul(void **state)
{
	(void)state;
	assert_true(file_mime_text("h\xc3\xa9", 3, true));
	assert_false(file_mime_text("h\xc3", 2, true));
	assert_false(file_mime_text("a\0b", 3, true));
	assert_false(file_mime_text("\xff\xfe", 2, true));
	assert_true(file_mime_text("", 0, true));
}

static void a_character_may_be_cut_at_the_end_of_a_part(void **state)
{
	(void)state;
	assert_true(file_mime_text("h\xc3", 2, false));
	assert_true(file_mime_text("h\xf0\x9f\x98", 4, false));
	assert_false(file_mime_text("h\xf0\x9f\x98z", 5, false));
	assert_false(file_mime_text("h\x80", 2, false));
	assert_false(file_mime_text("\xff", 1, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(content_counts_more_than_the_name),
	    cmocka_unit_test(names_tell_texts_apart),
	    cmocka_unit_test(svg_and_json_are_text_png_is_not),
	    cmocka_unit_test(text_is_valid_utf8_without_nul),
	    cmocka_unit_test(a_character_may_be_cut_at_the_end_of_a_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

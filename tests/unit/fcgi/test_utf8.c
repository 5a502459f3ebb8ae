#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "fcgi/utf8.h"

#define BAD "\xef\xbf\xbd"

static const struct pair {
	const char *in;
	const char *out;
} pairs[] = {
    {"", ""},
    {"plain\n", "plain\n"},
    {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
     "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"a\xff"
     "b",
     "a" BAD "b"},
    {"\xc0\x80", BAD BAD},
    {"\xe0\x80\x80", BAD BAD BAD},
    {"\xed\xa0\x80", BAD BAD BAD},
    {"\xf4\x90\x80\x80", BAD BAD BAD BAD},
    {"\xf5\x80", BAD BAD},
    {"\xe2\x82", BAD},
    {"\xe2\x82"
     "A",
     BAD "A"},
    {"\xf0\x9f\x98", BAD},
    {"\xf0\x9f\x98\xc3\xa9", BAD "\xc3\xa9"},
    {"\xc3\xc3\xa9", BAD "\xc3\xa9"},
    {"\x80"
     "a\x80",
     BAD "a" BAD},
};

#define PAIRS (sizeof(pairs) / sizeof(pairs[0]))

static void bad_bytes_become_one_replacement_each(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAIRS; i++) {
		OWN(buf_free) struct buf b = BUF_INIT(1000);
		struct utf8 u = {0};

		utf8_decode(&u, pairs[i].in, strlen(pairs[i].in), &b);
		utf8_end(&u, &b);
		assert_string_equal(buf_str(&b), pairs[i].out);
		assert_true(utf8_ok(buf_str(&b), b.len));
	}
}

/* Wherever the stream is cut in three, the text is the same. */
static void characters_split_over_reads_are_joined(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAIRS; i++) {
		const char *in = pairs[i].in;
		size_t n = strlen(in);

		for (size_t a = 0; a <= n; a++) {
			for (size_t c = a; c <= n; c++) {
				OWN(buf_free) struct buf b = BUF_INIT(1000);
				struct utf8 u = {0};

				utf8_decode(&u, in, a, &b);
				utf8_decode(&u, in + a, c - a, &b);
				utf8_decode(&u, in + c, n - c, &b);
				utf8_end(&u, &b);
				assert_string_equal(buf_str(&b), pairs[i].out);
			}
		}
	}
}

static void what_is_cut_waits_for_its_rest(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(100);
	struct utf8 u = {0};

	(void)state;
	utf8_decode(&u, "a\xe2\x82", 3, &b);
	assert_string_equal(buf_str(&b), "a");
	utf8_decode(&u, "\xac", 1, &b);
	assert_string_equal(buf_str(&b), "a\xe2\x82\xac");
}

static void ok_says_what_is_valid(void **state)
{
	(void)state;
	assert_true(utf8_ok("", 0));
	assert_true(utf8_ok("a\0b", 3));
	assert_true(utf8_ok("0123456789abcdef\xc3\xa9", 18));
	assert_false(utf8_ok("0123456789abcdef\xc3", 17));
	assert_false(utf8_ok("\xed\xa0\x80", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bad_bytes_become_one_replacement_each),
	    cmocka_unit_test(characters_split_over_reads_are_joined),
	    cmocka_unit_test(what_is_cut_waits_for_its_rest),
	    cmocka_unit_test(ok_says_what_is_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "fcgi/json_out.h"
#include "fcgi/json_part.h"

#define MAX 100000

/* Bytes with all that needs care: quotes, control bytes, whole, cut and bad
 * characters; ends in the midst of one. */
static const char bytes[] = "a\"\\\n\x01\x7f h\xc3\xa4 \xf0\x9f\x98\x80 \xff"
			    "\xe2\x82\xac\xe2\x82 \xc0\x80 z\0 \xf0\x9f\x98";
#define BYTES (sizeof(bytes) - 1)

static void part_whole(bool base64, struct json_out *o)
{
	json_out_object(o, NULL);
	if (base64)
		json_out_base64(o, "t", bytes, BYTES);
	else
		json_out_textn(o, "t", bytes, BYTES);
	json_out_end(o);
	assert_true(json_out_ok(o));
}

/* In three pieces, cut at ${a} and ${b}. */
static void part_cut(bool base64, size_t a, size_t b)
{
	OWN(json_out_free) struct json_out want = JSON_OUT_INIT(MAX);
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(MAX);
	OWN(json_part_free) struct json_part t = JSON_PART_INIT(MAX, base64);
	OWN(buf_free) struct buf all = BUF_INIT(MAX);
	size_t at;

	part_whole(base64, &want);
	json_part_add(&t, bytes, a);
	json_part_add(&t, bytes + a, b - a);
	json_part_add(&t, bytes + b, BYTES - b);
	json_part_end(&t);
	assert_true(buf_ok(&t.b));
	json_out_object(&o, NULL);
	at = json_out_empty(&o, "t");
	json_out_end(&o);
	assert_true(json_out_ok(&o));
	buf_add(&all, o.b.data, at);
	buf_add(&all, buf_str(&t.b), t.b.len);
	buf_add(&all, o.b.data + at, o.b.len - at);
	assert_string_equal(buf_str(&all), buf_str(&want.b));
}

static void pieces_make_the_text_that_the_whole_makes(void **state)
{
	(void)state;
	for (int base64 = 0; base64 < 2; base64++)
		for (size_t a = 0; a <= BYTES; a++)
			for (size_t b = a; b <= BYTES; b++)
				part_cut(base64 != 0, a, b);
}

static void nothing_is_an_empty_text(void **state)
{
	(void)state;
	for (int base64 = 0; base64 < 2; base64++) {
		OWN(json_part_free)
		struct json_part t = JSON_PART_INIT(MAX, base64 != 0);

		json_part_add(&t, "", 0);
		json_part_end(&t);
		assert_true(buf_ok(&t.b));
		assert_int_equal(t.b.len, 0);
	}
}

static void what_is_too_large_is_a_failure(void **state)
{
	(void)state;
	for (int base64 = 0; base64 < 2; base64++) {
		OWN(json_part_free)
		struct json_part t = JSON_PART_INIT(10, base64 != 0);

		for (int i = 0; i < 10; i++)
			json_part_add(&t, "\x01\xff", 2);
		json_part_end(&t);
		assert_false(buf_ok(&t.b));
		assert_true(t.b.len <= 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pieces_make_the_text_that_the_whole_makes),
	    cmocka_unit_test(nothing_is_an_empty_text),
	    cmocka_unit_test(what_is_too_large_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

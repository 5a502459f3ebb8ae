#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "base/own.h"
#include "fcgi/json_in.h"
#include "fcgi/json_out.h"
#include "fcgi/utf8.h"

static void objects_and_arrays_nest(void **state)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(1000);

	(void)state;
	json_out_object(&o, NULL);
	json_out_int(&o, "i", INT64_MIN);
	json_out_array(&o, "a");
	json_out_bool(&o, NULL, true);
	json_out_null(&o, NULL);
	json_out_object(&o, NULL);
	json_out_end(&o);
	json_out_end(&o);
	json_out_text(&o, "t", "x");
	assert_false(json_out_ok(&o));
	json_out_end(&o);
	assert_true(json_out_ok(&o));
	assert_string_equal(buf_str(&o.b), "{\"i\":-9223372036854775808,"
					   "\"a\":[true,null,{}],\"t\":\"x\"}");
}

static void every_byte_gives_valid_json(void **state)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(10000);
	OWN(json_in_free) struct json_in in = {0};
	struct errinfo e;
	char all[512];

	(void)state;
	for (int i = 0; i < 512; i++)
		all[i] = (char)i;
	json_out_object(&o, NULL);
	json_out_textn(&o, "a", all, sizeof(all));
	json_out_end(&o);
	assert_true(json_out_ok(&o));
	assert_true(utf8_ok(o.b.data, o.b.len));
	assert_int_equal(json_in_parse(&in, o.b.data, o.b.len, &e), ERR_NONE);
}

/* Every two bytes of one, at each place of a text that is read by eights. */
static void every_byte_is_escaped_wherever_it_stands(void **state)
{
	(void)state;
	for (int c = 0; c < 0x80; c++)
		for (size_t at = 0; at < 19; at++) {
			OWN(json_out_free)
			struct json_out o = JSON_OUT_INIT(1000);
			OWN(json_in_free) struct json_in in = {0};
			struct errinfo e;
			char text[20];

			memset(text, 'x', sizeof(text));
			text[at] = text[at + 1] = (char)c;
			json_out_object(&o, NULL);
			json_out_textn(&o, "a", text, sizeof(text));
			json_out_end(&o);
			assert_true(json_out_ok(&o));
			for (size_t i = 0; i < o.b.len; i++)
				assert_in_range(o.b.data[i], 0x20, 0x7e);
			assert_int_equal(
			    json_in_parse(&in, o.b.data, o.b.len, &e),
			    ERR_NONE);
			assert_memory_equal(
			    json_object_get_string(
				json_object_object_get(in.root, "a")),
			    text, sizeof(text));
		}
}

static void base64_has_the_exact_bytes(void **state)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(1000);

	(void)state;
	json_out_array(&o, NULL);
	json_out_base64(&o, NULL, "\xff\0\x01", 3);
	json_out_base64(&o, NULL, "", 0);
	json_out_base64(&o, NULL, "a", 1);
	json_out_end(&o);
	assert_string_equal(buf_str(&o.b), "[\"/wAB\",\"\",\"YQ==\"]");
}

static void a_value_is_written_anew(void **state)
{
	static const char json[] = "{\"a\":[1,-2.5,\"\\u0000\",null,false],"
				   "\"b\":{\"c\":1e300}}";
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(1000);
	OWN(json_in_free) struct json_in in = {0};
	struct errinfo e;

	(void)state;
	assert_int_equal(json_in_parse(&in, json, strlen(json), &e), ERR_NONE);
	json_out_value(&o, NULL, in.root);
	assert_true(json_out_ok(&o));
	assert_non_null(strstr(buf_str(&o.b), "\"a\":[1,-2.5,\"\\u0000\","
					      "null,false]"));
}

static void a_time_is_iso_with_milliseconds(void **state)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(1000);

	(void)state;
	json_out_time(&o, NULL, 1700000000123);
	assert_string_equal(buf_str(&o.b), "\"2023-11-14T22:13:20.123Z\"");
}

static void beyond_the_maximum_nothing_is_ok(void **state)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(8);

	(void)state;
	json_out_object(&o, NULL);
	json_out_text(&o, "k", "0123456789");
	json_out_end(&o);
	assert_false(json_out_ok(&o));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(objects_and_arrays_nest),
	    cmocka_unit_test(every_byte_gives_valid_json),
	    cmocka_unit_test(every_byte_is_escaped_wherever_it_stands),
	    cmocka_unit_test(base64_has_the_exact_bytes),
	    cmocka_unit_test(a_value_is_written_anew),
	    cmocka_unit_test(a_time_is_iso_with_milliseconds),
	    cmocka_unit_test(beyond_the_maximum_nothing_is_ok),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

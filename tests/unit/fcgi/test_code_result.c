/* code_result: a kernel's JSON is written anew in the wire's shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <json-c/json.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/code_result.h"

/* The event's members as the wire has them; the caller frees. */
static char *told(const char *json)
{
	OWN(code_result_free) struct code_result r = {0};
	OWN(json_out_free) struct json_out o;
	struct errinfo e = {0};

	json_out_init(&o, 1 << 20);
	assert_int_equal(
	    code_result_read(&r, EVENT_RESULT, json, strlen(json), &e),
	    ERR_NONE);
	json_out_object(&o, NULL);
	code_result_put(&r, &o);
	json_out_end(&o);
	assert_true(json_out_ok(&o));
	return strdup(o.b.data);
}

static void is_told(const char *json, const char *want)
{
	OWN(own_mem) char *got = told(json);

	assert_string_equal(got, want);
}

static void is_refused(enum event_kind kind, const char *json)
{
	OWN(code_result_free) struct code_result r = {0};
	struct errinfo e = {0};

	assert_int_equal(code_result_read(&r, kind, json, strlen(json), &e),
			 ERR_PEER);
}

static void every_mime_type_of_the_wire_has_its_key(void **state)
{
	(void)state;
	is_told("{\"mime\":{\"text/plain\":\"a\",\"text/html\":\"b\","
		"\"text/markdown\":\"c\",\"image/svg+xml\":\"d\","
		"\"image/png\":\"iVBO\",\"image/jpeg\":\"/9g=\","
		"\"application/pdf\":\"JVBERg==\",\"text/latex\":\"e\","
		"\"application/json\":{\"k\":[1,null]},"
		"\"application/javascript\":\"f\"},\"display\":true}",
		"{\"text\":\"a\",\"html\":\"b\",\"markdown\":\"c\","
		"\"svg\":\"d\",\"png\":\"iVBO\",\"jpeg\":\"/9g=\","
		"\"pdf\":\"JVBERg==\",\"latex\":\"e\","
		"\"json\":{\"k\":[1,null]},\"javascript\":\"f\","
		"\"metadata\":{\"display\":true,\"dropped\":[]}}");
}

static void other_types_stand_under_mime(void **state)
{
	(void)state;
	is_told("{\"mime\":{\"text/plain\":\"a\","
		"\"application/vnd.x+json\":{\"k\":1}}}",
		"{\"text\":\"a\",\"mime\":{\"application/vnd.x+json\":"
		"{\"k\":1}},"
		"\"metadata\":{\"display\":false,\"dropped\":[]}}");
}

static void parts_of_a_wrong_form_are_left_out_and_named(void **state)
{
	(void)state;
	is_told("{\"mime\":{\"text/plain\":\"a\",\"text/html\":[\"b\"],"
		"\"image/png\":\"not base64!\",\"image/jpeg\":\"abc\","
		"\"text/latex\":null},\"chart\":[],\"data\":{\"rows\":1}}",
		"{\"text\":\"a\",\"metadata\":{\"display\":false,\"dropped\":"
		"[\"html\",\"png\",\"jpeg\",\"latex\",\"chart\",\"data\"]}}");
}

static void a_chart_and_a_table_pass(void **state)
{
	(void)state;
	is_told("{\"mime\":{},\"chart\":{\"type\":\"line\",\"title\":null,"
		"\"elements\":[{\"label\":\"l\",\"points\":[[0,1.5]]}]},"
		"\"data\":{\"columns\":[\"a\"],\"index\":[0],"
		"\"index_names\":[null],\"rows\":[[7]]}}",
		"{\"chart\":{\"type\":\"line\",\"title\":null,"
		"\"elements\":[{\"label\":\"l\",\"points\":[[0,1.5]]}]},"
		"\"data\":{\"columns\":[\"a\"],\"index\":[0],"
		"\"index_names\":[null],\"rows\":[[7]]},"
		"\"metadata\":{\"display\":false,\"dropped\":[]}}");
}

static void numbers_keep_their_value(void **state)
{
	static const struct {
		const char *in;
		const char *out;
	} cases[] = {
	    {"9223372036854775807", "9223372036854775807"},
	    {"-9223372036854775807", "-9223372036854775807"},
	    {"9223372036854775808", "9.2233720368547758e+18"},
	    {"100000000000000000000", "1e+20"},
	    {"[1,-20000000000000000000,\"30000000000000000000\"]",
	     "[1,-2e+19,\"30000000000000000000\"]"},
	    {"1.2345678901234567890123", "1.2345678901234567"},
	    {"1e300", "1.0000000000000001e+300"},
	    {"1e999", "null"},
	    {"{\"a\\\"1\":20000000000000000000}", "{\"a\\\"1\":2e+19}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		OWN(buf_free) struct buf in = BUF_INIT(1000);
		OWN(own_mem) char *out = NULL;
		OWN(buf_free) struct buf want = BUF_INIT(1000);

		buf_addf(&in, "{\"mime\":{\"application/json\":%s}}",
			 cases[i].in);
		buf_addf(&want,
			 "{\"json\":%s,\"metadata\":{\"display\":false,"
			 "\"dropped\":[]}}",
			 cases[i].out);
		out = told(buf_str(&in));
		assert_string_equal(out, buf_str(&want));
	}
}

static void a_malformed_result_is_refused(void **state)
{
	static const char *const bad[] = {
	    "",
	    "null",
	    "[]",
	    "{",
	    "{}",
	    "{\"mime\":[]}",
	    "{\"mime\":null}",
	    "{\"mime\":{}} trailing",
	    "{\"mime\":{},\"mime\":{}}",
	    "{\"mime\":{\"text/plain\":\"a\",\"text/plain\":\"b\"}}",
	    "{\"mime\":{},\"display\":1}",
	    "{\"mime\":{\"text/plain\":NaN}}",
	    "{\"mime\":{\"text/plain\":'a'}}",
	    "{\"mime\":{\"text/plain\":\"\xff\"}}",
	    "{\"mime\":{\"text/plain\":\"a\nb\"}}",
	    "{\"mime\":{\"a\\u0000b\":1}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_refused(EVENT_RESULT, bad[i]);
}

static void a_result_cut_anywhere_is_refused(void **state)
{
	static const char whole[] =
	    "{\"mime\":{\"text/plain\":\"\\u00e4\",\"application/json\":"
	    "[1.5,true,null,{\"a\":\"b\"}]},\"display\":false}";

	(void)state;
	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		OWN(code_result_free) struct code_result r = {0};
		OWN(own_mem) char *cut = strndup(whole, n);
		struct errinfo e = {0};

		assert_int_equal(code_result_read(&r, EVENT_RESULT, cut, n, &e),
				 ERR_PEER);
	}
}

static void a_result_nested_too_deep_is_refused(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1 << 20);

	(void)state;
	buf_adds(&b, "{\"mime\":{\"application/json\":");
	for (int i = 0; i < 100000; i++)
		buf_addc(&b, '[');
	is_refused(EVENT_RESULT, buf_str(&b));
	for (int i = 0; i < 100000; i++)
		buf_addc(&b, ']');
	buf_adds(&b, "}}");
	is_refused(EVENT_RESULT, buf_str(&b));
}

static void a_result_of_too_many_values_is_refused(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(8U << 20);

	(void)state;
	buf_adds(&b, "{\"mime\":{\"application/json\":[0");
	for (unsigned i = 0; i < CODE_RESULT_VALUES_MAX; i++)
		buf_adds(&b, ",0");
	buf_adds(&b, "]}}");
	assert_true(buf_ok(&b));
	is_refused(EVENT_RESULT, buf_str(&b));
}

static void an_error_has_name_text_and_traceback(void **state)
{
	static const char json[] = "{\"ename\":\"E\",\"evalue\":\"v\\u0000\","
				   "\"traceback\":[\"a\",\"b\"],\"x\":1}";
	OWN(code_result_free) struct code_result r = {0};
	OWN(json_out_free) struct json_out o;
	struct errinfo e = {0};

	(void)state;
	json_out_init(&o, 1000);
	assert_int_equal(
	    code_result_read(&r, EVENT_ERROR, json, strlen(json), &e),
	    ERR_NONE);
	json_out_object(&o, NULL);
	code_result_put_error(&r, "name", "message", &o);
	json_out_end(&o);
	assert_string_equal(o.b.data,
			    "{\"name\":\"E\",\"message\":\"v\\u0000\","
			    "\"traceback\":[\"a\",\"b\"]}");
}

static void a_malformed_error_or_done_is_refused(void **state)
{
	(void)state;
	is_refused(EVENT_ERROR, "{\"ename\":\"E\",\"evalue\":\"v\"}");
	is_refused(EVENT_ERROR, "{\"ename\":1,\"evalue\":\"\","
				"\"traceback\":[]}");
	is_refused(EVENT_ERROR, "{\"ename\":\"\",\"evalue\":null,"
				"\"traceback\":[]}");
	is_refused(EVENT_ERROR, "{\"ename\":\"\",\"evalue\":\"\","
				"\"traceback\":[1]}");
	is_refused(EVENT_ERROR, "{\"ename\":\"\",\"evalue\":\"\","
				"\"traceback\":\"x\"}");
	is_refused(EVENT_DONE, "{}");
	is_refused(EVENT_DONE, "{\"execution_count\":-1}");
	is_refused(EVENT_DONE, "{\"execution_count\":1.5}");
	is_refused(EVENT_DONE, "{\"execution_count\":\"1\"}");
	is_refused(EVENT_DONE, "{\"execution_count\":99999999999999999999}");
}

static void a_done_has_its_count(void **state)
{
	static const char json[] = "{\"execution_count\":12}";
	OWN(code_result_free) struct code_result r = {0};
	struct errinfo e = {0};

	(void)state;
	assert_int_equal(
	    code_result_read(&r, EVENT_DONE, json, strlen(json), &e), ERR_NONE);
	assert_int_equal(r.execution_count, 12);
}

static void one_reader_serves_many_events(void **state)
{
	OWN(code_result_free) struct code_result r = {0};
	struct errinfo e = {0};

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
		    code_result_read(&r, EVENT_RESULT, "{\"mime\":{}}", 11, &e),
		    ERR_NONE);
		assert_int_equal(code_result_read(&r, EVENT_ERROR, "{", 1, &e),
				 ERR_PEER);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_mime_type_of_the_wire_has_its_key),
	    cmocka_unit_test(other_types_stand_under_mime),
	    cmocka_unit_test(parts_of_a_wrong_form_are_left_out_and_named),
	    cmocka_unit_test(a_chart_and_a_table_pass),
	    cmocka_unit_test(numbers_keep_their_value),
	    cmocka_unit_test(a_malformed_result_is_refused),
	    cmocka_unit_test(a_result_cut_anywhere_is_refused),
	    cmocka_unit_test(a_result_nested_too_deep_is_refused),
	    cmocka_unit_test(a_result_of_too_many_values_is_refused),
	    cmocka_unit_test(an_error_has_name_text_and_traceback),
	    cmocka_unit_test(a_malformed_error_or_done_is_refused),
	    cmocka_unit_test(a_done_has_its_count),
	    cmocka_unit_test(one_reader_serves_many_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/own.h"
#include "fcgi/json_in.h"

struct all {
	const char *text;
	struct json_blob blob;
	struct json_blob bytes;
	int64_t number;
	bool flag;
	struct json_object *texts;
	struct json_object *env;
	struct json_object *object;
};

#define AT(member) offsetof(struct all, member)

static const struct json_field fields[] = {
    {"text", NULL, JSON_TEXT, AT(text), false, 1, 10},
    {"blob", NULL, JSON_BLOB, AT(blob), false, 0, 10},
    {"bytes", NULL, JSON_BASE64, AT(bytes), false, 0, 16},
    {"number", "num_ber", JSON_INT, AT(number), false, 0, 100},
    {"flag", NULL, JSON_BOOL, AT(flag), false, 0, 0},
    {"texts", NULL, JSON_TEXTS, AT(texts), false, 1, 3},
    {"env", NULL, JSON_ENV, AT(env), false, 0, 0},
    {"object", NULL, JSON_OBJECT, AT(object), false, 0, 0},
    {"skip", NULL, JSON_SKIP, 0, false, 0, 0},
};

static const struct json_field needed[] = {
    {"text", NULL, JSON_TEXT, AT(text), true, 0, 10},
};

static enum err read_n(struct json_in *in, const char *json, size_t n,
		       struct all *out)
{
	struct errinfo e;
	enum err r = json_in_parse(in, json, n, &e);

	if (r != ERR_NONE)
		return r;
	return json_in_read(in, fields, JSON_COUNT(fields), out, &e);
}

static enum err read_text(struct json_in *in, const char *json, struct all *out)
{
	return read_n(in, json, strlen(json), out);
}

/* Refused, about ${field} ("" for the body as a whole). */
static void assert_refused(const char *json, const char *field)
{
	OWN(json_in_free) struct json_in in = {0};
	struct all out = {0};

	if (read_text(&in, json, &out) != ERR_ARG)
		fail_msg("taken: %s", json);
	if (strcmp(in.field, field) != 0)
		fail_msg("%s: about '%s', not '%s'", json, in.field, field);
	assert_true(in.why[0] != '\0' || in.syntax);
}

static void fields_are_stored_by_their_kind(void **state)
{
	OWN(json_in_free) struct json_in in = {0};
	struct all out = {0};

	(void)state;
	assert_int_equal(
	    read_text(&in,
		      " {\"text\":\"h\\u00e9\",\"blob\":\"a\\u0000b\","
		      "\"bytes\":\"aGkA\",\"num_ber\":7,\"flag\":true,"
		      "\"texts\":[\"a\",\"\"],\"env\":{\"A\":\"1\",\"B\":null},"
		      "\"object\":{\"x\":[1,{}]},\"skip\":[]}\r\n",
		      &out),
	    ERR_NONE);
	assert_string_equal(out.text, "h\xc3\xa9");
	assert_int_equal(out.blob.n, 3);
	assert_memory_equal(out.blob.p, "a\0b", 4);
	assert_int_equal(out.bytes.n, 3);
	assert_memory_equal(out.bytes.p, "hi\0", 4);
	assert_int_equal(out.number, 7);
	assert_true(out.flag);
	assert_non_null(out.texts);
	assert_non_null(out.object);
}

static void absent_and_null_fields_keep_their_default(void **state)
{
	OWN(json_in_free) struct json_in in = {0};
	struct all out = {.text = "kept", .number = 42, .flag = true};

	(void)state;
	assert_int_equal(read_text(&in, "{\"number\":null}", &out), ERR_NONE);
	assert_string_equal(out.text, "kept");
	assert_int_equal(out.number, 42);
	assert_true(out.flag);
}

static void what_is_not_json_is_refused(void **state)
{
	static const char *const bad[] = {
	    "",
	    "{",
	    "}",
	    "{\"text\":\"a\"",
	    "{\"text\":\"a\"} x",
	    "{\"text\":\"a\"}{}",
	    "{'text':'a'}",
	    "{\"text\":'a'}",
	    "{text:\"a\"}",
	    "{\"text\":\"a\",}",
	    "{\"number\":NaN}",
	    "{\"number\":Infinity}",
	    "{\"number\":-Infinity}",
	    "{\"number\":01}",
	    "{\"number\":0x10}",
	    "{\"flag\":True}",
	    "{\"flag\":tru}",
	    "{/* c */\"text\":\"a\"}",
	    "{\"text\":\"a\nb\"}",
	    "{\"text\":\"a\tb\"}",
	    "{\"text\":\"a\x01\"}",
	    "{\"text\":\"\xff\"}",
	    "{\"text\":\"\xc0\x80\"}",
	    "{\"text\":\"\xed\xa0\x80\"}",
	    "{\"text\":\"\\ud800\"}",
	    "{\"text\":\"\\udc00\"}",
	    "{\"text\":\"\\ud800\\u0041\"}",
	    "{\"text\":\"\\x41\"}",
	    "{\"text\":\"a\",\"text\":\"b\"}",
	    "{\"text\":\"a\",\"te\\u0078t\":\"b\"}",
	    "{\"object\":{\"a\":1,\"a\":2}}",
	    "{\"object\":[{\"a\":1,\"a\":{\"b\":2}}]}",
	    "{\"te\\u0000xt\":\"a\"}",
	    "null",
	    "[]",
	    "\"a\"",
	    "7",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(bad[i], "");
}

static void nesting_is_bounded(void **state)
{
	char json[300] = {0};

	(void)state;
	memset(json, '[', 200);
	assert_refused(json, "");
}

static void a_nul_byte_in_the_body_is_refused(void **state)
{
	OWN(json_in_free) struct json_in in = {0};
	struct all out = {0};

	(void)state;
	assert_int_equal(read_n(&in, "{\"text\":\"a\0\"}", 13, &out), ERR_ARG);
}

static void wrong_types_name_the_field(void **state)
{
	(void)state;
	assert_refused("{\"text\":7}", "text");
	assert_refused("{\"text\":[\"a\"]}", "text");
	assert_refused("{\"blob\":{}}", "blob");
	assert_refused("{\"bytes\":1}", "bytes");
	assert_refused("{\"number\":\"7\"}", "number");
	assert_refused("{\"number\":7.5}", "number");
	assert_refused("{\"number\":1e30}", "number");
	assert_refused("{\"flag\":1}", "flag");
	assert_refused("{\"texts\":\"a\"}", "texts");
	assert_refused("{\"texts\":[1]}", "texts");
	assert_refused("{\"env\":[]}", "env");
	assert_refused("{\"object\":\"x\"}", "object");
}

static void a_second_spelling_is_named_as_it_was_sent(void **state)
{
	(void)state;
	assert_refused("{\"num_ber\":\"7\"}", "num_ber");
	assert_refused("{\"num_ber\":101}", "num_ber");
	assert_refused("{\"number\":101}", "number");
}

static void values_out_of_range_name_the_field(void **state)
{
	(void)state;
	assert_refused("{\"text\":\"\"}", "text");
	assert_refused("{\"text\":\"12345678901\"}", "text");
	assert_refused("{\"number\":-1}", "number");
	assert_refused("{\"number\":101}", "number");
	assert_refused("{\"texts\":[]}", "texts");
	assert_refused("{\"texts\":[\"\",\"\",\"\",\"\"]}", "texts");
}

static void integers_beyond_64_bits_are_not_clamped_into_range(void **state)
{
	(void)state;
	assert_refused("{\"number\":99999999999999999999}", "number");
	assert_refused("{\"number\":-99999999999999999999}", "number");
	assert_refused("{\"number\":18446744073709551623}", "number");
}

static void nul_inside_a_text_names_the_field(void **state)
{
	(void)state;
	assert_refused("{\"text\":\"a\\u0000b\"}", "text");
	assert_refused("{\"texts\":[\"a\\u0000\"]}", "texts");
	assert_refused("{\"env\":{\"A\":\"\\u0000\"}}", "env.A");
}

static void bad_base64_names_the_field(void **state)
{
	(void)state;
	assert_refused("{\"bytes\":\"%\"}", "bytes");
	assert_refused("{\"bytes\":\"aGk\"}", "bytes");
	assert_refused("{\"bytes\":\"aGkA aGkA\"}", "bytes");
	assert_refused("{\"bytes\":\"aGkAaGkAaGkAaGkAaGkAaGkA\"}", "bytes");
}

static void bad_environment_names_are_told(void **state)
{
	(void)state;
	assert_refused("{\"env\":{\"1A\":\"x\"}}", "env.1A");
	assert_refused("{\"env\":{\"A B\":\"x\"}}", "env.A B");
	assert_refused("{\"env\":{\"\":\"x\"}}", "env");
	assert_refused("{\"env\":{\"A\":1}}", "env.A");
}

static void unknown_keys_are_told(void **state)
{
	(void)state;
	assert_refused("{\"textt\":\"a\"}", "textt");
}

static void both_spellings_at_once_are_refused(void **state)
{
	(void)state;
	assert_refused("{\"number\":1,\"num_ber\":2}", "number");
}

static void a_needed_field_is_missed(void **state)
{
	OWN(json_in_free) struct json_in in = {0};
	struct all out = {0};
	struct errinfo e;

	(void)state;
	assert_int_equal(json_in_parse(&in, "{\"text\":null}", 13, &e),
			 ERR_NONE);
	assert_int_equal(json_in_read(&in, needed, 1, &out, &e), ERR_ARG);
	assert_string_equal(in.field, "text");
}

static void env_leaves_out_null(void **state)
{
	OWN(json_in_free) struct json_in in = {0};
	struct all out = {0};
	struct errinfo e;
	char **env;
	uint32_t n;

	(void)state;
	assert_int_equal(
	    read_text(&in, "{\"env\":{\"A\":\"1=2\",\"B\":null}}", &out),
	    ERR_NONE);
	assert_int_equal(json_in_env(out.env, &env, &n, &e), ERR_NONE);
	assert_int_equal(n, 1);
	assert_string_equal(env[0], "A=1=2");
	json_in_env_free(env, n);
}

/* Each \u0000 must not make the scan look at all the rest again. */
static void a_long_body_of_escapes_is_read_in_one_pass(void **state)
{
	OWN(json_in_free) struct json_in in = {0};
	OWN(buf_free) struct buf b = BUF_INIT(8 << 20);
	struct errinfo e;

	(void)state;
	buf_adds(&b, "{\"blob\":\"");
	for (int i = 0; i < 1000000; i++)
		buf_add(&b, "\\u0000", 6);
	buf_adds(&b, "\"}");
	assert_int_equal(json_in_parse(&in, b.data, b.len, &e), ERR_NONE);
}

/* Each takes the parser a hundred times its bytes here. */
static void a_body_of_too_many_values_is_not_parsed(void **state)
{
	static const char *const values[] = {"[],", "1,", "{},", "\"\","};
	struct errinfo e;

	(void)state;
	for (size_t i = 0; i < JSON_COUNT(values); i++) {
		OWN(json_in_free) struct json_in in = {0};
		OWN(buf_free) struct buf b = BUF_INIT(8 << 20);

		buf_adds(&b, "{\"skip\":[");
		for (unsigned n = 0; n < JSON_IN_VALUES_MAX; n++)
			buf_adds(&b, values[i]);
		buf_adds(&b, "1]}");
		assert_int_equal(json_in_parse(&in, b.data, b.len, &e),
				 ERR_ARG);
		assert_null(in.root);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fields_are_stored_by_their_kind),
	    cmocka_unit_test(absent_and_null_fields_keep_their_default),
	    cmocka_unit_test(what_is_not_json_is_refused),
	    cmocka_unit_test(nesting_is_bounded),
	    cmocka_unit_test(a_nul_byte_in_the_body_is_refused),
	    cmocka_unit_test(wrong_types_name_the_field),
	    cmocka_unit_test(a_second_spelling_is_named_as_it_was_sent),
	    cmocka_unit_test(values_out_of_range_name_the_field),
	    cmocka_unit_test(
		integers_beyond_64_bits_are_not_clamped_into_range),
	    cmocka_unit_test(nul_inside_a_text_names_the_field),
	    cmocka_unit_test(bad_base64_names_the_field),
	    cmocka_unit_test(bad_environment_names_are_told),
	    cmocka_unit_test(unknown_keys_are_told),
	    cmocka_unit_test(both_spellings_at_once_are_refused),
	    cmocka_unit_test(a_needed_field_is_missed),
	    cmocka_unit_test(env_leaves_out_null),
	    cmocka_unit_test(a_long_body_of_escapes_is_read_in_one_pass),
	    cmocka_unit_test(a_body_of_too_many_values_is_not_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

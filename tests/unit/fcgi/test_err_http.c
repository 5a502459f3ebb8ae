#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "fcgi/err_http.h"
#include "tests/unit/fcgi/answered.h"

static const enum err errors[] = {
    ERR_ARG,   ERR_NOT_FOUND, ERR_EXISTS, ERR_LIMIT, ERR_STATE,   ERR_DENIED,
    ERR_NOMEM, ERR_IO,        ERR_STORE,  ERR_PEER,  ERR_TIMEOUT, ERR_GONE,
};

static const char *member(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v))
		fail_msg("no %s in %s", key, json_object_to_json_string(o));
	return json_object_get_string(v);
}

/* The body of an answer in the error shape; its status is ${status}. */
static struct json_object *shape(const char *text, int status)
{
	const char *body = strstr(text, "\r\n\r\n");
	struct json_object *o;
	int got;

	assert_int_equal(sscanf(text, "Status: %d", &got), 1);
	assert_int_equal(got, status);
	assert_non_null(strstr(text, "X-Request-Id: 0123456789abcdef\r\n"));
	assert_non_null(strstr(text, "Server-Timing: queue;dur="));
	assert_non_null(strstr(text, "Content-Type: application/json\r\n"));
	assert_non_null(body);
	o = json_tokener_parse(body + 4);
	assert_non_null(o);
	assert_true(member(o, "code")[0] != '\0');
	assert_true(member(o, "message")[0] != '\0');
	assert_int_equal(member(o, "context")[0], '{');
	assert_int_equal(atol(member(o, "httpStatus")), status);
	assert_int_equal(strlen(member(o, "timestamp")), 24);
	assert_string_equal(member(o, "requestId"), "0123456789abcdef");
	return o;
}

static void every_bare_error_has_the_shape_and_no_detail(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct answered a;
		struct errinfo e;
		struct json_object *o;
		enum http_code code = err_http_of(errors[i]);

		answered_open(&a);
		err_set(&e, errors[i], 13, "open /var/lib/warren/secret");
		err_http_answer(&a.rq, errors[i], &e);
		o = shape(answered_text(&a), err_http_status(code));
		assert_string_equal(member(o, "code"), err_http_name(code));
		assert_null(strstr(a.text, "/var/lib"));
		assert_null(strstr(a.text, "secret"));
		json_object_put(o);
		answered_close(&a);
	}
}

static void every_code_has_an_error_status_and_is_handed_on(void **state)
{
	(void)state;
	for (int c = 1; err_http_name((enum http_code)c) != NULL; c++) {
		struct answered a;
		struct errinfo e;
		enum http_code code = (enum http_code)c;

		answered_open(&a);
		assert_in_range(err_http_status(code), 400, 599);
		assert_int_not_equal(err_http_fail(&a.rq, &e, code, "x"),
				     ERR_NONE);
		assert_int_equal(a.rq.failure.code, code);
		answered_close(&a);
		if (code == HTTP_TIMED_OUT)
			break;
	}
}

static void a_failure_tells_its_context(void **state)
{
	struct answered a;
	struct errinfo e;
	struct json_object *o, *context;
	enum err r;

	(void)state;
	answered_open(&a);
	err_http_operation(&a.rq, "process.get");
	err_http_text(&a.rq, "processId", "a\"b");
	r = err_http_fail(&a.rq, &e, HTTP_PROCESS_NOT_FOUND,
			  "Process %s not found", "a\"b");
	assert_int_equal(r, ERR_NOT_FOUND);
	err_http_answer(&a.rq, r, &e);
	o = shape(answered_text(&a), 404);
	assert_string_equal(member(o, "message"), "Process a\"b not found");
	assert_string_equal(member(o, "operation"), "process.get");
	json_object_object_get_ex(o, "context", &context);
	assert_string_equal(member(context, "processId"), "a\"b");
	json_object_put(o);
	answered_close(&a);
}

static void a_field_is_named(void **state)
{
	struct answered a;
	struct errinfo e;
	struct json_object *o;
	enum err r;

	(void)state;
	answered_open(&a);
	r = err_http_field(&a.rq, &e, "port", "must be a number");
	assert_int_equal(r, ERR_ARG);
	err_http_answer(&a.rq, r, &e);
	o = shape(answered_text(&a), 400);
	assert_string_equal(member(o, "code"), "VALIDATION_FAILED");
	assert_non_null(strstr(member(o, "context"), "\"field\":"));
	json_object_put(o);
	answered_close(&a);
}

static void unavailable_says_when_to_try_again(void **state)
{
	struct answered a;
	struct errinfo e;
	enum err r;

	(void)state;
	answered_open(&a);
	r = err_http_fail(&a.rq, &e, HTTP_SANDBOX_UNAVAILABLE, "soon");
	err_http_answer(&a.rq, r, &e);
	assert_non_null(strstr(answered_text(&a), "Retry-After: 1\r\n"));
	answered_close(&a);
}

static void an_answer_that_began_is_not_answered_again(void **state)
{
	struct answered a;
	struct errinfo e = {.code = ERR_IO};

	(void)state;
	answered_open(&a);
	a.rq.answering = true;
	err_http_answer(&a.rq, ERR_IO, &e);
	assert_string_equal(answered_text(&a), "");
	answered_close(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_bare_error_has_the_shape_and_no_detail),
	    cmocka_unit_test(every_code_has_an_error_status_and_is_handed_on),
	    cmocka_unit_test(a_failure_tells_its_context),
	    cmocka_unit_test(a_field_is_named),
	    cmocka_unit_test(unavailable_says_when_to_try_again),
	    cmocka_unit_test(an_answer_that_began_is_not_answered_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

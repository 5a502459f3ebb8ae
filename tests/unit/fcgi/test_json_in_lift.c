/*
 * A long text that is cut out of the body is the text that the parser would
 * have made of it, and whatever the parser refuses is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/own.h"
#include "fcgi/json_in.h"
#include "fcgi/json_text.h"

#define LONG 20000U
#define BODY_MAX (1U << 20)
#define TRIES 3000

struct all {
	struct json_blob content;
	struct json_object *object;
};

#define AT(member) offsetof(struct all, member)

static const struct json_field fields[] = {
    {"content", "alias", JSON_BLOB, AT(content), true, 0, BODY_MAX},
    {"object", NULL, JSON_ANY, AT(object), false, 0, 0},
    {"x", NULL, JSON_SKIP, 0, false, 0, 0},
};

static const char *const good[] = {
    "a",
    "plain text of some length, that fills more than one word",
    "\\n",
    "\\\"",
    "\\\\",
    "\\/",
    "\\b\\f\\r\\t",
    "\\u0000",
    "\\u00e4\\u4E16",
    "\\ud83d\\uDE00",
    "\xc3\xa4\xe4\xb8\x96\xf0\x9f\x98\x80",
    "\x7f",
    ":,{}[]",
};

static const char *const bad[] = {
    "\\x",     "\\u12",    "\\u12G4",    "\\ud83d",
    "\\udE00", "\\ud83dx", "\\ud83d\\n", "\\ud83d\\u0041",
    "\\u-123", "\\u 123",  "\n",         "\xff",
    "\"",      "\\",
};

/* Bodies round a content; %s is where it is. */
static const char *const bodies[] = {
    "{\"content\":\"%s\"}",
    " { \"content\" :\t\"%s\" } ",
    "{\"x\":[1,{\"content\":\"no\"}],\"content\":\"%s\",\"object\":{}}",
    "{\"object\":{\"content\":\"%s\"},\"content\":\"short\"}",
    "{\"object\":[\"content\",\"%s\"],\"content\":\"short\"}",
    "{\"x\":\"content\",\"content\":\"%s\"}",
    "{\"alias\":\"%s\"}",
    "{\"cont\\u0065nt\":\"%s\"}",
    "{\"content\":\"%s\",\"content\":\"y\"}",
    "{\"content\":\"y\",\"content\":\"%s\"}",
    "{\"content\":\"%s\",\"alias\":\"y\"}",
    "{\"content\":\"%s\"",
    "{\"content\":\"%s\"}}",
    "{\"content\":\"%s\" 1}",
    "{\"content\" \"%s\"}",
    "{\"content\":\"%s\",\"unknown\":1}",
    "[\"content\",\"%s\"]",
    "{\"content\":[\"%s\"]}",
};

static void grow(struct buf *b, unsigned n)
{
	size_t sick = n % 4 == 0 ? LONG / 2 + (size_t)rand() % LONG : SIZE_MAX;
	size_t least = n % 7 == 0 ? 100 : LONG;

	while (b->len < least) {
		if (b->len >= sick) {
			buf_adds(b, bad[(size_t)rand() % JSON_COUNT(bad)]);
			sick = SIZE_MAX;
		}
		buf_adds(b, good[(size_t)rand() % JSON_COUNT(good)]);
	}
}

static void around(struct buf *b, const char *form, const struct buf *content)
{
	const char *at = strstr(form, "%s");

	buf_add(b, form, (size_t)(at - form));
	buf_add(b, content->data, content->len);
	buf_adds(b, at + 2);
	assert_true(buf_ok(b));
}

static enum err read_all(struct json_in *in, enum err parsed, struct all *out)
{
	struct errinfo e;

	if (parsed != ERR_NONE)
		return parsed;
	return json_in_read(in, fields, JSON_COUNT(fields), out, &e);
}

/* 1: it was read, by both in the same way. */
static int same(const struct buf *body, size_t *lifted)
{
	OWN(json_in_free) struct json_in a = {0};
	OWN(json_in_free) struct json_in b = {.lift = "content"};
	OWN(buf_free) struct buf copy = BUF_INIT(2 * BODY_MAX);
	struct all want = {0}, got = {0};
	struct errinfo e;
	enum err r;

	buf_add(&copy, body->data, body->len);
	r = read_all(&a, json_in_parse(&a, body->data, body->len, &e), &want);
	assert_int_equal(read_all(&b, json_in_parse_body(&b, &copy, &e), &got),
			 r);
	*lifted += b.lifted.p != NULL;
	if (r != ERR_NONE)
		return 0;
	assert_int_equal(got.content.n, want.content.n);
	assert_memory_equal(got.content.p, want.content.p, want.content.n);
	assert_int_equal(got.content.p[got.content.n], 0);
	return 1;
}

static void it_is_what_the_parser_would_make_of_it(void **state)
{
	size_t lifted = 0, taken = 0;

	(void)state;
	srand(7);
	for (unsigned i = 0; i < TRIES; i++) {
		OWN(buf_free) struct buf content = BUF_INIT(BODY_MAX);
		OWN(buf_free) struct buf body = BUF_INIT(2 * BODY_MAX);

		grow(&content, i);
		around(&body, bodies[i % JSON_COUNT(bodies)], &content);
		taken += (size_t)same(&body, &lifted);
	}
	assert_true(taken > TRIES / 5);
	assert_true(lifted > TRIES / 5);
}

static void bodies_that_break_off_anywhere_are_refused(void **state)
{
	OWN(buf_free) struct buf content = BUF_INIT(BODY_MAX);
	OWN(buf_free) struct buf body = BUF_INIT(2 * BODY_MAX);
	size_t lifted = 0;

	(void)state;
	srand(8);
	grow(&content, 1);
	around(&body, bodies[2], &content);
	while (body.len > 1) {
		size_t step = body.len < 60 || body.len > LONG ? 1 : 97;

		body.len -= step;
		body.data[body.len] = '\0';
		assert_int_equal(same(&body, &lifted), 0);
	}
}

static void what_was_escaped_is_decoded_again(void **state)
{
	(void)state;
	srand(9);
	for (int i = 0; i < 2000; i++) {
		OWN(buf_free) struct buf b = BUF_INIT(1000);
		char text[100];
		size_t n = (size_t)rand() % sizeof(text);
		size_t left;

		for (size_t k = 0; k < n; k++)
			text[k] = (char)(rand() % 128);
		json_text_escape(&b, text, n);
		assert_true(buf_ok(&b));
		left = b.len;
		if (n == 0)
			continue;
		for (size_t k = 0; k < b.len; k++)
			assert_true((unsigned char)b.data[k] >= 0x20);
		assert_true(json_text_decode(b.data, &left));
		assert_int_equal(left, n);
		assert_memory_equal(b.data, text, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_is_what_the_parser_would_make_of_it),
	    cmocka_unit_test(bodies_that_break_off_anywhere_are_refused),
	    cmocka_unit_test(what_was_escaped_is_decoded_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

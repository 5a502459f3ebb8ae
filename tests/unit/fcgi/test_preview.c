#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "fcgi/preview.h"
#include "fcgi/preview_socket.h"

#define ID "s000000123456789abcdef"

static void a_key_is_split_into_its_parts(void **state)
{
	struct ctl_port p = {
	    .port = 65535, .sandbox = ID, .token = "0123456789abcdef"};
	char key[PREVIEW_KEY_MAX], token[ID_TOKEN_LEN + 1];
	id_sandbox_t id;
	uint16_t port;

	(void)state;
	preview_socket_key(&p, key);
	assert_string_equal(key, "65535-" ID "-0123456789abcdef");
	assert_true(preview_split(key, &port, id, token));
	assert_int_equal(port, 65535);
	assert_string_equal(id, ID);
	assert_string_equal(token, "0123456789abcdef");
}

static void any_other_form_is_no_key(void **state)
{
	static const char *const bad[] = {
	    "",
	    "80",
	    "80-" ID,
	    "80-" ID "-",
	    "0-" ID "-a",
	    "080-" ID "-a",
	    "65536-" ID "-a",
	    "999999-" ID "-a",
	    "-80-" ID "-a",
	    "80-s00000012345678-a",
	    "80-x000000123456789abcdef-a",
	    "80-S000000123456789abcdef-a",
	    "80-" ID "-A",
	    "80-" ID "-a-b",
	    "80-" ID "-a/b",
	    "80-" ID "-0123456789abcdefg",
	    "80-" ID "_a",
	};
	char token[ID_TOKEN_LEN + 1];
	id_sandbox_t id;
	uint16_t port;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (preview_split(bad[i], &port, id, token))
			fail_msg("taken: %s", bad[i]);
}

static uint32_t below(uint32_t n)
{
	return randombytes_uniform(n);
}

static void random_text(char *out, size_t n, const char *alphabet)
{
	for (size_t i = 0; i < n; i++)
		out[i] = alphabet[below((uint32_t)strlen(alphabet))];
	out[n] = '\0';
}

/* Built and taken apart, any port, sandbox and token are as they were. */
static void parts_come_back_from_the_key_that_they_make(void **state)
{
	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct ctl_port p = {.port = (uint16_t)(1 + below(65535))};
		char key[PREVIEW_KEY_MAX], token[ID_TOKEN_LEN + 1];
		id_sandbox_t id;
		uint16_t port;

		id_sandbox(p.sandbox);
		random_text(p.token, 1 + below(ID_TOKEN_LEN),
			    "abcdefghijklmnopqrstuvwxyz0123456789");
		preview_socket_key(&p, key);
		assert_true(strlen(key) <= 63); /* one label of a name */
		assert_int_equal(strspn(key, "abcdefghijklmnopqrstuvwxyz-"
					     "0123456789"),
				 strlen(key));
		assert_true(preview_split(key, &port, id, token));
		assert_int_equal(port, p.port);
		assert_string_equal(id, p.sandbox);
		assert_string_equal(token, p.token);
	}
}

/* Whatever is taken apart makes the same key again: no two are one. */
static void a_key_comes_back_from_its_parts(void **state)
{
	static const char any[] = "0123456789-abcsS_. /";
	int taken = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		char key[2 * PREVIEW_KEY_MAX], again[PREVIEW_KEY_MAX];
		struct ctl_port p = {.port = (uint16_t)(1 + below(65535))};
		size_t n;

		id_sandbox(p.sandbox);
		random_text(p.token, 1 + below(ID_TOKEN_LEN), "ab01");
		preview_socket_key(&p, key);
		for (uint32_t k = below(3); k > 0; k--)
			key[below((uint32_t)strlen(key))] =
			    any[below(sizeof(any) - 1)];
		n = strlen(key);
		if (below(4) == 0)
			random_text(key + n, below(4), any);
		if (!preview_split(key, &p.port, p.sandbox, p.token))
			continue;
		taken++;
		preview_socket_key(&p, again);
		assert_string_equal(again, key);
	}
	assert_true(taken > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_key_is_split_into_its_parts),
	    cmocka_unit_test(any_other_form_is_no_key),
	    cmocka_unit_test(parts_come_back_from_the_key_that_they_make),
	    cmocka_unit_test(a_key_comes_back_from_its_parts),
	};

	id_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_key_is_split_into_its_parts),
	    cmocka_unit_test(any_other_form_is_no_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

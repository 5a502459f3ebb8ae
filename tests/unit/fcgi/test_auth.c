#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fcgi/auth.h"

static void the_key_follows_the_scheme(void **state)
{
	(void)state;
	assert_string_equal(auth_bearer("Bearer wrn_x"), "wrn_x");
	assert_string_equal(auth_bearer("bearer   wrn_x"), "wrn_x");
	assert_string_equal(auth_bearer("BEARER wrn_x"), "wrn_x");
}

static void other_schemes_have_no_key(void **state)
{
	(void)state;
	assert_null(auth_bearer(NULL));
	assert_null(auth_bearer(""));
	assert_null(auth_bearer("Bearer"));
	assert_null(auth_bearer("Bearer "));
	assert_null(auth_bearer("Bearerwrn_x"));
	assert_null(auth_bearer("Basic wrn_x"));
	assert_null(auth_bearer("wrn_x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_key_follows_the_scheme),
	    cmocka_unit_test(other_schemes_have_no_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

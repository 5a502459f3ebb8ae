/* buf: a hard maximum, a sticky failure, always a string. */
#include "tests/unit/base/unit.h"

#include <string.h>

/* buf.c is compiled into this test with a realloc that can fail. */
static int alloc_left = -1; /* -1: never fails */

static void *alloc_try(void *p, size_t n)
{
	if (alloc_left == 0)
		return NULL;
	if (alloc_left > 0)
		alloc_left--;
	return realloc(p, n);
}

#define realloc alloc_try
#include "base/buf.c"
#undef realloc

#include "base/own.h"
#include "base/wire.h"

static void an_empty_buf_is_an_empty_string(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(10);

	(void)state;
	assert_string_equal(buf_str(&b), "");
	buf_add(&b, NULL, 0);
	assert_true(buf_ok(&b));
	assert_string_equal(buf_str(&b), "");
}

static void it_holds_exactly_its_maximum(void **state)
{
	(void)state;
	for (size_t max = 0; max < 300; max++) {
		OWN(buf_free) struct buf b = BUF_INIT(max);

		for (size_t i = 0; i < max; i++)
			buf_addc(&b, 'x');
		assert_true(buf_ok(&b));
		assert_int_equal(b.len, max);
		buf_addc(&b, 'y');
		assert_false(buf_ok(&b));
		assert_int_equal(b.len, max);
		assert_int_equal(strlen(buf_str(&b)), max);
	}
}

static void a_failure_is_sticky_and_keeps_what_was_there(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(5);

	(void)state;
	buf_adds(&b, "abc");
	buf_adds(&b, "defg");
	assert_false(buf_ok(&b));
	buf_addc(&b, 'd'); /* would fit, but something is missing before it */
	buf_addf(&b, "%d", 4);
	assert_null(buf_space(&b, 1));
	assert_string_equal(buf_str(&b), "abc");
	buf_reset(&b);
	assert_true(buf_ok(&b));
	buf_adds(&b, "defgh");
	assert_true(buf_ok(&b));
	assert_string_equal(buf_str(&b), "defgh");
}

static void a_huge_length_fails_and_does_not_wrap(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(100);

	(void)state;
	buf_addc(&b, 'a');
	assert_null(buf_space(&b, SIZE_MAX));
	assert_false(buf_ok(&b));
	assert_int_equal(b.len, 1);
}

static void formatted_text_of_any_length_is_whole(void **state)
{
	(void)state;
	for (int n = 250; n < 262; n++) {
		OWN(buf_free) struct buf b = BUF_INIT(1000);

		buf_adds(&b, ">");
		buf_addf(&b, "%*d", n, 7);
		assert_true(buf_ok(&b));
		assert_int_equal(b.len, n + 1);
		assert_int_equal(b.data[n], '7');
		assert_int_equal(b.data[n + 1], 0);
	}
}

static void formatted_text_over_the_maximum_fails(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(300);

	(void)state;
	buf_addf(&b, "%*d", 301, 7);
	assert_false(buf_ok(&b));
	assert_int_equal(b.len, 0);
}

static void dropping_moves_the_rest_to_the_front(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(100);

	(void)state;
	buf_drop(&b, 0);
	buf_adds(&b, "0123456789");
	buf_drop(&b, 4);
	assert_string_equal(buf_str(&b), "456789");
	buf_drop(&b, 6);
	assert_int_equal(b.len, 0);
	assert_string_equal(buf_str(&b), "");
}

static void zero_bytes_are_bytes(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(100);

	(void)state;
	buf_add(&b, "a\0b", 3);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "a\0b", 4);
}

static void each_failed_allocation_is_told_and_nothing_is_lost(void **state)
{
	(void)state;
	for (int n = 0; n < 8; n++) {
		OWN(buf_free) struct buf b = BUF_INIT(10000);
		size_t had = 0;

		alloc_left = n;
		while (buf_ok(&b) && b.len < 9000) {
			had = b.len;
			buf_adds(&b, "0123456789abcdef");
		}
		alloc_left = -1;
		if (!buf_ok(&b))
			assert_int_equal(b.len, had);
		assert_int_equal(strlen(buf_str(&b)), b.len);
	}
}

static void a_payload_that_lacked_memory_is_never_sent(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	OWN(wire_tx_free) struct wire_tx tx;
	struct errinfo e = {0};

	(void)state;
	wire_tx_init(&tx, 4096);
	alloc_left = 0;
	wire_u32(&b, 1);
	alloc_left = -1;
	wire_str(&b, "later");
	assert_int_equal(wire_tx_put(&tx, 1, 1, &b, &e), ERR_ARG);
	assert_int_equal(tx.out.len, 0);
	assert_int_equal(wire_send(-1, 1, 1, &b, 0, &e), ERR_ARG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_empty_buf_is_an_empty_string),
	    cmocka_unit_test(it_holds_exactly_its_maximum),
	    cmocka_unit_test(a_failure_is_sticky_and_keeps_what_was_there),
	    cmocka_unit_test(a_huge_length_fails_and_does_not_wrap),
	    cmocka_unit_test(formatted_text_of_any_length_is_whole),
	    cmocka_unit_test(formatted_text_over_the_maximum_fails),
	    cmocka_unit_test(dropping_moves_the_rest_to_the_front),
	    cmocka_unit_test(zero_bytes_are_bytes),
	    cmocka_unit_test(
		each_failed_allocation_is_told_and_nothing_is_lost),
	    cmocka_unit_test(a_payload_that_lacked_memory_is_never_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

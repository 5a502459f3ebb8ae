/* call_denial: counts as a payload, and what none may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/call_denial.h"

static enum err get(const struct buf *b, struct call_counts *out)
{
	struct wire_msg m = {.data = (const uint8_t *)b->data, .len = b->len};
	struct errinfo e;

	return call_counts_get(&m, out, &e);
}

static void what_is_counted_comes_back(void **state)
{
	struct call_counts c = {0}, got;
	struct buf b = BUF_INIT(4096);

	(void)state;
	call_counts_put(&b, &c);
	assert_int_equal(b.len, 1);
	assert_int_equal(get(&b, &got), ERR_NONE);
	for (int i = 0; i < CALL_COUNT; i++)
		c.of[i] = (struct call_count){(uint32_t)i, 1000 + i};
	c.of[0].last_ms = 0; /* its count is 0: it is not told */
	b.len = 0;
	call_counts_put(&b, &c);
	assert_int_equal(get(&b, &got), ERR_NONE);
	for (int i = 0; i < CALL_COUNT; i++) {
		assert_int_equal(got.of[i].count, c.of[i].count);
		assert_int_equal(got.of[i].last_ms, c.of[i].last_ms);
	}
	buf_free(&b);
}

static void what_is_malformed_is_refused(void **state)
{
	struct call_counts c = {0}, got = {0};
	struct buf b = BUF_INIT(4096);

	(void)state;
	assert_int_equal(get(&b, &got), ERR_PEER);
	c.of[3] = (struct call_count){1, 1};
	call_counts_put(&b, &c);
	for (size_t n = 0; n < b.len; n++) {
		struct buf part = b;

		part.len = n;
		assert_int_equal(get(&part, &got), ERR_PEER);
	}
	b.data[1] = (char)CALL_COUNT; /* no such call */
	assert_int_equal(get(&b, &got), ERR_PEER);
	b.data[1] = 3;
	wire_u8(&b, 0); /* more than was said */
	assert_int_equal(get(&b, &got), ERR_PEER);
	assert_int_equal(got.of[3].count, 0);
	buf_free(&b);
}

static void each_has_a_name_and_a_number(void **state)
{
	(void)state;
	for (int i = 0; i < CALL_COUNT; i++)
		assert_true(strlen(call_denial_word((enum call_denial)i)) > 1);
	assert_int_equal(call_denial_find(SYS_mount), CALL_mount);
	assert_int_equal(call_denial_find(SYS_clone), CALL_clone);
	assert_int_equal(call_denial_find(SYS_getpid), CALL_COUNT);
	assert_int_equal(call_denial_find(-1), CALL_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_counted_comes_back),
	    cmocka_unit_test(what_is_malformed_is_refused),
	    cmocka_unit_test(each_has_a_name_and_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

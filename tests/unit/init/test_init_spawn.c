/* init_spawn_parse: a request is read whole, or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/init_msg.h"
#include "sandbox/init_exec.h"

/* A good SPAWN; what follows ${cut} bytes is left out. */
static void put_good(struct buf *b)
{
	wire_u8(b, 0);
	wire_u8(b, INIT_USER_SANDBOX);
	wire_u8(b, 1);
	wire_str(b, "/workspace");
	wire_u32(b, 2);
	wire_str(b, "echo");
	wire_str(b, "hello world");
	wire_u32(b, 1);
	wire_str(b, "A=b");
	assert_true(buf_ok(b));
}

/* In memory of exactly that size, so that reading past it is seen. */
static bool parse(const void *data, size_t len, int nfds, struct init_spawn *s)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	struct wire_msg msg = {.type = IM_SPAWN,
			       .tag = 5,
			       .data = copy,
			       .len = len,
			       .fds = {10, 11, 12, 13},
			       .nfds = nfds};
	bool ok;

	assert_non_null(copy);
	memcpy(copy, data, len);
	ok = init_spawn_parse(&msg, s);
	if (ok) {
		assert_string_equal(s->argv[0], "echo");
		assert_string_equal(s->argv[s->argc - 1], "hello world");
		assert_null(s->argv[s->argc]);
	}
	init_spawn_free(s);
	free(copy);
	return ok;
}

static void a_good_request_is_read(void **state)
{
	struct buf b = BUF_INIT(4096);
	struct wire_msg msg = {.tag = 5, .fds = {10, 11, 12}, .nfds = 3};
	struct init_spawn s;

	(void)state;
	put_good(&b);
	msg.data = (const uint8_t *)b.data;
	msg.len = b.len;
	assert_true(init_spawn_parse(&msg, &s));
	assert_int_equal(s.tag, 5);
	assert_false(s.fs);
	assert_int_equal(s.user, INIT_USER_SANDBOX);
	assert_true(s.strict_cwd);
	assert_string_equal(s.cwd, "/workspace");
	assert_int_equal(s.argc, 2);
	assert_string_equal(s.argv[1], "hello world");
	assert_null(s.argv[2]);
	assert_string_equal(s.env[0], "A=b");
	assert_null(s.env[1]);
	assert_int_equal(s.fds[2], 12);
	init_spawn_free(&s);
	buf_free(&b);
}

static void cut_at_any_byte_it_is_refused(void **state)
{
	struct buf b = BUF_INIT(4096);
	struct init_spawn s;

	(void)state;
	put_good(&b);
	for (size_t n = 0; n < b.len; n++)
		assert_false(parse(b.data, n, 3, &s));
	assert_true(parse(b.data, b.len, 3, &s));
	wire_u8(&b, 0);
	assert_false(parse(b.data, b.len, 3, &s));
	buf_free(&b);
}

static void with_any_byte_changed_nothing_breaks(void **state)
{
	struct buf b = BUF_INIT(4096);
	struct init_spawn s;

	(void)state;
	put_good(&b);
	for (size_t i = 0; i < b.len; i++) {
		char was = b.data[i];

		for (int bit = 0; bit < 8; bit++) {
			struct wire_msg msg = {.data = (const uint8_t *)b.data,
					       .len = b.len,
					       .nfds = 3};

			b.data[i] = (char)(was ^ (1 << bit));
			(void)init_spawn_parse(&msg, &s);
			init_spawn_free(&s);
		}
		b.data[i] = was;
	}
	buf_free(&b);
}

static void counts_that_lie_are_refused(void **state)
{
	static const uint32_t counts[] = {3,       100,        0x10000,
					  0x10001, 0x7fffffff, 0xffffffff};
	struct init_spawn s;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		for (int which = 0; which < 2; which++) {
			struct buf b = BUF_INIT(1U << 20);

			wire_u8(&b, 0);
			wire_u8(&b, 0);
			wire_u8(&b, 0);
			wire_str(&b, "");
			wire_u32(&b, which == 0 ? counts[i] : 1);
			wire_str(&b, "x");
			wire_u32(&b, which == 1 ? counts[i] : 0);
			assert_false(parse(b.data, b.len, 3, &s));
			/* Nor with bytes enough for as many pointers. */
			for (int j = 0; j < 70000; j++)
				wire_u8(&b, 0xff);
			assert_false(parse(b.data, b.len, 3, &s));
			buf_free(&b);
		}
}

static void lengths_that_lie_are_refused(void **state)
{
	static const uint32_t lengths[] = {2, 0x7fffffff, 0xfffffffe,
					   0xffffffff};
	struct init_spawn s;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct buf b = BUF_INIT(4096);

		wire_u8(&b, 0);
		wire_u8(&b, 0);
		wire_u8(&b, 0);
		wire_u32(&b, lengths[i]);
		wire_u8(&b, 'x');
		wire_u8(&b, 0);
		assert_false(parse(b.data, b.len, 3, &s));
		buf_free(&b);
	}
}

static void a_zero_inside_a_text_is_refused(void **state)
{
	struct buf b = BUF_INIT(4096);
	struct init_spawn s;

	(void)state;
	wire_u8(&b, 0);
	wire_u8(&b, 0);
	wire_u8(&b, 0);
	wire_str(&b, "");
	wire_u32(&b, 1);
	wire_bytes(&b, "a\0b", 3);
	wire_u32(&b, 0);
	assert_false(parse(b.data, b.len, 3, &s));
	buf_free(&b);
}

static void it_needs_a_program_three_descriptors_and_a_user(void **state)
{
	struct buf b = BUF_INIT(4096), none = BUF_INIT(4096);
	struct init_spawn s;

	(void)state;
	put_good(&b);
	for (int n = 0; n < 3; n++)
		assert_false(parse(b.data, b.len, n, &s));
	assert_true(parse(b.data, b.len, 4, &s));
	b.data[1] = 2; /* no such user */
	assert_false(parse(b.data, b.len, 3, &s));
	b.data[1] = (char)0xff;
	assert_false(parse(b.data, b.len, 3, &s));
	wire_u8(&none, 0);
	wire_u8(&none, 0);
	wire_u8(&none, 0);
	wire_str(&none, "");
	wire_u32(&none, 0);
	wire_u32(&none, 0);
	assert_false(parse(none.data, none.len, 3, &s));
	buf_free(&b);
	buf_free(&none);
}

static void leaves_are_named_by_their_tag(void **state)
{
	char name[16];

	(void)state;
	init_leaf_name(0, name);
	assert_string_equal(name, "e0");
	init_leaf_name(UINT32_MAX, name);
	assert_string_equal(name, "e4294967295");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_good_request_is_read),
	    cmocka_unit_test(cut_at_any_byte_it_is_refused),
	    cmocka_unit_test(with_any_byte_changed_nothing_breaks),
	    cmocka_unit_test(counts_that_lie_are_refused),
	    cmocka_unit_test(lengths_that_lie_are_refused),
	    cmocka_unit_test(a_zero_inside_a_text_is_refused),
	    cmocka_unit_test(it_needs_a_program_three_descriptors_and_a_user),
	    cmocka_unit_test(leaves_are_named_by_their_tag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

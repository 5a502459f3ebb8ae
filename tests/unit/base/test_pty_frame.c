#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/pty_frame.h"

static void on_input(void *arg, const uint8_t *data, size_t n)
{
	buf_add(arg, data, n);
}

static void on_size(void *arg, uint16_t cols, uint16_t rows)
{
	buf_addf(arg, "<%ux%u>", cols, rows);
}

static const struct pty_sink sink = {on_input, on_size};

static void read_all(const struct buf *b, size_t piece, struct buf *out)
{
	struct pty_parser p = {.have = 0};
	const uint8_t *data = (const uint8_t *)b->data;

	for (size_t i = 0; i < b->len; i += piece)
		pty_parse(&p, data + i, b->len - i < piece ? b->len - i : piece,
			  &sink, out);
}

static void input_and_sizes_arrive_in_order_in_any_pieces(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(4096);

	(void)state;
	pty_put_input(&b, "ls\n", 3);
	pty_put_size(&b, 80, 24);
	pty_put_size(&b, 1000, 1);
	pty_put_input(&b, "", 0);
	pty_put_input(&b, "x", 1);
	for (size_t piece = 1; piece <= b.len; piece++) {
		OWN(buf_free) struct buf out = BUF_INIT(4096);

		read_all(&b, piece, &out);
		assert_string_equal(buf_str(&out), "ls\n<80x24><1000x1>x");
	}
}

static void long_input_arrives_whole(void **state)
{
	const size_t n = 200000;
	OWN(own_mem) char *text = malloc(n);
	OWN(buf_free) struct buf b = BUF_INIT(2 * n);
	OWN(buf_free) struct buf out = BUF_INIT(2 * n);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < n; i++)
		text[i] = (char)(i * 7);
	pty_put_input(&b, text, n);
	read_all(&b, 4093, &out);
	assert_int_equal(out.len, n);
	assert_memory_equal(out.data, text, n);
}

static void unknown_frames_and_wrong_sizes_are_skipped(void **state)
{
	static const uint8_t frames[] = {9, 3, 0, 'a', 'b', 'c', 1, 2, 0,
					 5, 5, 1, 0,   0,   0,   1, 0, 'z'};
	OWN(buf_free) struct buf b = BUF_INIT(64);
	OWN(buf_free) struct buf out = BUF_INIT(64);

	(void)state;
	buf_add(&b, frames, sizeof(frames));
	read_all(&b, sizeof(frames), &out);
	assert_string_equal(buf_str(&out), "z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(input_and_sizes_arrive_in_order_in_any_pieces),
	    cmocka_unit_test(long_input_arrives_whole),
	    cmocka_unit_test(unknown_frames_and_wrong_sizes_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

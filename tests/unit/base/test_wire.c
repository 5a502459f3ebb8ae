/* wire: payloads and frames, whole or not at all. */
#include "tests/unit/base/unit.h"

#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/wire.h"

struct pair {
	int a;
	int b;
};

static void pair_open(struct pair *p)
{
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s),
			 0);
	p->a = s[0];
	p->b = s[1];
}

static void pair_close(struct pair *p)
{
	own_fd(&p->a);
	own_fd(&p->b);
}

static void put_raw(int fd, const void *p, size_t n)
{
	assert_int_equal(send(fd, p, n, MSG_NOSIGNAL), n);
}

/* The frame ${type} with text ${s}, as bytes. */
static void frame_of(struct buf *out, uint16_t type, const char *s)
{
	wire_u32(out, (uint32_t)strlen(s));
	wire_u16(out, type);
	wire_u16(out, 0);
	wire_u32(out, 77);
	wire_u32(out, 0);
	buf_adds(out, s);
}

static struct wire_msg *read_one(struct wire_rx *rx, int fd)
{
	struct wire_msg *m = NULL;
	struct errinfo e;

	assert_int_equal(wire_recv(rx, fd, -1, clock_mono_ms() + 5000, &m, &e),
			 ERR_NONE);
	assert_non_null(m);
	return m;
}

static void every_value_comes_back(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct wire_msg m;
	struct wire_in in;
	size_t n;

	(void)state;
	wire_u8(&b, 0xfe);
	wire_u16(&b, 0xfedc);
	wire_u32(&b, 0xfedcba98U);
	wire_u64(&b, 0xfedcba9876543210U);
	wire_i32(&b, -5);
	wire_i64(&b, INT64_MIN);
	wire_str(&b, "text");
	wire_bytes(&b, "a\0b", 3);
	wire_str(&b, "");
	m = (struct wire_msg){.data = (uint8_t *)b.data, .len = b.len};
	in = wire_in(&m);
	assert_int_equal(wire_in_u8(&in), 0xfe);
	assert_int_equal(wire_in_u16(&in), 0xfedc);
	assert_int_equal(wire_in_u32(&in), 0xfedcba98U);
	assert_true(wire_in_u64(&in) == 0xfedcba9876543210U);
	assert_int_equal(wire_in_i32(&in), -5);
	assert_true(wire_in_i64(&in) == INT64_MIN);
	assert_string_equal(wire_in_str(&in), "text");
	assert_memory_equal(wire_in_bytes(&in, &n), "a\0b", 4);
	assert_int_equal(n, 3);
	assert_false(wire_in_done(&in)); /* one is left */
	assert_string_equal(wire_in_str(&in), "");
	assert_true(wire_in_done(&in));
}

static void a_payload_cut_anywhere_is_bad(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);

	(void)state;
	wire_u8(&b, 1);
	wire_u16(&b, 2);
	wire_u32(&b, 3);
	wire_u64(&b, 4);
	wire_str(&b, "text");
	for (size_t n = 0; n < b.len; n++) {
		struct wire_in in = {.p = (uint8_t *)b.data,
				     .end = (uint8_t *)b.data + n};

		wire_in_u8(&in);
		wire_in_u16(&in);
		wire_in_u32(&in);
		wire_in_u64(&in);
		assert_string_equal(wire_in_str(&in), "");
		assert_true(in.bad);
		assert_false(wire_in_done(&in));
	}
}

static void badness_is_sticky(void **state)
{
	uint8_t bytes[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct wire_in in = {.p = bytes, .end = bytes + 3};

	(void)state;
	assert_int_equal(wire_in_u32(&in), 0);
	assert_int_equal(wire_in_u8(&in), 0); /* would be there */
	assert_true(in.bad);
}

static void a_string_with_a_zero_inside_is_bad(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct wire_in in;

	(void)state;
	wire_bytes(&b, "a\0b", 3);
	in = (struct wire_in){.p = (uint8_t *)b.data,
			      .end = (uint8_t *)b.data + b.len};
	assert_string_equal(wire_in_str(&in), "");
	assert_true(in.bad);
}

static void bytes_without_their_last_zero_are_bad(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct wire_in in;
	size_t n = 5;

	(void)state;
	wire_u32(&b, 2);
	buf_adds(&b, "abc");
	in = (struct wire_in){.p = (uint8_t *)b.data,
			      .end = (uint8_t *)b.data + b.len};
	assert_string_equal(wire_in_bytes(&in, &n), "");
	assert_int_equal(n, 0);
	assert_true(in.bad);
}

static void a_length_near_the_top_does_not_wrap(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);

	(void)state;
	for (uint32_t d = 0; d < 8; d++) {
		struct wire_in in;
		size_t n;

		buf_reset(&b);
		wire_u32(&b, UINT32_MAX - d);
		buf_adds(&b, "abc");
		in = (struct wire_in){.p = (uint8_t *)b.data,
				      .end = (uint8_t *)b.data + b.len};
		assert_string_equal(wire_in_bytes(&in, &n), "");
		assert_true(in.bad);
	}
}

static void frames_split_at_every_byte_arrive_whole(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	OWN(pair_close) struct pair p = {-1, -1};
	OWN(wire_rx_free) struct wire_rx rx;
	struct errinfo e;
	int seen = 0;

	(void)state;
	pair_open(&p);
	wire_rx_init(&rx, 100);
	frame_of(&b, 1, "first");
	frame_of(&b, 2, "");
	frame_of(&b, 3, "third");
	for (size_t i = 0; i < b.len; i++) {
		struct wire_msg *m;
		bool more;

		put_raw(p.a, b.data + i, 1);
		assert_int_equal(wire_rx_fill(&rx, p.b, &more, &e), ERR_NONE);
		assert_true(more);
		assert_int_equal(wire_rx_next(&rx, &m, &e), ERR_NONE);
		if (m == NULL)
			continue;
		seen++;
		assert_int_equal(m->type, seen);
		assert_int_equal(m->tag, 77);
		assert_int_equal(m->len, seen == 2 ? 0 : 5);
		if (seen == 3)
			assert_memory_equal(m->data, "third", 5);
	}
	assert_int_equal(seen, 3);
}

static void many_frames_of_one_read_come_in_order(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(100000);
	OWN(pair_close) struct pair p = {-1, -1};
	OWN(wire_rx_free) struct wire_rx rx;
	int n = 0;

	(void)state;
	pair_open(&p);
	wire_rx_init(&rx, 100);
	for (uint16_t i = 0; i < 500; i++)
		frame_of(&b, i, "xy");
	/* A half frame at the end of the first part. */
	put_raw(p.a, b.data, b.len - 5);
	for (; n < 499; n++)
		assert_int_equal(read_one(&rx, p.b)->type, n);
	put_raw(p.a, b.data + b.len - 5, 5);
	assert_int_equal(read_one(&rx, p.b)->type, 499);
}

static void malformed_heads_are_refused(void **state)
{
	static const struct {
		uint32_t len;
		uint16_t fds;
		uint32_t zero;
	} bad[] = {
	    {101, 0, 0},
	    {UINT32_MAX, 0, 0},
	    {0, WIRE_FDS_MAX + 1, 0},
	    {0, UINT16_MAX, 0},
	    {0, 0, 1},
	    {0, 1, 0}, /* a descriptor that was not sent */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		OWN(buf_free) struct buf b = BUF_INIT(1000);
		OWN(pair_close) struct pair p = {-1, -1};
		OWN(wire_rx_free) struct wire_rx rx;
		struct wire_msg *m;
		struct errinfo e;

		pair_open(&p);
		wire_rx_init(&rx, 100);
		wire_u32(&b, bad[i].len);
		wire_u16(&b, 1);
		wire_u16(&b, bad[i].fds);
		wire_u32(&b, 1);
		wire_u32(&b, bad[i].zero);
		put_raw(p.a, b.data, b.len);
		assert_int_equal(
		    wire_recv(&rx, p.b, -1, clock_mono_ms() + 5000, &m, &e),
		    ERR_PEER);
	}
}

static void the_longest_payload_passes(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(200000);
	OWN(pair_close) struct pair p = {-1, -1};
	OWN(wire_tx_free) struct wire_tx tx;
	OWN(wire_rx_free) struct wire_rx rx;
	struct wire_msg *m = NULL;
	struct errinfo e;

	(void)state;
	pair_open(&p);
	wire_tx_init(&tx, 300000);
	wire_rx_init(&rx, 200000);
	assert_non_null(buf_space(&b, 200000));
	memset(b.data, 'z', 200000);
	buf_grow(&b, 200000);
	assert_int_equal(wire_tx_put(&tx, 9, 8, &b, &e), ERR_NONE);
	while (m == NULL) {
		bool more;

		assert_int_equal(wire_tx_flush(&tx, p.a, &e), ERR_NONE);
		assert_int_equal(wire_rx_fill(&rx, p.b, &more, &e), ERR_NONE);
		assert_int_equal(wire_rx_next(&rx, &m, &e), ERR_NONE);
	}
	assert_int_equal(tx.out.len, 0);
	assert_int_equal(m->len, 200000);
	assert_memory_equal(m->data, b.data, 200000);
}

static void a_long_queue_drains_in_order_while_it_grows(void **state)
{
	OWN(pair_close) struct pair p = {-1, -1};
	OWN(wire_tx_free) struct wire_tx tx;
	OWN(wire_rx_free) struct wire_rx rx;
	uint32_t put = 0, got = 0;
	struct errinfo e;

	(void)state;
	pair_open(&p);
	wire_tx_init(&tx, 600000);
	wire_rx_init(&rx, 100000);
	while (got < 2000) {
		OWN(buf_free) struct buf b = BUF_INIT(2000);
		struct wire_msg *m;
		bool more;

		buf_addf(&b, "%*u", (int)(put % 1500) + 10, (unsigned)put);
		if (put < 2000 && wire_tx_put(&tx, 1, put, &b, &e) == ERR_NONE)
			put++;
		assert_int_equal(wire_tx_flush(&tx, p.a, &e), ERR_NONE);
		if (put % 7 != 0 && put < 2000)
			continue; /* read more seldom than written */
		assert_int_equal(wire_rx_fill(&rx, p.b, &more, &e), ERR_NONE);
		for (;;) {
			assert_int_equal(wire_rx_next(&rx, &m, &e), ERR_NONE);
			if (m == NULL)
				break;
			assert_int_equal(m->tag, got);
			assert_int_equal(m->len, got % 1500 + 10);
			got++;
		}
	}
	assert_int_equal(tx.out.len, 0);
}

static void too_much_waiting_is_a_limit(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(100);
	OWN(wire_tx_free) struct wire_tx tx;
	struct errinfo e;

	(void)state;
	wire_tx_init(&tx, 2 * WIRE_HEAD_LEN + 3);
	buf_adds(&b, "123");
	assert_int_equal(wire_tx_put(&tx, 1, 1, &b, &e), ERR_NONE);
	assert_int_equal(wire_tx_put(&tx, 1, 1, &b, &e), ERR_LIMIT);
}

static void a_buffer_is_not_kept_large(void **state)
{
	OWN(pair_close) struct pair p = {-1, -1};
	OWN(buf_free) struct buf b = BUF_INIT(WIRE_KEEP_BYTES * 2);
	OWN(wire_tx_free) struct wire_tx tx;
	OWN(wire_rx_free) struct wire_rx rx;
	struct wire_msg *m = NULL;
	struct errinfo e;
	bool more;

	(void)state;
	pair_open(&p);
	wire_tx_init(&tx, WIRE_KEEP_BYTES * 3);
	wire_rx_init(&rx, WIRE_KEEP_BYTES * 2);
	assert_non_null(buf_space(&b, WIRE_KEEP_BYTES * 2));
	memset(b.data, 'z', WIRE_KEEP_BYTES * 2);
	buf_grow(&b, WIRE_KEEP_BYTES * 2);
	assert_int_equal(wire_tx_put(&tx, 9, 8, &b, &e), ERR_NONE);
	while (m == NULL) {
		assert_int_equal(wire_tx_flush(&tx, p.a, &e), ERR_NONE);
		assert_int_equal(wire_rx_fill(&rx, p.b, &more, &e), ERR_NONE);
		assert_int_equal(wire_rx_next(&rx, &m, &e), ERR_NONE);
	}
	assert_int_equal(wire_rx_fill(&rx, p.b, &more, &e), ERR_NONE);
	assert_true(rx.in.cap <= WIRE_KEEP_BYTES);
	assert_true(tx.out.cap <= WIRE_KEEP_BYTES);
}

static void the_end_of_the_stream_is_told(void **state)
{
	OWN(pair_close) struct pair p = {-1, -1};
	OWN(wire_rx_free) struct wire_rx rx;
	struct wire_msg *m;
	struct errinfo e;

	(void)state;
	pair_open(&p);
	wire_rx_init(&rx, 100);
	put_raw(p.a, "half", 4);
	own_fd(&p.a);
	assert_int_equal(wire_recv(&rx, p.b, -1, CLOCK_NEVER, &m, &e),
			 ERR_PEER);
	assert_int_equal(wire_send(p.b, 1, 1, NULL, CLOCK_NEVER, &e), ERR_PEER);
}

static void a_wait_ends_at_its_deadline(void **state)
{
	OWN(pair_close) struct pair p = {-1, -1};
	OWN(wire_rx_free) struct wire_rx rx;
	int64_t start = clock_mono_ms();
	struct wire_msg *m;
	struct errinfo e;

	(void)state;
	pair_open(&p);
	wire_rx_init(&rx, 100);
	assert_int_equal(wire_recv(&rx, p.b, -1, start + 50, &m, &e),
			 ERR_TIMEOUT);
	assert_in_range(clock_mono_ms() - start, 50, 2000);
}

static void a_peer_that_does_not_read_ends_a_send_at_its_deadline(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(4 << 20);
	OWN(pair_close) struct pair p = {-1, -1};
	struct errinfo e;

	(void)state;
	pair_open(&p);
	assert_non_null(buf_space(&b, 4 << 20));
	memset(b.data, 0, 4 << 20);
	buf_grow(&b, 4 << 20);
	assert_int_equal(wire_send(p.a, 1, 1, &b, clock_mono_ms() + 50, &e),
			 ERR_TIMEOUT);
}

static void a_client_that_hangs_up_ends_the_wait(void **state)
{
	OWN(pair_close) struct pair p = {-1, -1};
	OWN(pair_close) struct pair client = {-1, -1};
	OWN(wire_rx_free) struct wire_rx rx;
	struct wire_msg *m;
	struct errinfo e;

	(void)state;
	pair_open(&p);
	pair_open(&client);
	wire_rx_init(&rx, 100);
	own_fd(&client.a);
	assert_int_equal(
	    wire_recv(&rx, p.b, client.b, clock_mono_ms() + 5000, &m, &e),
	    ERR_GONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_value_comes_back),
	    cmocka_unit_test(a_payload_cut_anywhere_is_bad),
	    cmocka_unit_test(badness_is_sticky),
	    cmocka_unit_test(a_string_with_a_zero_inside_is_bad),
	    cmocka_unit_test(bytes_without_their_last_zero_are_bad),
	    cmocka_unit_test(a_length_near_the_top_does_not_wrap),
	    cmocka_unit_test(frames_split_at_every_byte_arrive_whole),
	    cmocka_unit_test(many_frames_of_one_read_come_in_order),
	    cmocka_unit_test(malformed_heads_are_refused),
	    cmocka_unit_test(the_longest_payload_passes),
	    cmocka_unit_test(a_long_queue_drains_in_order_while_it_grows),
	    cmocka_unit_test(too_much_waiting_is_a_limit),
	    cmocka_unit_test(a_buffer_is_not_kept_large),
	    cmocka_unit_test(the_end_of_the_stream_is_told),
	    cmocka_unit_test(a_wait_ends_at_its_deadline),
	    cmocka_unit_test(
		a_peer_that_does_not_read_ends_a_send_at_its_deadline),
	    cmocka_unit_test(a_client_that_hangs_up_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

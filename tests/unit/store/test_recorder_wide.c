/* Long frames: of two keepers that say something long, the second waits. */
#include "tests/unit/store/recorder_unit.h"

/* How much of it the recorder takes: until it takes no more for a while. */
static size_t push(struct bench *b, struct fake *k, const struct buf *from,
		   size_t at, size_t end)
{
	for (int idle = 0; at < end && idle < 20; idle++) {
		ssize_t n = send(k->fd, from->data + at, end - at,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			at += (size_t)n;
			idle = 0;
		}
		recorder_step(b->r, 1);
	}
	return at;
}

static void long_frames_come_from_one_keeper_at_a_time(void **state)
{
	struct bench *b = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox other = {.labels = NULL};
	OWN(buf_free) struct buf event = BUF_INIT(8 << 20);
	OWN(wire_tx_free) struct wire_tx tx = {0};
	char *text = calloc(1, 4 << 20);
	struct fake k[2];
	size_t all, at;

	assert_non_null(text);
	for (int i = 0; i < 2; i++) {
		connect_fake(b, &k[i]);
		say_item(&k[i], "x1", EXEC_CALL, EXEC_RUNNING, 1);
		assert_int_equal(expect_attach(b, &k[i], "x1", 0), 3);
		if (i == 0)
			unit_sandbox(b->u, &b->u->a, "other", &other);
		memcpy(b->box.id, other.id, sizeof(other.id));
	}
	wire_tx_init(&tx, 8 << 20);
	wire_u64(&event, 1);
	wire_u8(&event, EVENT_OUT);
	wire_i64(&event, 1000);
	wire_bytes(&event, text, 4 << 20);
	free(text);
	OK(wire_tx_put(&tx, KM_EVENT, 3, &event, &b->u->e));
	all = tx.out.len;
	assert_int_equal(push(b, &k[0], &tx.out, 0, all - 1), all - 1);
	at = push(b, &k[1], &tx.out, 0, all);
	assert_in_range(at, 1, 2 << 20);
	assert_int_equal(push(b, &k[0], &tx.out, all - 1, all), all);
	assert_int_equal(push(b, &k[1], &tx.out, at, all), all);
	for (int i = 0; i < 2; i++) {
		expect_ack(b, &k[i], "x1", 1);
		fake_close(&k[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RTEST(long_frames_come_from_one_keeper_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * A recorder, and a keeper that the test plays on a socketpair, or on a
 * listening socket in R/keepers.
 */
#ifndef TESTS_UNIT_STORE_RECORDER_UNIT_H
#define TESTS_UNIT_STORE_RECORDER_UNIT_H

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/keeper_msg.h"
#include "store/recorder.h"
#include "store_unit.h"

#define WAIT_MS 5000
/* Not each test needs all of them. */
#define PLAYED __attribute__((unused, noinline)) static

/* Our end of a connection. */
struct fake {
	int fd;
	struct wire_rx rx;
	uint32_t subscribe;
	uint32_t ping;
};

struct bench {
	struct unit *u;
	struct recorder_conf conf;
	struct recorder *r;
	struct ctl_sandbox box;
	char run[40];
};

PLAYED int bench_setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	void *u = NULL;
	char path[128];

	if (b == NULL || unit_setup(&u) != 0)
		return -1;
	b->u = u;
	b->conf = (struct recorder_conf)RECORDER_CONF_INIT;
	snprintf(b->run, sizeof(b->run), "%.30s/run", b->u->dir);
	snprintf(path, sizeof(path), "%s/keepers", b->run);
	if (mkdir(b->run, 0700) != 0 || mkdir(path, 0700) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/preview", b->run);
	if (mkdir(path, 0700) != 0)
		return -1;
	b->conf.data_dir = b->u->dir;
	b->conf.run_dir = b->run;
	b->conf.settle_ms = 50;
	unit_sandbox(b->u, &b->u->a, "box", &b->box);
	*state = b;
	return recorder_open(&b->conf, &b->r, &b->u->e) == ERR_NONE ? 0 : -1;
}

PLAYED int bench_teardown(void **state)
{
	struct bench *b = *state;
	void *u = b->u;

	recorder_close(&b->r);
	ctl_sandbox_free(&b->box);
	free(b);
	return unit_teardown(&u);
}

#define RTEST(f) cmocka_unit_test_setup_teardown(f, bench_setup, bench_teardown)

/* ---- the keeper that we play ---- */

PLAYED void fake_close(struct fake *k)
{
	own_fd(&k->fd);
	wire_rx_free(&k->rx);
}

/* The next frame from the recorder, or NULL when it hung up. */
PLAYED struct wire_msg *hear(struct bench *b, struct fake *k)
{
	int64_t deadline = clock_mono_ms() + WAIT_MS;
	struct wire_msg *msg;
	struct errinfo e;
	bool more;

	while (clock_mono_ms() < deadline) {
		OK(wire_rx_next(&k->rx, &msg, &e));
		if (msg != NULL)
			return msg;
		if (wire_rx_fill(&k->rx, k->fd, &more, &e) != ERR_NONE)
			return NULL;
		if (!more)
			recorder_step(b->r, 5);
	}
	fail_msg("the recorder says nothing");
	return NULL;
}

PLAYED void expect_hello(struct bench *b, struct fake *k)
{
	struct wire_msg *m = hear(b, k);

	assert_non_null(m);
	assert_int_equal(m->type, KM_SUBSCRIBE);
	k->subscribe = m->tag;
	m = hear(b, k);
	assert_non_null(m);
	assert_int_equal(m->type, KM_PING);
	k->ping = m->tag;
}

PLAYED void connect_fake(struct bench *b, struct fake *k)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				    0, fds),
			 0);
	*k = (struct fake){.fd = fds[0]};
	wire_rx_init(&k->rx, 1 << 16);
	OK(recorder_adopt(b->r, b->box.id, fds[1], &b->u->e));
	expect_hello(b, k);
}

PLAYED void say(struct fake *k, uint16_t type, uint32_t tag,
		const struct buf *payload)
{
	struct errinfo e;

	OK(wire_send(k->fd, type, tag, payload, clock_mono_ms() + WAIT_MS, &e));
}

PLAYED void say_item(struct fake *k, const char *id, enum exec_kind kind,
		     enum exec_state state, uint64_t next)
{
	OWN(buf_free) struct buf b = BUF_INIT(4096);
	const struct keeper_item item = {
	    .id = id,
	    .kind = kind,
	    .state = state,
	    .pid = 7,
	    .exit_code = 4,
	    .reason = state == EXEC_ENDED ? END_EXITED : END_NONE,
	    .first = 1,
	    .next = next,
	    .started_ms = 1000,
	    .ended_ms = state == EXEC_ENDED ? 2000 : 0};

	keeper_put_item(&b, &item);
	say(k, KM_ITEM, k->subscribe, &b);
}

PLAYED void say_event(struct fake *k, uint32_t tag, uint64_t seq,
		      enum event_kind kind, const void *data, size_t len)
{
	OWN(buf_free) struct buf b = BUF_INIT(1 << 20);

	wire_u64(&b, seq);
	wire_u8(&b, (uint8_t)kind);
	wire_i64(&b, 1000 + (int64_t)seq);
	wire_bytes(&b, data, len);
	say(k, KM_EVENT, tag, &b);
}

PLAYED void say_out(struct fake *k, uint32_t tag, uint64_t seq,
		    const char *text)
{
	say_event(k, tag, seq, EVENT_OUT, text, strlen(text));
}

PLAYED void say_end(struct fake *k, uint32_t tag, uint64_t seq, int code)
{
	OWN(buf_free) struct buf b = BUF_INIT(4096);
	const struct keeper_end end = {.exit_code = code,
				       .reason = END_EXITED,
				       .stdout_bytes = 11,
				       .duration_ms = 5};

	keeper_put_end(&b, &end);
	say_event(k, tag, seq, EVENT_END, b.data, b.len);
}

/* ATTACH of ${id}: its tag; what it has already in ${after}. */
PLAYED uint32_t expect_attach(struct bench *b, struct fake *k, const char *id,
			      uint64_t after)
{
	struct wire_msg *m = hear(b, k);
	struct wire_in in;

	assert_non_null(m);
	assert_int_equal(m->type, KM_ATTACH);
	in = wire_in(m);
	assert_string_equal(wire_in_str(&in), id);
	assert_int_equal(wire_in_u64(&in), after);
	assert_int_equal(wire_in_u8(&in), 1);
	assert_true(wire_in_done(&in));
	return m->tag;
}

/* ACKs come until ${seq} is reached. */
PLAYED void expect_ack(struct bench *b, struct fake *k, const char *id,
		       uint64_t seq)
{
	uint64_t got = 0;

	while (got < seq) {
		struct wire_msg *m = hear(b, k);
		struct wire_in in;

		assert_non_null(m);
		assert_int_equal(m->type, KM_ACK);
		in = wire_in(m);
		assert_string_equal(wire_in_str(&in), id);
		got = wire_in_u64(&in);
		assert_true(wire_in_done(&in));
	}
	assert_int_equal(got, seq);
}

PLAYED void expect_hangup(struct bench *b, struct fake *k)
{
	struct wire_msg *m;

	while ((m = hear(b, k)) != NULL)
		assert_int_equal(m->type, KM_ACK);
	fake_close(k);
}

PLAYED void expect_log(struct bench *b, const char *id, const char *want)
{
	OWN(log_page_free) struct log_page p = {.n = 0};
	OWN(buf_free) struct buf got = BUF_INIT(1 << 20);

	OK(log_chunk_read(b->u->c, b->box.id, id, 0, 1 << 20, &p, &b->u->e));
	for (size_t i = 0; i < p.n; i++) {
		buf_addf(&got, "%s%d:", i > 0 ? " " : "", (int)p.events[i].seq);
		if (p.events[i].kind == EVENT_END)
			buf_adds(&got, "end");
		else
			buf_add(&got, p.events[i].data, p.events[i].len);
	}
	assert_string_equal(buf_str(&got), want);
}

#endif

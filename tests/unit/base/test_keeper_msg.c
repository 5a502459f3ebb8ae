/* keeper_msg: what is written is read, and nothing else is. */
#include "tests/unit/base/unit.h"

#include <string.h>

#include "base/keeper_msg.h"
#include "base/own.h"

#define END_LEN_WITHOUT_HITS 39U

static struct wire_msg frame(uint16_t type, const struct buf *b)
{
	return (struct wire_msg){
	    .type = type,
	    .data = (const uint8_t *)buf_str(b),
	    .len = b->len,
	};
}

static void put_event(struct buf *b, uint64_t seq, uint8_t kind,
		      const void *data, size_t n)
{
	buf_reset(b);
	wire_u64(b, seq);
	wire_u8(b, kind);
	wire_i64(b, 1234);
	wire_bytes(b, data, n);
}

static const struct keeper_end an_end = {
    .exit_code = 137,
    .signal = 9,
    .reason = END_OUT_OF_MEMORY,
    .kernel_lost = true,
    .stdout_bytes = UINT64_MAX,
    .stderr_bytes = 2,
    .dropped_bytes = 3,
    .duration_ms = -4,
};

static void an_end_comes_through_whole(void **state)
{
	OWN(buf_free) struct buf data = BUF_INIT(1000);
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct keeper_event ev;
	struct wire_msg m;
	struct errinfo e;

	(void)state;
	keeper_put_end(&data, &an_end);
	put_event(&b, 7, EVENT_END, data.data, data.len);
	m = frame(KM_EVENT, &b);
	assert_int_equal(keeper_get_event(&m, &ev, &e), ERR_NONE);
	assert_int_equal(ev.seq, 7);
	assert_int_equal(ev.kind, EVENT_END);
	assert_int_equal(ev.unix_ms, 1234);
	assert_int_equal(ev.end.exit_code, 137);
	assert_int_equal(ev.end.signal, 9);
	assert_int_equal(ev.end.reason, END_OUT_OF_MEMORY);
	assert_true(ev.end.kernel_lost);
	assert_true(ev.end.stdout_bytes == UINT64_MAX);
	assert_int_equal(ev.end.stderr_bytes, 2);
	assert_int_equal(ev.end.dropped_bytes, 3);
	assert_int_equal(ev.end.duration_ms, -4);
}

static void output_bytes_come_through_as_they_are(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct keeper_event ev;
	struct wire_msg m;
	struct errinfo e;

	(void)state;
	put_event(&b, 1, EVENT_OUT, "a\0\xff", 3);
	m = frame(KM_EVENT, &b);
	assert_int_equal(keeper_get_event(&m, &ev, &e), ERR_NONE);
	assert_int_equal(ev.len, 3);
	assert_memory_equal(ev.data, "a\0\xff", 4);
}

/* What is stored of an execution that ended before ENDs told hits. */
static void an_end_of_older_times_has_no_hits(void **state)
{
	OWN(buf_free) struct buf data = BUF_INIT(1000);
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct keeper_event ev;
	struct wire_msg m;
	struct errinfo e;

	(void)state;
	keeper_put_end(&data, &an_end);
	put_event(&b, 7, EVENT_END, data.data, END_LEN_WITHOUT_HITS);
	m = frame(KM_EVENT, &b);
	assert_int_equal(keeper_get_event(&m, &ev, &e), ERR_NONE);
	assert_int_equal(ev.end.duration_ms, -4);
	for (int i = 0; i < HIT_COUNT; i++)
		assert_int_equal(ev.end.hits.of[i].hits, 0);
}

static void hits_come_through_in_order_and_once(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct keeper_hits h = {0}, got = {0};
	struct wire_msg m;
	struct wire_in in;

	(void)state;
	h.of[HIT_MEMORY] = (struct keeper_hit){1, 2, 3, 4};
	h.of[HIT_OUTPUT] = (struct keeper_hit){5, 6, 7, 8};
	keeper_put_hits(&b, &h);
	assert_int_equal(b.len, 1 + 2 * 33);
	m = frame(KM_ITEM, &b);
	in = wire_in(&m);
	assert_true(keeper_get_hits(&in, &got));
	assert_memory_equal(&got, &h, sizeof(h));
	b.data[1] = HIT_OUTPUT; /* twice */
	in = wire_in(&m);
	assert_false(keeper_get_hits(&in, &got));
	b.data[1] = HIT_COUNT;
	in = wire_in(&m);
	assert_false(keeper_get_hits(&in, &got));
}

static void an_event_cut_anywhere_is_refused(void **state)
{
	OWN(buf_free) struct buf data = BUF_INIT(1000);
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct keeper_event ev = {.seq = 99};
	struct errinfo e;

	(void)state;
	keeper_put_end(&data, &an_end);
	put_event(&b, 7, EVENT_END, data.data, data.len);
	for (size_t n = 0; n < b.len; n++) {
		struct wire_msg m = frame(KM_EVENT, &b);

		m.len = n;
		assert_int_equal(keeper_get_event(&m, &ev, &e), ERR_PEER);
		assert_int_equal(ev.seq, 99);
	}
	/* The END's own data cut, in an event that is whole. */
	for (size_t n = 0; n < data.len; n++) {
		struct wire_msg m;

		if (n == END_LEN_WITHOUT_HITS)
			continue;

		put_event(&b, 7, EVENT_END, data.data, n);
		m = frame(KM_EVENT, &b);
		assert_int_equal(keeper_get_event(&m, &ev, &e), ERR_PEER);
	}
	put_event(&b, 7, EVENT_OUT, "x", 1);
	wire_u8(&b, 0);
	assert_int_equal(
	    keeper_get_event(&(struct wire_msg){.type = KM_EVENT,
						.data = (uint8_t *)b.data,
						.len = b.len},
			     &ev, &e),
	    ERR_PEER);
}

static void events_out_of_the_closed_sets_are_refused(void **state)
{
	OWN(buf_free) struct buf data = BUF_INIT(1000);
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct keeper_event ev;
	struct wire_msg m;
	struct errinfo e;

	(void)state;
	put_event(&b, 0, EVENT_OUT, "x", 1);
	m = frame(KM_EVENT, &b);
	assert_int_equal(keeper_get_event(&m, &ev, &e), ERR_PEER);
	put_event(&b, 1, EVENT_OUT, "x", 1);
	m = frame(KM_ITEM, &b);
	assert_int_equal(keeper_get_event(&m, &ev, &e), ERR_PEER);
	for (int kind = 0; kind < 256; kind++) {
		if (kind >= EVENT_OUT && kind <= EVENT_DONE)
			continue;
		put_event(&b, 1, (uint8_t)kind, "x", 1);
		m = frame(KM_EVENT, &b);
		assert_int_equal(keeper_get_event(&m, &ev, &e), ERR_PEER);
	}
	keeper_put_end(&data, &an_end);
	for (int reason = 0; reason < 256; reason++) {
		data.data[5] = (char)reason;
		put_event(&b, 1, EVENT_END, data.data, data.len);
		m = frame(KM_EVENT, &b);
		assert_int_equal(keeper_get_event(&m, &ev, &e),
				 reason >= END_EXITED &&
					 reason <= END_SANDBOX_GONE
				     ? ERR_NONE
				     : ERR_PEER);
	}
}

static const struct keeper_item an_item = {
    .id = "proc_1_x",
    .kind = EXEC_PROCESS,
    .state = EXEC_ENDED,
    .pid = 42,
    .exit_code = -1,
    .reason = END_KILLED,
    .first = 3,
    .next = 9,
    .started_ms = 1000,
    .ended_ms = 2000,
};

static void an_item_comes_through_whole_and_only_whole(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct keeper_item it = {.pid = 7};
	struct wire_msg m;
	struct errinfo e;

	(void)state;
	keeper_put_item(&b, &an_item);
	for (size_t n = 0; n < b.len; n++) {
		m = frame(KM_ITEM, &b);
		m.len = n;
		assert_int_equal(keeper_get_item(&m, &it, &e), ERR_PEER);
		assert_int_equal(it.pid, 7);
	}
	m = frame(KM_ITEM, &b);
	assert_int_equal(keeper_get_item(&m, &it, &e), ERR_NONE);
	assert_string_equal(it.id, "proc_1_x");
	assert_int_equal(it.kind, EXEC_PROCESS);
	assert_int_equal(it.state, EXEC_ENDED);
	assert_int_equal(it.pid, 42);
	assert_int_equal(it.exit_code, -1);
	assert_int_equal(it.reason, END_KILLED);
	assert_int_equal(it.first, 3);
	assert_int_equal(it.next, 9);
	assert_int_equal(it.started_ms, 1000);
	assert_int_equal(it.ended_ms, 2000);
}

static void items_out_of_the_closed_sets_are_refused(void **state)
{
	static const struct keeper_item bad[] = {
	    {.id = "x", .kind = 0, .state = EXEC_RUNNING},
	    {.id = "x", .kind = EXEC_RUN + 1, .state = EXEC_RUNNING},
	    {.id = "x", .kind = EXEC_CALL, .state = 0},
	    {.id = "x", .kind = EXEC_CALL, .state = EXEC_ENDED + 1},
	    {.id = "x",
	     .kind = EXEC_CALL,
	     .state = EXEC_ENDED,
	     .reason = END_SANDBOX_GONE + 1},
	};
	struct errinfo e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		OWN(buf_free) struct buf b = BUF_INIT(1000);
		struct keeper_item it;
		struct wire_msg m;

		keeper_put_item(&b, &bad[i]);
		m = frame(KM_ITEM, &b);
		assert_int_equal(keeper_get_item(&m, &it, &e), ERR_PEER);
	}
}

static void a_start_is_laid_out_as_its_contract_says(void **state)
{
	static const char *const argv[] = {"/bin/sh", "-c", ""};
	static const char *const env[] = {"A=b"};
	static const struct keeper_start s = {
	    .id = "e1",
	    .kind = EXEC_CALL,
	    .flags = KF_ATTACH | KF_MERGE,
	    .timeout_ms = 5,
	    .grace_ms = 6,
	    .ring_bytes = 7,
	    .argv = argv,
	    .argc = 3,
	    .env = env,
	    .envc = 1,
	    .stdin_data = "i\0n",
	    .stdin_len = 3,
	    .session = "s1",
	};
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct wire_msg m;
	struct wire_in in;
	size_t n;

	(void)state;
	keeper_put_start(&b, &s);
	m = frame(KM_START, &b);
	in = wire_in(&m);
	assert_string_equal(wire_in_str(&in), "e1");
	assert_int_equal(wire_in_u8(&in), EXEC_CALL);
	assert_int_equal(wire_in_u32(&in), KF_ATTACH | KF_MERGE);
	assert_int_equal(wire_in_u64(&in), 5);
	assert_int_equal(wire_in_u32(&in), 6);
	assert_int_equal(wire_in_u64(&in), 7);
	assert_string_equal(wire_in_str(&in), "");
	assert_string_equal(wire_in_str(&in), "");
	assert_int_equal(wire_in_u32(&in), 3);
	assert_string_equal(wire_in_str(&in), "/bin/sh");
	assert_string_equal(wire_in_str(&in), "-c");
	assert_string_equal(wire_in_str(&in), "");
	assert_int_equal(wire_in_u32(&in), 1);
	assert_string_equal(wire_in_str(&in), "A=b");
	assert_memory_equal(wire_in_bytes(&in, &n), "i\0n", 4);
	assert_int_equal(n, 3);
	assert_string_equal(wire_in_str(&in), "s1");
	assert_true(wire_in_done(&in));
}

static void a_session_comes_back_as_it_was_told(void **state)
{
	static const struct keeper_session told = {
	    .id = "s1", .busy = true, .created_ms = 12, .cwd = "/a b"};
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct keeper_session s = {0};
	struct wire_msg m;
	struct errinfo e;

	(void)state;
	keeper_put_session(&b, &told);
	m = frame(KM_SESSION, &b);
	assert_int_equal(keeper_get_session(&m, &s, &e), ERR_NONE);
	assert_string_equal(s.id, "s1");
	assert_true(s.busy);
	assert_int_equal(s.created_ms, 12);
	assert_string_equal(s.cwd, "/a b");
	m.len--;
	assert_int_equal(keeper_get_session(&m, &s, &e), ERR_PEER);
}

static void a_state_comes_through_whole_and_only_whole(void **state)
{
	(void)state;
	for (int bits = 0; bits < 8; bits++) {
		OWN(buf_free) struct buf b = BUF_INIT(100);
		const struct keeper_state s = {.asleep = (bits & 1) != 0,
					       .frozen = (bits & 2) != 0,
					       .in_use = (bits & 4) != 0,
					       .used_ms = 1234 + bits};
		struct keeper_state got = {.used_ms = 1};
		struct errinfo e;
		struct wire_msg m;

		keeper_put_state(&b, &s);
		m = frame(KM_STATE_IS, &b);
		assert_int_equal(keeper_get_state(&m, &got, &e), ERR_NONE);
		assert_int_equal(got.asleep, s.asleep);
		assert_int_equal(got.frozen, s.frozen);
		assert_int_equal(got.in_use, s.in_use);
		assert_int_equal(got.used_ms, s.used_ms);
		for (m.len = 0; m.len < b.len; m.len++)
			assert_int_equal(keeper_get_state(&m, &got, &e),
					 ERR_PEER);
		b.data[0] = (char)(bits | 8); /* no such bit */
		m = frame(KM_STATE_IS, &b);
		assert_int_equal(keeper_get_state(&m, &got, &e), ERR_PEER);
		m.type = KM_OK;
		assert_int_equal(keeper_get_state(&m, &got, &e), ERR_PEER);
	}
}

static void a_refusal_is_an_error_and_never_a_success(void **state)
{
	struct errinfo e;

	(void)state;
	for (uint32_t code = 0; code < 300; code++) {
		OWN(buf_free) struct buf b = BUF_INIT(1000);
		enum err want = code > 0 && code <= ERR_GONE ? (enum err)code
							     : ERR_PEER;
		struct wire_msg m;

		wire_u32(&b, code);
		wire_str(&b, "cwd");
		m = frame(KM_REFUSED, &b);
		assert_int_equal(keeper_refused(&m, &e), want);
		if (want != ERR_PEER)
			assert_string_equal(e.text, "cwd");
		m.type = KM_OK;
		assert_int_equal(keeper_refused(&m, &e), ERR_PEER);
	}
}

static void reasons_have_the_names_that_tenants_know(void **state)
{
	(void)state;
	assert_string_equal(end_reason_name(END_NONE), "");
	assert_string_equal(end_reason_name(END_EXITED), "exited");
	assert_string_equal(end_reason_name(END_SANDBOX_GONE), "sandbox_gone");
	assert_string_equal(end_reason_name((enum end_reason)200), "");
}

static void a_keeper_that_does_not_live_is_not_found(void **state)
{
	struct errinfo e;
	int fd = -1, before = unit_fds();

	(void)state;
	assert_int_equal(keeper_connect("/nonexistent", "s1", &fd, &e),
			 ERR_NOT_FOUND);
	assert_int_equal(fd, -1);
	assert_int_equal(unit_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_end_comes_through_whole),
	    cmocka_unit_test(output_bytes_come_through_as_they_are),
	    cmocka_unit_test(an_end_of_older_times_has_no_hits),
	    cmocka_unit_test(hits_come_through_in_order_and_once),
	    cmocka_unit_test(an_event_cut_anywhere_is_refused),
	    cmocka_unit_test(events_out_of_the_closed_sets_are_refused),
	    cmocka_unit_test(an_item_comes_through_whole_and_only_whole),
	    cmocka_unit_test(items_out_of_the_closed_sets_are_refused),
	    cmocka_unit_test(a_start_is_laid_out_as_its_contract_says),
	    cmocka_unit_test(a_session_comes_back_as_it_was_told),
	    cmocka_unit_test(a_state_comes_through_whole_and_only_whole),
	    cmocka_unit_test(a_refusal_is_an_error_and_never_a_success),
	    cmocka_unit_test(reasons_have_the_names_that_tenants_know),
	    cmocka_unit_test(a_keeper_that_does_not_live_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

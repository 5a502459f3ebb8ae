#include "store/log_chunk.h"
#include "store/stmt.h"
#include "store_unit.h"

#define BOX "s00000aaaaaaaaaaaaaaaa"
#define OTHER "s00000bbbbbbbbbbbbbbbb"

static const struct log_bounds wide = {LOG_EXEC_BYTES_MAX,
				       LOG_SANDBOX_BYTES_MAX};

static void append_n(struct unit *u, const char *exec, uint64_t seq,
		     const char *data, size_t len,
		     const struct log_bounds *bounds)
{
	const struct keeper_event ev = {.seq = seq,
					.kind = EVENT_OUT,
					.unix_ms = 1000 + (int64_t)seq,
					.data = data,
					.len = len};

	OK(log_chunk_append(u->c, BOX, exec, &ev, bounds, &u->e));
}

static void append(struct unit *u, const char *exec, uint64_t seq,
		   const char *text, const struct log_bounds *bounds)
{
	OK(log_chunk_begin(u->c, &u->e));
	append_n(u, exec, seq, text, strlen(text), bounds);
	OK(log_chunk_commit(u->c, &u->e));
}

static struct log_state state_of(struct unit *u, const char *exec)
{
	struct log_state s;

	OK(log_chunk_state(u->c, BOX, exec, &s, &u->e));
	return s;
}

static void chunks_are_read_as_they_were_written(void **state)
{
	struct unit *u = *state;
	OWN(log_page_free) struct log_page p = {.n = 0};

	append(u, "x1", 1, "one", &wide);
	append(u, "x1", 2, "", &wide);
	OK(log_chunk_begin(u->c, &u->e));
	append_n(u, "x1", 3, "a\0b\xff", 4, &wide);
	OK(log_chunk_commit(u->c, &u->e));
	OK(log_chunk_read(u->c, BOX, "x1", 0, 4096, &p, &u->e));
	assert_int_equal(p.n, 3);
	assert_int_equal(p.events[0].seq, 1);
	assert_int_equal(p.events[0].kind, EVENT_OUT);
	assert_int_equal(p.events[0].unix_ms, 1001);
	assert_string_equal(p.events[0].data, "one");
	assert_int_equal(p.events[1].len, 0);
	assert_int_equal(p.events[2].len, 4);
	assert_memory_equal(p.events[2].data, "a\0b\xff", 4);
	assert_int_equal(p.state.last, 3);
	assert_int_equal(p.state.first, 1);
	assert_false(p.state.ended);
}

static void a_log_that_never_was_is_empty(void **state)
{
	struct unit *u = *state;
	OWN(log_page_free) struct log_page p = {.n = 0};

	append(u, "x1", 1, "one", &wide);
	OK(log_chunk_read(u->c, BOX, "x2", 0, 4096, &p, &u->e));
	assert_int_equal(p.n, 0);
	assert_int_equal(p.state.last, 0);
	assert_int_equal(p.state.first, 1);
	OK(log_chunk_read(u->c, OTHER, "x1", 0, 4096, &p, &u->e));
	assert_int_equal(p.n, 0);
}

static void an_end_is_read_with_its_facts(void **state)
{
	struct unit *u = *state;
	OWN(log_page_free) struct log_page p = {.n = 0};
	OWN(buf_free) struct buf b = BUF_INIT(256);
	const struct keeper_end end = {.exit_code = 7, .reason = END_EXITED};
	struct keeper_event ev = {.seq = 1, .kind = EVENT_END};

	keeper_put_end(&b, &end);
	ev.data = buf_str(&b);
	ev.len = b.len;
	OK(log_chunk_begin(u->c, &u->e));
	OK(log_chunk_append(u->c, BOX, "x1", &ev, &wide, &u->e));
	OK(log_chunk_commit(u->c, &u->e));
	OK(log_chunk_read(u->c, BOX, "x1", 0, 4096, &p, &u->e));
	assert_int_equal(p.n, 1);
	assert_int_equal(p.events[0].kind, EVENT_END);
	assert_int_equal(p.events[0].end.exit_code, 7);
	assert_int_equal(p.events[0].end.reason, END_EXITED);
	assert_true(p.state.ended);
}

static void a_seq_that_is_there_is_passed_over(void **state)
{
	struct unit *u = *state;
	OWN(log_page_free) struct log_page p = {.n = 0};

	append(u, "x1", 1, "first", &wide);
	append(u, "x1", 1, "other", &wide);
	append(u, "x1", 2, "second", &wide);
	append(u, "x1", 1, "late", &wide);
	OK(log_chunk_read(u->c, BOX, "x1", 0, 4096, &p, &u->e));
	assert_int_equal(p.n, 2);
	assert_string_equal(p.events[0].data, "first");
	assert_int_equal(state_of(u, "x1").dropped_events, 0);
}

static void a_jump_in_seq_is_counted(void **state)
{
	struct unit *u = *state;
	OWN(log_page_free) struct log_page p = {.n = 0};

	append(u, "x1", 5, "five", &wide);
	append(u, "x1", 9, "nine", &wide);
	assert_int_equal(state_of(u, "x1").dropped_events, 7);
	assert_int_equal(state_of(u, "x1").first, 5);
	OK(log_chunk_read(u->c, BOX, "x1", 5, 4096, &p, &u->e));
	assert_int_equal(p.n, 1);
	assert_int_equal(p.events[0].seq, 9);
}

static void an_execution_is_bounded_and_drops_are_counted(void **state)
{
	struct unit *u = *state;
	OWN(log_page_free) struct log_page p = {.n = 0};
	const struct log_bounds b = {10 * (LOG_CHUNK_OVERHEAD + 10), 1 << 20};
	struct log_state s;

	for (uint64_t i = 1; i <= 100; i++)
		append(u, "x1", i, "0123456789", &b);
	s = state_of(u, "x1");
	assert_int_equal(s.bytes, b.exec_bytes_max);
	assert_int_equal(s.first, 91);
	assert_int_equal(s.last, 100);
	assert_int_equal(s.dropped_events, 90);
	assert_int_equal(s.dropped_bytes, 900);
	OK(log_chunk_read(u->c, BOX, "x1", 0, 4096, &p, &u->e));
	assert_int_equal(p.n, 10);
	assert_int_equal(p.events[0].seq, 91);
}

static void a_sandbox_is_bounded_and_its_oldest_log_gives_way(void **state)
{
	struct unit *u = *state;
	const size_t one = LOG_CHUNK_OVERHEAD + 10;
	const struct log_bounds b = {8 * one, 10 * one};
	int64_t n = 0;

	for (uint64_t i = 1; i <= 8; i++)
		append(u, "x1", i, "0123456789", &b);
	for (uint64_t i = 1; i <= 8; i++)
		append(u, "x2", i, "0123456789", &b);
	assert_int_equal(state_of(u, "x1").bytes, 2 * one);
	assert_int_equal(state_of(u, "x1").first, 7);
	assert_int_equal(state_of(u, "x1").dropped_events, 6);
	assert_int_equal(state_of(u, "x2").bytes, 8 * one);
	for (uint64_t i = 1; i <= 8; i++)
		append(u, "x3", i, "0123456789", &b);
	assert_int_equal(state_of(u, "x1").bytes, 0);
	assert_int_equal(state_of(u, "x1").first, 9);
	assert_int_equal(state_of(u, "x2").bytes, 2 * one);
	assert_int_equal(state_of(u, "x3").bytes, 8 * one);
	OK(db_int(u->c->db[STORE_LOGS], "SELECT bytes FROM sandbox_logs", &n,
		  &u->e));
	assert_int_equal(n, 10 * one);
	/* The counters say what is there. */
	OK(db_int(u->c->db[STORE_LOGS],
		  "SELECT sum(length(data) + 64) FROM chunks", &n, &u->e));
	assert_int_equal(n, 10 * one);
}

static void an_event_larger_than_the_bounds_is_counted_not_kept(void **state)
{
	struct unit *u = *state;
	const struct log_bounds b = {LOG_CHUNK_OVERHEAD + 10, 1 << 20};
	struct log_state s;

	append(u, "x1", 1, "small", &b);
	append(u, "x1", 2, "much too large", &b);
	s = state_of(u, "x1");
	assert_int_equal(s.last, 2);
	assert_int_equal(s.dropped_events, 1);
	assert_int_equal(s.dropped_bytes, strlen("much too large"));
	append(u, "x1", 3, "next", &b);
	assert_int_equal(state_of(u, "x1").first, 3);
}

static void pages_are_bounded_and_whole(void **state)
{
	struct unit *u = *state;
	uint64_t after = 0, seen = 0;

	OK(log_chunk_begin(u->c, &u->e));
	for (uint64_t i = 1; i <= 1500; i++)
		append_n(u, "x1", i, "0123456789", 10, &wide);
	OK(log_chunk_commit(u->c, &u->e));
	for (;;) {
		OWN(log_page_free) struct log_page p = {.n = 0};

		OK(log_chunk_read(u->c, BOX, "x1", after, 100, &p, &u->e));
		if (p.n == 0)
			break;
		assert_true(p.n <= 10);
		for (size_t i = 0; i < p.n; i++)
			assert_int_equal(p.events[i].seq, ++seen);
		after = p.events[p.n - 1].seq;
	}
	assert_int_equal(seen, 1500);
	{
		OWN(log_page_free) struct log_page p = {.n = 0};

		/* At least one, however small the page. */
		OK(log_chunk_read(u->c, BOX, "x1", 3, 1, &p, &u->e));
		assert_int_equal(p.n, 1);
		assert_int_equal(p.events[0].seq, 4);
	}
	{
		OWN(log_page_free) struct log_page p = {.n = 0};

		OK(log_chunk_read(u->c, BOX, "x1", 0, 1 << 20, &p, &u->e));
		assert_int_equal(p.n, LOG_PAGE_CHUNKS);
	}
	{
		OWN(log_page_free) struct log_page p = {.n = 0};

		OK(log_chunk_read(u->c, BOX, "x1", UINT64_MAX, 10, &p, &u->e));
		assert_int_equal(p.n, 0);
	}
}

static void what_is_rolled_back_was_not_appended(void **state)
{
	struct unit *u = *state;

	append(u, "x1", 1, "one", &wide);
	OK(log_chunk_begin(u->c, &u->e));
	append_n(u, "x1", 2, "two", 3, &wide);
	log_chunk_rollback(u->c);
	assert_int_equal(state_of(u, "x1").last, 1);
	append(u, "x1", 2, "two", &wide);
	assert_int_equal(state_of(u, "x1").last, 2);
}

static void a_sandboxs_logs_are_removed_alone(void **state)
{
	struct unit *u = *state;
	const struct keeper_event ev = {
	    .seq = 1, .kind = EVENT_OUT, .data = "x", .len = 1};
	int64_t n = -1;

	append(u, "x1", 1, "one", &wide);
	append(u, "x2", 1, "two", &wide);
	OK(log_chunk_begin(u->c, &u->e));
	OK(log_chunk_append(u->c, OTHER, "x1", &ev, &wide, &u->e));
	OK(log_chunk_commit(u->c, &u->e));
	OK(log_chunk_remove(u->c, BOX, "x1", &u->e));
	assert_int_equal(state_of(u, "x1").last, 0);
	assert_int_equal(state_of(u, "x2").last, 1);
	OK(log_chunk_remove(u->c, BOX, NULL, &u->e));
	OK(db_int(u->c->db[STORE_LOGS], "SELECT count(*) FROM chunks", &n,
		  &u->e));
	assert_int_equal(n, 1);
	OK(db_int(u->c->db[STORE_LOGS],
		  "SELECT count(*) FROM sandbox_logs WHERE bytes > 0", &n,
		  &u->e));
	assert_int_equal(n, 1);
	OK(log_chunk_remove(u->c, BOX, NULL, &u->e));
	OK(log_chunk_remove(u->c, BOX, "never", &u->e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(chunks_are_read_as_they_were_written),
	    TEST(a_log_that_never_was_is_empty),
	    TEST(an_end_is_read_with_its_facts),
	    TEST(a_seq_that_is_there_is_passed_over),
	    TEST(a_jump_in_seq_is_counted),
	    TEST(an_execution_is_bounded_and_drops_are_counted),
	    TEST(a_sandbox_is_bounded_and_its_oldest_log_gives_way),
	    TEST(an_event_larger_than_the_bounds_is_counted_not_kept),
	    TEST(pages_are_bounded_and_whole),
	    TEST(what_is_rolled_back_was_not_appended),
	    TEST(a_sandboxs_logs_are_removed_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

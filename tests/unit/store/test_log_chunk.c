#include "base/clock.h"
#include "store/log_chunk.h"
#include "store/stmt.h"
#include "store_unit.h"

#define BOX "s00000aaaaaaaaaaaaaaaa"
#define OTHER "s00000bbbbbbbbbbbbbbbb"

#define ONE (LOG_CHUNK_OVERHEAD + 10) /* "0123456789" as it is counted */

static const struct log_bounds wide = {8 << 20, 64 << 20, 256 << 20};

static int64_t late_ms; /* of what append() appends */

static void append_n(struct unit *u, const char *exec, uint64_t seq,
		     const char *data, size_t len,
		     const struct log_bounds *bounds)
{
	const struct keeper_event ev = {.seq = seq,
					.kind = EVENT_OUT,
					.unix_ms = 1000 + late_ms +
						   (int64_t)seq,
					.data = data,
					.len = len};

	OK(unit_append(u, BOX, exec, &ev, bounds));
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
	OK(unit_append(u, BOX, "x1", &ev, &wide));
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
	const struct log_bounds b = {10 * ONE, 1 << 20, 1 << 20};
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
	const struct log_bounds b = {8 * ONE, 10 * ONE, 1 << 20};
	int64_t n = 0;

	for (uint64_t i = 1; i <= 8; i++)
		append(u, "x1", i, "0123456789", &b);
	late_ms = 100;
	for (uint64_t i = 1; i <= 8; i++)
		append(u, "x2", i, "0123456789", &b);
	late_ms = 200;
	assert_int_equal(state_of(u, "x1").bytes, 2 * ONE);
	assert_int_equal(state_of(u, "x1").first, 7);
	assert_int_equal(state_of(u, "x1").dropped_events, 6);
	assert_int_equal(state_of(u, "x2").bytes, 8 * ONE);
	for (uint64_t i = 1; i <= 8; i++)
		append(u, "x3", i, "0123456789", &b);
	late_ms = 0;
	assert_int_equal(state_of(u, "x1").bytes, 0);
	assert_int_equal(state_of(u, "x1").first, 9);
	assert_int_equal(state_of(u, "x2").bytes, 2 * ONE);
	assert_int_equal(state_of(u, "x3").bytes, 8 * ONE);
	OK(db_int(u->c->db[STORE_LOGS], "SELECT bytes FROM sandbox_logs", &n,
		  &u->e));
	assert_int_equal(n, 10 * ONE);
	/* The counters say what is there. */
	OK(db_int(u->c->db[STORE_LOGS],
		  "SELECT sum(length(data) + 64) FROM chunks", &n, &u->e));
	assert_int_equal(n, 10 * ONE);
}

static void an_event_larger_than_the_bounds_is_counted_not_kept(void **state)
{
	struct unit *u = *state;
	const struct log_bounds b = {ONE, 1 << 20, 1 << 20};
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

/* Events ${from} to ${to} at once, ten bytes each. */
static void append_batch(struct unit *u, const char *exec, uint64_t from,
			 uint64_t to, const struct log_bounds *bounds)
{
	struct keeper_event ev[64];
	const struct log_batch b = {.tenant = u->a.id,
				    .sandbox = BOX,
				    .exec = exec,
				    .bounds = bounds,
				    .events = ev,
				    .n = to - from + 1};

	for (size_t i = 0; i < b.n; i++)
		ev[i] = (struct keeper_event){.seq = from + i,
					      .kind = EVENT_OUT,
					      .unix_ms = 1000,
					      .data = "0123456789",
					      .len = 10};
	OK(log_chunk_begin(u->c, &u->e));
	OK(log_chunk_append(u->c, &b, &u->e));
	OK(log_chunk_commit(u->c, &u->e));
}

static void a_batch_is_appended_as_its_events_would_be(void **state)
{
	struct unit *u = *state;
	OWN(log_page_free) struct log_page p = {.n = 0};
	const struct log_bounds b = {10 * ONE, 1 << 20, 1 << 20};
	struct log_state s;

	append_batch(u, "x1", 1, 4, &b);
	/* Some that are there already, and more than have room. */
	append_batch(u, "x1", 3, 26, &b);
	s = state_of(u, "x1");
	assert_int_equal(s.bytes, 10 * ONE);
	assert_int_equal(s.first, 17);
	assert_int_equal(s.last, 26);
	assert_int_equal(s.dropped_events, 16);
	assert_int_equal(s.dropped_bytes, 160);
	assert_int_equal(s.data_bytes, 260);
	OK(log_chunk_read(u->c, BOX, "x1", 0, 4096, &p, &u->e));
	assert_int_equal(p.n, 10);
	assert_int_equal(p.events[0].seq, 17);
}

static void a_tenant_is_bounded_over_its_sandboxes(void **state)
{
	struct unit *u = *state;
	const struct log_bounds b = {8 * ONE, 10 * ONE, 12 * ONE};
	struct keeper_event ev = {
	    .seq = 1, .kind = EVENT_OUT, .data = "0123456789", .len = 10};
	int64_t n = 0;

	for (; ev.seq <= 8; ev.seq++) {
		ev.unix_ms = (int64_t)ev.seq;
		OK(log_chunk_begin(u->c, &u->e));
		OK(unit_append(u, OTHER, "y", &ev, &b));
		OK(log_chunk_commit(u->c, &u->e));
	}
	for (uint64_t i = 1; i <= 8; i++)
		append(u, "x1", i, "0123456789", &b);
	assert_int_equal(state_of(u, "x1").bytes, 8 * ONE);
	OK(db_int(u->c->db[STORE_LOGS],
		  "SELECT bytes FROM logs WHERE exec_id = 'y'", &n, &u->e));
	assert_int_equal(n, 4 * ONE);
	OK(db_int(u->c->db[STORE_LOGS],
		  "SELECT bytes FROM sandbox_logs WHERE sandbox_id = '" OTHER
		  "'",
		  &n, &u->e));
	assert_int_equal(n, 4 * ONE);
	OK(db_int(u->c->db[STORE_LOGS], "SELECT bytes FROM tenant_logs", &n,
		  &u->e));
	assert_int_equal(n, 12 * ONE);
}

static void the_log_with_the_oldest_output_gives_way_first(void **state)
{
	struct unit *u = *state;
	const struct log_bounds b = {8 * ONE, 8 * ONE, 1 << 20};

	/* x1 was there first, but what is left of it is newer. */
	append(u, "x1", 1, "0123456789", &b);
	for (uint64_t i = 2; i <= 5; i++)
		append(u, "x2", i, "0123456789", &b);
	append(u, "x1", 2001, "0123456789", &b);
	append(u, "x1", 2002, "0123456789", &b);
	append(u, "x1", 2003, "0123456789", &b);
	/* Full: one of x1 goes, being the oldest, then one of x2. */
	append(u, "x3", 3001, "0123456789", &b);
	append(u, "x3", 3002, "0123456789", &b);
	assert_int_equal(state_of(u, "x1").bytes, 3 * ONE);
	assert_int_equal(state_of(u, "x2").first, 3);
	assert_int_equal(state_of(u, "x3").first, 3001);
}

static void what_the_keeper_dropped_is_counted_at_the_end(void **state)
{
	struct unit *u = *state;
	struct keeper_event ev = {
	    .seq = 9,
	    .kind = EVENT_END,
	    .end = {.stdout_bytes = 100, .stderr_bytes = 7}};

	append(u, "x1", 8, "0123456789", &wide);
	OK(log_chunk_begin(u->c, &u->e));
	OK(unit_append(u, BOX, "x1", &ev, &wide));
	OK(log_chunk_commit(u->c, &u->e));
	assert_int_equal(state_of(u, "x1").dropped_events, 7);
	assert_int_equal(state_of(u, "x1").dropped_bytes, 97);
}

static void output_of_the_future_is_of_now(void **state)
{
	struct unit *u = *state;
	const struct keeper_event ev = {.seq = 1,
					.kind = EVENT_OUT,
					.unix_ms = INT64_MAX,
					.data = "x",
					.len = 1};
	int64_t at = 0;

	OK(log_chunk_begin(u->c, &u->e));
	OK(unit_append(u, BOX, "x1", &ev, &wide));
	OK(log_chunk_commit(u->c, &u->e));
	OK(db_int(u->c->db[STORE_LOGS], "SELECT at FROM chunks", &at, &u->e));
	assert_in_range(at, clock_unix_ms() - 60000, clock_unix_ms());
}

static void nothing_is_added_to_a_log_that_was_removed(void **state)
{
	struct unit *u = *state;
	int64_t n = 0;

	append(u, "x1", 1, "one", &wide);
	OK(log_chunk_remove(u->c, BOX, "x1", &u->e));
	append(u, "x1", 2, "two", &wide);
	assert_int_equal(state_of(u, "x1").last, 0);
	OK(db_int(u->c->db[STORE_LOGS], "SELECT count(*) FROM chunks", &n,
		  &u->e));
	assert_int_equal(n, 1);
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
	OK(unit_append(u, OTHER, "x1", &ev, &wide));
	OK(log_chunk_commit(u->c, &u->e));
	OK(log_chunk_remove(u->c, BOX, "x1", &u->e));
	assert_int_equal(state_of(u, "x1").last, 0);
	assert_int_equal(state_of(u, "x2").last, 1);
	OK(log_chunk_remove(u->c, BOX, NULL, &u->e));
	assert_int_equal(state_of(u, "x2").last, 0);
	OK(db_int(u->c->db[STORE_LOGS],
		  "SELECT count(*) FROM logs WHERE gone = 0", &n, &u->e));
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
	    TEST(a_batch_is_appended_as_its_events_would_be),
	    TEST(a_tenant_is_bounded_over_its_sandboxes),
	    TEST(the_log_with_the_oldest_output_gives_way_first),
	    TEST(what_the_keeper_dropped_is_counted_at_the_end),
	    TEST(output_of_the_future_is_of_now),
	    TEST(nothing_is_added_to_a_log_that_was_removed),
	    TEST(pages_are_bounded_and_whole),
	    TEST(what_is_rolled_back_was_not_appended),
	    TEST(a_sandboxs_logs_are_removed_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

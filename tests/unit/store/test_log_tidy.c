/* What frees the bytes of logs, and makes the file shorter. */
#include "base/clock.h"
#include "store/log_tidy.h"
#include "store/stmt.h"
#include "store_unit.h"

#define BOX "s00000aaaaaaaaaaaaaaaa"
#define OTHER "s00000bbbbbbbbbbbbbbbb"
#define STEPS_MAX 10000

static const struct log_bounds wide = {1 << 30, 1 << 30, 1 << 30};

/* Events 1 to ${n} of ${len} bytes, event i at time i * 1000. */
static void fill(struct unit *u, const char *sandbox, const char *exec,
		 uint64_t n, size_t len)
{
	static char data[32768];
	struct keeper_event ev = {
	    .seq = 1, .kind = EVENT_OUT, .data = data, .len = len};

	OK(log_chunk_begin(u->c, &u->e));
	for (; ev.seq <= n; ev.seq++) {
		ev.unix_ms = (int64_t)ev.seq * 1000;
		OK(unit_append(u, sandbox, exec, &ev, &wide));
	}
	OK(log_chunk_commit(u->c, &u->e));
}

/* To the end; how many steps it took. */
static int tidy(struct unit *u, int64_t before_ms)
{
	bool more = true;
	int n = 0;

	while (more && n++ < STEPS_MAX)
		OK(log_tidy(u->c, before_ms, &more, &u->e));
	assert_true(n < STEPS_MAX);
	return n - 1;
}

static int64_t number(struct unit *u, const char *sql)
{
	int64_t n = -1;

	OK(db_int(u->c->db[STORE_LOGS], sql, &n, &u->e));
	return n;
}

static void a_removed_log_is_freed_in_small_steps(void **state)
{
	struct unit *u = *state;

	fill(u, BOX, "x1", 1000, 32768);
	fill(u, BOX, "x2", 3, 10);
	fill(u, OTHER, "x1", 3, 10);
	assert_int_equal(tidy(u, 0), 0);
	OK(log_chunk_remove(u->c, BOX, "x1", &u->e));
	assert_in_range(tidy(u, 0), 5, 50);
	assert_int_equal(number(u, "SELECT count(*) FROM logs"), 2);
	assert_int_equal(number(u, "SELECT count(*) FROM chunks"), 6);
	/* The sums say what is there. */
	assert_int_equal(
	    number(u, "SELECT sum(bytes) FROM sandbox_logs"),
	    number(u, "SELECT sum(length(data) + 64) FROM chunks"));
	assert_int_equal(
	    number(u, "SELECT sum(bytes) FROM tenant_logs"),
	    number(u, "SELECT sum(length(data) + 64) FROM chunks"));
}

static void a_removed_sandbox_leaves_no_row(void **state)
{
	struct unit *u = *state;

	fill(u, BOX, "x1", 5, 10);
	fill(u, BOX, "x2", 5, 10);
	OK(log_chunk_remove(u->c, BOX, NULL, &u->e));
	tidy(u, 0);
	assert_int_equal(number(u, "SELECT (SELECT count(*) FROM logs) + "
				   "(SELECT count(*) FROM chunks) + "
				   "(SELECT count(*) FROM sandbox_logs)"),
			 0);
	assert_int_equal(number(u, "SELECT bytes FROM tenant_logs"), 0);
}

static void what_is_too_old_goes_and_is_counted(void **state)
{
	struct unit *u = *state;
	OWN(log_page_free) struct log_page p = {.n = 0};
	struct log_state s;

	fill(u, BOX, "x1", 10, 10);
	fill(u, OTHER, "y", 4, 10);
	tidy(u, 5000);
	OK(log_chunk_state(u->c, BOX, "x1", &s, &u->e));
	assert_int_equal(s.first, 5);
	assert_int_equal(s.last, 10);
	assert_int_equal(s.dropped_events, 4);
	assert_int_equal(s.dropped_bytes, 40);
	OK(log_chunk_read(u->c, BOX, "x1", 0, 4096, &p, &u->e));
	assert_int_equal(p.n, 6);
	assert_int_equal(p.events[0].seq, 5);
	OK(log_chunk_state(u->c, OTHER, "y", &s, &u->e));
	assert_int_equal(s.bytes, 0);
	assert_int_equal(s.dropped_events, 4);
	assert_int_equal(number(u, "SELECT sum(bytes) FROM tenant_logs"),
			 6 * 74);
	assert_int_equal(tidy(u, 5000), 0);
}

static off_t file_size(struct unit *u)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/db/logs.db", u->dir);
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void the_file_shrinks_while_it_is_open_and_read(void **state)
{
	struct unit *u = *state;
	OWN(store_ckpt_stop) struct store_ckpt *k = NULL;
	OWN(store_close) struct store_conn *reader = NULL;
	int64_t deadline = clock_mono_ms() + 20000;
	struct log_state s;
	bool more = true;
	off_t full;

	OK(store_open(u->dir, &reader, &u->e));
	OK(store_ckpt_start(u->dir, true, &k, &u->e));
	fill(u, BOX, "x1", 1000, 32768);
	fill(u, OTHER, "y", 3, 10);
	while (file_size(u) < 32768 * 1000 && clock_mono_ms() < deadline)
		store_ckpt_soon(k);
	full = file_size(u);
	assert_true(full >= 32768 * 1000);
	OK(log_chunk_remove(u->c, BOX, NULL, &u->e));
	tidy(u, 0);
	/* While it is written to, a quarter of room stays. */
	while (more)
		OK(db_shrink(u->c, STORE_LOGS, false, &more, &u->e));
	assert_true(number(u, "PRAGMA freelist_count") > 0);
	more = true;
	while (more)
		OK(db_shrink(u->c, STORE_LOGS, true, &more, &u->e));
	while (file_size(u) > full / 8 && clock_mono_ms() < deadline) {
		store_ckpt_soon(k);
		usleep(1000);
	}
	assert_true(file_size(u) <= full / 8);
	OK(log_chunk_state(reader, OTHER, "y", &s, &u->e));
	assert_int_equal(s.last, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_removed_log_is_freed_in_small_steps),
	    TEST(a_removed_sandbox_leaves_no_row),
	    TEST(what_is_too_old_goes_and_is_counted),
	    TEST(the_file_shrinks_while_it_is_open_and_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What ended long ago goes, with its log; what runs stays. */
#include "base/clock.h"
#include "store/node_execution.h"
#include "store/node_process.h"
#include "store/node_retry.h"
#include "store/node_tidy.h"
#include "store/stmt.h"
#include "store_unit.h"

#define BOX "s00000aaaaaaaaaaaaaaaa"
#define OTHER "s00000bbbbbbbbbbbbbbbb"
#define STEPS_MAX 1000

static const struct log_bounds wide = {1 << 30, 1 << 30, 1 << 30};

static int64_t number(struct unit *u, enum store_db db, const char *sql)
{
	int64_t n = -1;

	OK(db_int(u->c->db[db], sql, &n, &u->e));
	return n;
}

/* One that began and, if ${ended_at} is not 0, ended; with a log. */
static void add(struct unit *u, const char *sandbox, const char *id,
		int64_t started_at, int64_t ended_at)
{
	const struct node_execution_new n = {
	    .sandbox = sandbox, .id = id, .kind = EXEC_CALL};
	const struct node_process_new p = {.sandbox = sandbox, .id = id};
	const struct keeper_event ev = {
	    .seq = 1, .kind = EVENT_OUT, .data = "x", .len = 1};
	char sql[512];

	OK(node_execution_add(u->c, &n, &u->e));
	OK(node_process_add(u->c, &p, &u->e));
	snprintf(sql, sizeof(sql),
		 "UPDATE executions SET state = '%s', started_at = %lld, "
		 "ended_at = %lld WHERE sandbox_id = '%s' AND id = '%s';"
		 "UPDATE processes SET state = '%s', started_at = %lld, "
		 "ended_at = %lld WHERE sandbox_id = '%s' AND id = '%s'",
		 ended_at > 0 ? "ended" : "running", (long long)started_at,
		 (long long)ended_at, sandbox, id,
		 ended_at > 0 ? "ended" : "running", (long long)started_at,
		 (long long)ended_at, sandbox, id);
	OK(db_exec(u->c->db[STORE_NODE], sql, &u->e));
	OK(log_chunk_begin(u->c, &u->e));
	OK(unit_append(u, sandbox, id, &ev, &wide));
	OK(log_chunk_commit(u->c, &u->e));
}

static void tidy(struct unit *u, struct node_tidy t)
{
	bool more = true;
	int n = 0;

	while (more && n++ < STEPS_MAX)
		OK(node_tidy(u->c, &t, &more, &u->e));
	assert_true(n < STEPS_MAX);
	assert_string_equal(t.after, "");
}

static void what_ended_long_ago_goes_with_its_log(void **state)
{
	struct unit *u = *state;
	struct log_state s;

	add(u, BOX, "old", 1, 1000);
	add(u, BOX, "runs", 1, 0);
	add(u, OTHER, "young", 1, 3000);
	tidy(u, (struct node_tidy){.before_ms = 2000});
	assert_int_equal(
	    number(u, STORE_NODE, "SELECT count(*) FROM executions"), 2);
	assert_int_equal(
	    number(u, STORE_NODE, "SELECT count(*) FROM processes"), 2);
	assert_int_equal(number(u, STORE_NODE,
				"SELECT count(*) FROM executions "
				"WHERE id IN ('runs', 'young')"),
			 2);
	OK(log_chunk_state(u->c, BOX, "old", &s, &u->e));
	assert_int_equal(s.last, 0);
	OK(log_chunk_state(u->c, BOX, "runs", &s, &u->e));
	assert_int_equal(s.last, 1);
	tidy(u, (struct node_tidy){.before_ms = 0});
	assert_int_equal(
	    number(u, STORE_NODE, "SELECT count(*) FROM executions"), 2);
}

static void of_too_many_the_oldest_that_ended_go(void **state)
{
	struct unit *u = *state;
	char id[16];

	add(u, BOX, "runs", 1, 0);
	for (int i = 0; i < 600; i++) {
		snprintf(id, sizeof(id), "x%d", i);
		add(u, BOX, id, 100 + i, 1000);
	}
	for (int i = 0; i < 8; i++) {
		snprintf(id, sizeof(id), "y%d", i);
		add(u, OTHER, id, 100 + i, 1000);
	}
	tidy(u, (struct node_tidy){.rows_max = 10});
	assert_int_equal(number(u, STORE_NODE,
				"SELECT count(*) FROM executions WHERE "
				"sandbox_id = '" OTHER "'"),
			 8);
	assert_int_equal(number(u, STORE_NODE,
				"SELECT count(*) FROM executions WHERE "
				"sandbox_id = '" BOX "'"),
			 11);
	assert_int_equal(number(u, STORE_NODE,
				"SELECT min(started_at) FROM processes WHERE "
				"sandbox_id = '" BOX "' AND state = 'ended'"),
			 690);
	assert_int_equal(
	    number(u, STORE_LOGS, "SELECT count(*) FROM logs WHERE gone = 0"),
	    8 + 11);
}

static void answers_that_nobody_retries_go(void **state)
{
	struct unit *u = *state;
	OWN(node_retry_free) struct node_retry x = {.made = "x"};
	bool first;

	OK(node_retry_begin(u->c, BOX, "key", &x, &first, &u->e));
	tidy(u, (struct node_tidy){.retry_ms = clock_unix_ms() - 60000});
	assert_int_equal(
	    number(u, STORE_NODE, "SELECT count(*) FROM idempotency"), 1);
	tidy(u, (struct node_tidy){.retry_ms = clock_unix_ms() + 60000});
	assert_int_equal(
	    number(u, STORE_NODE, "SELECT count(*) FROM idempotency"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(what_ended_long_ago_goes_with_its_log),
	    TEST(of_too_many_the_oldest_that_ended_go),
	    TEST(answers_that_nobody_retries_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

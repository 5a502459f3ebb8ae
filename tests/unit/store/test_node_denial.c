/* Limits that were hit, in rows; what was refused, counted once. */
#include "store/node_denial.h"
#include "store/node_hits.h"
#include "store/node_process.h"
#include "store/stmt.h"
#include "store_unit.h"

#define BOX "s00000aaaaaaaaaaaaaaaa"
#define OTHER "s00000bbbbbbbbbbbbbbbb"

static struct node_end hit_end(void)
{
	struct node_end end = {
	    .exit_code = 137, .reason = END_OUT_OF_MEMORY, .ended_ms = 5000};

	end.hits.of[HIT_MEMORY] = (struct keeper_hit){100, 90, 3, 2};
	end.hits.of[HIT_PIDS] = (struct keeper_hit){40, 40, 7, 0};
	return end;
}

static void expect(struct unit *u, const char *box, const char *what,
		   const char *policy, uint64_t count)
{
	OWN(node_denial_list_free) struct node_denial_list l = {.n = 0};
	uint64_t found = 0;

	OK(node_denial_list(u->c, box, &l, &u->e));
	for (size_t i = 0; i < l.n; i++)
		if (strcmp(l.rows[i].what, what) == 0 &&
		    strcmp(l.rows[i].policy, policy) == 0)
			found = l.rows[i].count;
	assert_int_equal(found, count);
}

static void hits_are_json_and_are_read_again(void **state)
{
	struct node_end end = hit_end();
	struct keeper_hits got;
	char text[NODE_HITS_TEXT_MAX];

	(void)state;
	node_hits_text(&end.hits, text);
	assert_string_equal(
	    text,
	    "[{\"name\":\"memoryBytes\",\"limit\":100,\"used\":90,\"hits\":3},"
	    "{\"name\":\"pids\",\"limit\":40,\"used\":40,\"hits\":7}]");
	node_hits_read(text, &got);
	assert_int_equal(got.of[HIT_MEMORY].limit, 100);
	assert_int_equal(got.of[HIT_PIDS].hits, 7);
	assert_int_equal(got.of[HIT_DISK].hits, 0);
	for (int i = 0; i < HIT_COUNT; i++)
		got.of[i] = (struct keeper_hit){UINT64_MAX, UINT64_MAX,
						UINT64_MAX, UINT64_MAX};
	node_hits_text(&got, text);
	assert_int_equal(text[strlen(text) - 1], ']');
	node_hits_read("", &got);
	node_hits_text(&got, text);
	assert_string_equal(text, "");
}

static void an_end_that_is_told_twice_is_counted_once(void **state)
{
	struct unit *u = *state;
	OWN(node_process_free) struct node_process p = {.pid = 0};
	const struct node_process_new n = {.sandbox = BOX, .id = "p"};
	const struct node_end end = hit_end();

	OK(node_process_add(u->c, &n, &u->e));
	for (int i = 0; i < 2; i++)
		OK(node_end_set(u->c, BOX, "p", EXEC_PROCESS, &end, &u->e));
	expect(u, BOX, "out_of_memory", "limits.memoryBytes", 2);
	/* Hits that another execution told first are not counted again. */
	expect(u, BOX, "pid_limit", "limits.pids", 0);
	OK(node_process_get(u->c, BOX, "p", &p, &u->e));
	assert_int_equal(p.end.hits.of[HIT_MEMORY].used, 90);
	assert_int_equal(p.end.hits.of[HIT_PIDS].hits, 7);
}

static void an_end_without_a_row_is_not_counted(void **state)
{
	struct unit *u = *state;
	const struct node_end end = hit_end();

	OK(node_end_set(u->c, BOX, "x", EXEC_CALL, &end, &u->e));
	expect(u, BOX, "out_of_memory", "limits.memoryBytes", 0);
}

static void a_sandbox_has_its_own_denials(void **state)
{
	struct unit *u = *state;
	OWN(node_denial_list_free) struct node_denial_list l = {.n = 0};

	OK(node_denial_hit(u->c, BOX, HIT_WALL, 1, 7, &u->e));
	OK(node_denial_hit(u->c, BOX, HIT_WALL, 2, 9, &u->e));
	OK(node_denial_hit(u->c, BOX, HIT_TIME, 1, 9, &u->e));
	expect(u, BOX, "timed_out", "limits.wallMs", 3);
	expect(u, BOX, "timed_out", "timeoutMs", 1);
	OK(node_denial_list(u->c, BOX, &l, &u->e));
	assert_int_equal(l.n, 2);
	assert_int_equal(l.rows[0].last_ms, 9);
	expect(u, OTHER, "timed_out", "limits.wallMs", 0);
	OK(node_forget(u->c, BOX, &u->e));
	expect(u, BOX, "timed_out", "limits.wallMs", 0);
}

static void a_counter_that_starts_anew_is_added(void **state)
{
	struct unit *u = *state;
	struct node_denial d = {
	    .what = "smtp", .policy = "network", .count = 5, .last_ms = 1};

	OK(node_denial_seen(u->c, BOX, &d, &u->e));
	OK(node_denial_seen(u->c, BOX, &d, &u->e));
	expect(u, BOX, "smtp", "network", 5);
	d.count = 8;
	OK(node_denial_seen(u->c, BOX, &d, &u->e));
	expect(u, BOX, "smtp", "network", 8);
	d.count = 3; /* a new start */
	OK(node_denial_seen(u->c, BOX, &d, &u->e));
	expect(u, BOX, "smtp", "network", 11);
}

static void no_more_processes_run_than_may(void **state)
{
	struct unit *u = *state;
	struct node_process_new n = {.sandbox = BOX, .id = "a", .max = 2};
	const struct node_end end = {.reason = END_EXITED, .ended_ms = 1};

	OK(node_process_add(u->c, &n, &u->e));
	n.id = "b";
	OK(node_process_add(u->c, &n, &u->e));
	n.id = "c";
	FAILS(node_process_add(u->c, &n, &u->e), ERR_LIMIT);
	OK(node_end_set(u->c, BOX, "a", EXEC_PROCESS, &end, &u->e));
	OK(node_process_add(u->c, &n, &u->e));
	n.sandbox = OTHER;
	OK(node_process_add(u->c, &n, &u->e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(hits_are_json_and_are_read_again),
	    TEST(an_end_that_is_told_twice_is_counted_once),
	    TEST(an_end_without_a_row_is_not_counted),
	    TEST(a_sandbox_has_its_own_denials),
	    TEST(a_counter_that_starts_anew_is_added),
	    TEST(no_more_processes_run_than_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fcgi/exec_status.h"

static struct exec_live_row running = {.id = "a", .state = EXEC_RUNNING};
static struct exec_live_row ended = {.id = "a",
				     .state = EXEC_ENDED,
				     .exit_code = 3,
				     .reason = END_EXITED,
				     .ended_ms = 7};

static void row_status(const struct exec_live *live, enum node_state state,
		       int64_t started_ms, const struct node_end *end,
		       struct exec_status *s)
{
	struct exec_row row = {
	    .id = "a", .state = state, .started_ms = started_ms, .end = end};

	exec_status_of(live, &row, s);
}

static void every_ending_has_a_word(void **state)
{
	static const struct {
		enum end_reason reason;
		int code;
		const char *word;
	} all[] = {
	    {END_EXITED, 0, "completed"},       {END_EXITED, 1, "failed"},
	    {END_SIGNALLED, 139, "killed"},     {END_TIMED_OUT, 124, "killed"},
	    {END_OUT_OF_MEMORY, 137, "killed"}, {END_KILLED, 143, "killed"},
	    {END_INTERRUPTED, 130, "killed"},   {END_SANDBOX_GONE, 0, "error"},
	};

	(void)state;
	assert_string_equal(exec_status_word(false, END_NONE, 0), "running");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_string_equal(
		    exec_status_word(true, all[i].reason, all[i].code),
		    all[i].word);
}

static void the_keeper_knows_better_than_a_running_row(void **state)
{
	struct exec_live live = {.rows = &running, .n = 1, .alive = true};
	struct node_end none = {0};
	struct exec_status s;

	(void)state;
	row_status(&live, NODE_RUNNING, 1, &none, &s);
	assert_string_equal(s.status, "running");
	live.rows = &ended;
	row_status(&live, NODE_RUNNING, 1, &none, &s);
	assert_string_equal(s.status, "failed");
	assert_int_equal(s.exit_code, 3);
	assert_int_equal(s.ended_ms, 7);
}

static void a_running_row_without_a_keeper_is_gone(void **state)
{
	struct exec_live live = {.read_ms = 1000000};
	struct node_end none = {0};
	struct exec_status s;

	(void)state;
	row_status(&live, NODE_RUNNING, 999999, &none, &s);
	assert_string_equal(s.status, "error");
	assert_int_equal(s.reason, END_SANDBOX_GONE);
	live.alive = true;
	row_status(&live, NODE_RUNNING, 1, &none, &s);
	assert_int_equal(s.reason, END_SANDBOX_GONE);
}

static void a_row_made_a_moment_ago_is_running(void **state)
{
	struct exec_live live = {.read_ms = 1000000, .alive = true};
	struct node_end none = {0};
	struct exec_status s;

	(void)state;
	row_status(&live, NODE_RUNNING, 999999, &none, &s);
	assert_string_equal(s.status, "running");
	row_status(&live, NODE_RUNNING, 1000001, &none, &s);
	assert_string_equal(s.status, "running");
}

static void a_row_older_than_its_keeper_is_gone(void **state)
{
	struct exec_live live = {
	    .read_ms = 1000000, .since_ms = 999990, .alive = true};
	struct node_end none = {0};
	struct exec_status s;

	(void)state;
	row_status(&live, NODE_RUNNING, 999989, &none, &s);
	assert_string_equal(s.status, "error");
	assert_int_equal(s.reason, END_SANDBOX_GONE);
	row_status(&live, NODE_RUNNING, 999990, &none, &s);
	assert_string_equal(s.status, "running");
}

static void a_stored_end_is_the_end(void **state)
{
	struct exec_live live = {0};
	struct node_end end = {
	    .exit_code = 137, .reason = END_TIMED_OUT, .ended_ms = 5};
	struct exec_status s;

	(void)state;
	row_status(&live, NODE_ENDED, 1, &end, &s);
	assert_string_equal(s.status, "killed");
	assert_int_equal(s.exit_code, EXIT_TIMED_OUT);
	assert_int_equal(s.ended_ms, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_ending_has_a_word),
	    cmocka_unit_test(the_keeper_knows_better_than_a_running_row),
	    cmocka_unit_test(a_running_row_without_a_keeper_is_gone),
	    cmocka_unit_test(a_row_made_a_moment_ago_is_running),
	    cmocka_unit_test(a_row_older_than_its_keeper_is_gone),
	    cmocka_unit_test(a_stored_end_is_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Executions, processes, contexts: rows that workers insert and the recorder
 * ends. */
#include "base/clock.h"
#include "store/node_context.h"
#include "store/node_execution.h"
#include "store/node_live.h"
#include "store/node_process.h"
#include "store/stmt.h"
#include "store_unit.h"

#define BOX "s00000aaaaaaaaaaaaaaaa"
#define OTHER "s00000bbbbbbbbbbbbbbbb"

static void add_execution(struct unit *u, const char *box, const char *id)
{
	const struct node_execution_new n = {.sandbox = box,
					     .id = id,
					     .kind = EXEC_RUN,
					     .context = "c1",
					     .command = "print(1)",
					     .cwd = "/workspace"};

	OK(node_execution_add(u->c, &n, &u->e));
}

static void add_process(struct unit *u, const char *box, const char *id)
{
	const struct node_process_new n = {
	    .sandbox = box,
	    .id = id,
	    .command = "sleep 1",
	    .cwd = "/",
	};

	OK(node_process_add(u->c, &n, &u->e));
}

static void add_context(struct unit *u, const char *id, const char *kernel)
{
	const struct node_context_new n = {.sandbox = BOX,
					   .id = id,
					   .kernel = kernel,
					   .language = "python",
					   .cwd = "/workspace",
					   .env = "{\"A\":\"1\"}"};

	OK(node_context_add(u->c, &n, 0, &u->e));
}

static const struct node_end ended = {.exit_code = 3,
				      .reason = END_EXITED,
				      .ended_ms = 5000,
				      .duration_ms = 12,
				      .stdout_bytes = 1,
				      .stderr_bytes = 2,
				      .dropped_bytes = 3};

static void an_execution_is_running_until_its_end(void **state)
{
	struct unit *u = *state;
	OWN(node_execution_free) struct node_execution x = {.started_ms = 0};

	add_execution(u, BOX, "x1");
	OK(node_execution_get(u->c, BOX, "x1", &x, &u->e));
	assert_int_equal(x.state, NODE_RUNNING);
	assert_int_equal(x.kind, EXEC_RUN);
	assert_int_equal(x.end.reason, END_NONE);
	assert_string_equal(x.context, "c1");
	assert_string_equal(x.command, "print(1)");
	assert_string_equal(x.cwd, "/workspace");
	assert_true(x.started_ms > 0);
	node_execution_free(&x);
	OK(node_end_set(u->c, BOX, "x1", EXEC_RUN, &ended, &u->e));
	OK(node_execution_get(u->c, BOX, "x1", &x, &u->e));
	assert_int_equal(x.state, NODE_ENDED);
	assert_memory_equal(&x.end, &ended, sizeof(ended));
}

static void an_end_is_set_once(void **state)
{
	struct unit *u = *state;
	OWN(node_execution_free) struct node_execution x = {.started_ms = 0};
	struct node_end later = ended;

	later.exit_code = 9;
	add_execution(u, BOX, "x1");
	OK(node_end_set(u->c, BOX, "x1", EXEC_CALL, &ended, &u->e));
	OK(node_end_set(u->c, BOX, "x1", EXEC_CALL, &later, &u->e));
	OK(node_gone(u->c, BOX, 1, &u->e));
	OK(node_execution_get(u->c, BOX, "x1", &x, &u->e));
	assert_int_equal(x.end.exit_code, 3);
	assert_int_equal(x.end.reason, END_EXITED);
}

static void a_true_end_replaces_sandbox_gone(void **state)
{
	struct unit *u = *state;
	OWN(node_process_free) struct node_process p = {.pid = 0};

	add_process(u, BOX, "p1");
	OK(node_gone(u->c, BOX, clock_unix_ms(), &u->e));
	OK(node_process_get(u->c, BOX, "p1", &p, &u->e));
	assert_int_equal(p.state, NODE_ENDED);
	assert_int_equal(p.end.reason, END_SANDBOX_GONE);
	node_process_free(&p);
	OK(node_end_set(u->c, BOX, "p1", EXEC_PROCESS, &ended, &u->e));
	OK(node_process_get(u->c, BOX, "p1", &p, &u->e));
	assert_int_equal(p.end.reason, END_EXITED);
}

static void ids_are_unique_in_a_sandbox(void **state)
{
	struct unit *u = *state;
	const struct node_process_new n = {.sandbox = BOX, .id = "p1"};

	add_process(u, BOX, "p1");
	FAILS(node_process_add(u->c, &n, &u->e), ERR_EXISTS);
	add_process(u, OTHER, "p1");
}

static void another_sandboxs_rows_are_not_found(void **state)
{
	struct unit *u = *state;
	OWN(node_process_list_free) struct node_process_list l = {.n = 0};
	struct node_process p;
	struct node_execution x;
	struct node_context ctx;

	add_process(u, BOX, "p1");
	add_execution(u, BOX, "x1");
	add_context(u, "c1", "k1");
	FAILS(node_process_get(u->c, OTHER, "p1", &p, &u->e), ERR_NOT_FOUND);
	FAILS(node_execution_get(u->c, OTHER, "x1", &x, &u->e), ERR_NOT_FOUND);
	FAILS(node_context_get(u->c, OTHER, "c1", &ctx, &u->e), ERR_NOT_FOUND);
	FAILS(node_context_remove(u->c, OTHER, "c1", &u->e), ERR_NOT_FOUND);
	OK(node_process_remove(u->c, OTHER, "p1", &u->e));
	OK(node_process_list(u->c, OTHER, &l, &u->e));
	assert_int_equal(l.n, 0);
	OK(node_process_list(u->c, BOX, &l, &u->e));
	assert_int_equal(l.n, 1);
}

static void lists_are_in_order_of_start(void **state)
{
	struct unit *u = *state;
	OWN(node_process_list_free) struct node_process_list p = {.n = 0};
	OWN(node_execution_list_free) struct node_execution_list x = {.n = 0};
	char id[16];

	for (int i = 0; i < 20; i++) {
		snprintf(id, sizeof(id), "n%02d", i);
		add_process(u, BOX, id);
		add_execution(u, BOX, id);
	}
	OK(node_process_list(u->c, BOX, &p, &u->e));
	assert_int_equal(p.n, 20);
	assert_string_equal(p.rows[0].id, "n00");
	assert_string_equal(p.rows[19].id, "n19");
	OK(node_execution_list(u->c, BOX, 5, &x, &u->e));
	assert_int_equal(x.n, 5);
	assert_string_equal(x.rows[0].id, "n19");
}

static void only_ended_processes_are_cleaned_up(void **state)
{
	struct unit *u = *state;
	OWN(node_process_list_free) struct node_process_list l = {.n = 0};
	uint64_t n = 0;

	add_process(u, BOX, "p1");
	add_process(u, BOX, "p2");
	OK(node_process_pid(u->c, BOX, "p2", 77, &u->e));
	OK(node_end_set(u->c, BOX, "p1", EXEC_PROCESS, &ended, &u->e));
	OK(node_process_remove_ended(u->c, BOX, &n, &u->e));
	assert_int_equal(n, 1);
	OK(node_process_list(u->c, BOX, &l, &u->e));
	assert_int_equal(l.n, 1);
	assert_string_equal(l.rows[0].id, "p2");
	assert_int_equal(l.rows[0].pid, 77);
	assert_false(l.rows[0].auto_cleanup);
}

static void a_context_outlives_its_kernel(void **state)
{
	struct unit *u = *state;
	OWN(node_context_free) struct node_context x = {.pid = 0};

	add_context(u, "c1", "k1");
	OK(node_context_pid(u->c, BOX, "c1", 5, &u->e));
	/* The keeper knows the kernel's name, not the context's. */
	OK(node_end_set(u->c, BOX, "c1", EXEC_KERNEL, &ended, &u->e));
	OK(node_context_get(u->c, BOX, "c1", &x, &u->e));
	assert_int_equal(x.state, NODE_RUNNING);
	assert_string_equal(x.env, "{\"A\":\"1\"}");
	node_context_free(&x);
	OK(node_end_set(u->c, BOX, "k1", EXEC_KERNEL, &ended, &u->e));
	OK(node_context_get(u->c, BOX, "c1", &x, &u->e));
	assert_int_equal(x.state, NODE_ENDED);
	assert_int_equal(x.pid, 5);
	node_context_free(&x);
	OK(node_context_restart(u->c, BOX, "c1", "k1", "k2", &u->e));
	OK(node_context_get(u->c, BOX, "c1", &x, &u->e));
	assert_int_equal(x.state, NODE_RUNNING);
	assert_string_equal(x.kernel, "k2");
	assert_int_equal(x.pid, 0);
	assert_int_equal(x.end.reason, END_NONE);
	/* The old kernel's end comes late: it is not the new one's. */
	OK(node_end_set(u->c, BOX, "k1", EXEC_KERNEL, &ended, &u->e));
	FAILS(node_context_restart(u->c, BOX, "c1", "k1", "k3", &u->e),
	      ERR_STATE);
	FAILS(node_context_restart(u->c, BOX, "c9", "k1", "k3", &u->e),
	      ERR_NOT_FOUND);
}

static void a_context_over_the_limit_is_refused(void **state)
{
	struct unit *u = *state;
	OWN(node_context_list_free) struct node_context_list l = {.n = 0};
	struct node_context_new n = {.sandbox = BOX, .language = "python"};

	add_context(u, "c1", "k1");
	add_context(u, "c2", "k2");
	n.id = "c3";
	n.kernel = "k3";
	FAILS(node_context_add(u->c, &n, 2, &u->e), ERR_LIMIT);
	OK(node_context_add(u->c, &n, 3, &u->e));
	n.kernel = "k4";
	FAILS(node_context_add(u->c, &n, 64, &u->e), ERR_EXISTS);
	n.sandbox = OTHER;
	OK(node_context_add(u->c, &n, 1, &u->e));
	OK(node_context_list(u->c, BOX, &l, &u->e));
	assert_int_equal(l.n, 3);
	assert_string_equal(l.rows[0].id, "c1");
	OK(node_context_remove(u->c, BOX, "c1", &u->e));
	FAILS(node_context_remove(u->c, BOX, "c1", &u->e), ERR_NOT_FOUND);
}

static void what_runs_is_found_for_the_recorder(void **state)
{
	struct unit *u = *state;
	OWN(node_live_free) struct node_live_list l = {.n = 0};
	id_sandbox_t id;

	FAILS(node_running(u->c, "", id, &u->e), ERR_NOT_FOUND);
	add_process(u, OTHER, "p1");
	add_execution(u, BOX, "x1");
	add_context(u, "c1", "k1");
	OK(node_running(u->c, "", id, &u->e));
	assert_string_equal(id, BOX);
	OK(node_running(u->c, id, id, &u->e));
	assert_string_equal(id, OTHER);
	FAILS(node_running(u->c, id, id, &u->e), ERR_NOT_FOUND);
	OK(node_live_list(u->c, BOX, &l, &u->e));
	assert_int_equal(l.n, 2);
	assert_string_equal(l.rows[1].id, "k1");
	assert_int_equal(l.rows[1].kind, EXEC_KERNEL);
	OK(node_gone(u->c, BOX, 1, &u->e));
	OK(node_running(u->c, "", id, &u->e));
	assert_string_equal(id, OTHER);
	OK(node_forget(u->c, OTHER, &u->e));
	FAILS(node_running(u->c, "", id, &u->e), ERR_NOT_FOUND);
}

static void a_rolled_back_end_is_none(void **state)
{
	struct unit *u = *state;
	OWN(node_execution_free) struct node_execution x = {.started_ms = 0};

	add_execution(u, BOX, "x1");
	OK(node_begin(u->c, &u->e));
	OK(node_end_set(u->c, BOX, "x1", EXEC_CALL, &ended, &u->e));
	node_rollback(u->c);
	node_rollback(u->c);
	OK(node_execution_get(u->c, BOX, "x1", &x, &u->e));
	assert_int_equal(x.state, NODE_RUNNING);
	node_execution_free(&x);
	OK(node_begin(u->c, &u->e));
	OK(node_end_set(u->c, BOX, "x1", EXEC_CALL, &ended, &u->e));
	OK(node_commit(u->c, &u->e));
	OK(node_execution_get(u->c, BOX, "x1", &x, &u->e));
	assert_int_equal(x.state, NODE_ENDED);
}

static void a_huge_command_is_stored_in_part(void **state)
{
	struct unit *u = *state;
	OWN(node_process_free) struct node_process p = {.pid = 0};
	OWN(own_mem) char *command = malloc(NODE_COMMAND_MAX + 101);
	const struct node_process_new n = {
	    .sandbox = BOX, .id = "p1", .command = command};

	memset(command, 'c', NODE_COMMAND_MAX + 100);
	command[NODE_COMMAND_MAX + 100] = '\0';
	OK(node_process_add(u->c, &n, &u->e));
	OK(node_process_get(u->c, BOX, "p1", &p, &u->e));
	assert_int_equal(strlen(p.command), NODE_COMMAND_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(an_execution_is_running_until_its_end),
	    TEST(an_end_is_set_once),
	    TEST(a_true_end_replaces_sandbox_gone),
	    TEST(ids_are_unique_in_a_sandbox),
	    TEST(another_sandboxs_rows_are_not_found),
	    TEST(lists_are_in_order_of_start),
	    TEST(only_ended_processes_are_cleaned_up),
	    TEST(a_context_outlives_its_kernel),
	    TEST(a_context_over_the_limit_is_refused),
	    TEST(what_runs_is_found_for_the_recorder),
	    TEST(a_rolled_back_end_is_none),
	    TEST(a_huge_command_is_stored_in_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

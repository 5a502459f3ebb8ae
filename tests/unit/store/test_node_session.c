/* Sessions' settings, calls that may be retried, processes' ids. */
#include <string.h>

#include "store/node_process.h"
#include "store/node_retry.h"
#include "store/node_session.h"
#include "store/stmt.h"
#include "store_unit.h"

#define BOX "s00000aaaaaaaaaaaaaaaa"
#define OTHER "s00000bbbbbbbbbbbbbbbb"

static const struct node_end ended = {
    .exit_code = 1, .reason = END_EXITED, .ended_ms = 9};

static void a_session_made_anew_has_the_new_settings(void **state)
{
	struct unit *u = *state;
	OWN(node_session_free) struct node_session s = {.timeout_ms = 0};
	struct node_session_new n = {
	    .sandbox = BOX, .id = "s1", .cwd = "/a", .timeout_ms = 5};

	OK(node_session_set(u->c, &n, &u->e));
	n.env = "{\"A\":null}";
	n.timeout_ms = 7;
	OK(node_session_set(u->c, &n, &u->e));
	OK(node_session_get(u->c, BOX, "s1", &s, &u->e));
	assert_string_equal(s.cwd, "/a");
	assert_string_equal(s.env, "{\"A\":null}");
	assert_int_equal(s.timeout_ms, 7);
	node_session_free(&s);
	FAILS(node_session_get(u->c, OTHER, "s1", &s, &u->e), ERR_NOT_FOUND);
	OK(node_session_remove(u->c, BOX, "s1", &u->e));
	FAILS(node_session_get(u->c, BOX, "s1", &s, &u->e), ERR_NOT_FOUND);
}

static bool begin(struct unit *u, const char *box, const char *key,
		  struct node_retry *x)
{
	bool first;

	OK(node_retry_begin(u->c, box, key, x, &first, &u->e));
	return first;
}

static void a_retried_call_finds_what_the_first_one_made(void **state)
{
	struct unit *u = *state;
	OWN(node_retry_free) struct node_retry a = {.hash = {1}, .made = "e1"};
	OWN(node_retry_free) struct node_retry b = {.hash = {2}, .made = "e2"};
	OWN(node_retry_free) struct node_retry c = {.hash = {3}, .made = "e3"};

	assert_true(begin(u, BOX, "k", &a));
	assert_false(begin(u, BOX, "k", &b));
	assert_int_equal(b.hash[0], 1);
	assert_string_equal(b.made, "e1");
	assert_string_equal(b.answer, "");
	assert_true(begin(u, OTHER, "k", &c));
	OK(node_retry_answer(u->c, BOX, "k", "{}", &u->e));
	node_retry_free(&b);
	assert_false(begin(u, BOX, "k", &b));
	assert_string_equal(b.answer, "{}");
	/* what another try made is not that one's to forget */
	OK(node_retry_remove(u->c, BOX, "k", "e2", &u->e));
	node_retry_free(&b);
	assert_false(begin(u, BOX, "k", &b));
	OK(node_retry_remove(u->c, BOX, "k", "e1", &u->e));
	assert_true(begin(u, BOX, "k", &a));
}

static void a_retried_call_is_forgotten_after_a_day(void **state)
{
	struct unit *u = *state;
	OWN(node_retry_free) struct node_retry a = {.hash = {1}, .made = "e1"};
	OWN(node_retry_free) struct node_retry b = {.hash = {1}, .made = "e2"};

	assert_true(begin(u, BOX, "k", &a));
	OK(db_exec(u->c->db[STORE_NODE],
		   "UPDATE idempotency SET created_at = created_at - 86400001",
		   &u->e));
	assert_true(begin(u, BOX, "k", &b));
	assert_string_equal(b.made, "e2");
}

static void an_ended_processs_id_is_free_again(void **state)
{
	struct unit *u = *state;
	OWN(node_process_free) struct node_process p = {.pid = 0};
	struct node_process_new n = {
	    .sandbox = BOX, .id = "web", .exec = "proc_1"};

	OK(node_process_add(u->c, &n, &u->e));
	n.exec = "proc_2";
	FAILS(node_process_add(u->c, &n, &u->e), ERR_EXISTS);
	OK(node_end_set(u->c, BOX, "proc_1", EXEC_PROCESS, &ended, &u->e));
	OK(node_process_add(u->c, &n, &u->e));
	/* The end of the first one is not the second one's. */
	OK(node_end_set(u->c, BOX, "proc_1", EXEC_PROCESS, &ended, &u->e));
	OK(node_process_get(u->c, BOX, "web", &p, &u->e));
	assert_int_equal(p.state, NODE_RUNNING);
	assert_string_equal(p.exec, "proc_2");
}

static void a_failed_start_stays_and_gives_its_id_back(void **state)
{
	struct unit *u = *state;
	OWN(node_process_free) struct node_process p = {.pid = 0};
	struct node_process_new n = {
	    .sandbox = BOX, .id = "web", .exec = "proc_1"};

	OK(node_process_add(u->c, &n, &u->e));
	OK(node_process_fail(u->c, BOX, "web", "no such program", &u->e));
	OK(node_process_get(u->c, BOX, "web", &p, &u->e));
	assert_int_equal(p.state, NODE_ENDED);
	assert_string_equal(p.failure, "no such program");
	node_process_free(&p);
	n.exec = "proc_2";
	OK(node_process_add(u->c, &n, &u->e));
	OK(node_process_get(u->c, BOX, "web", &p, &u->e));
	assert_int_equal(p.state, NODE_RUNNING);
	assert_string_equal(p.failure, "");
}

static void one_with_auto_cleanup_goes_when_it_ends(void **state)
{
	struct unit *u = *state;
	struct node_process p;
	const struct node_process_new n = {
	    .sandbox = BOX, .id = "p", .auto_cleanup = true};

	OK(node_process_add(u->c, &n, &u->e));
	OK(node_end_set(u->c, BOX, "p", EXEC_PROCESS, &ended, &u->e));
	FAILS(node_process_get(u->c, BOX, "p", &p, &u->e), ERR_NOT_FOUND);
	OK(node_process_add(u->c, &n, &u->e));
	OK(node_gone(u->c, BOX, 10, &u->e));
	FAILS(node_process_get(u->c, BOX, "p", &p, &u->e), ERR_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_session_made_anew_has_the_new_settings),
	    TEST(a_retried_call_finds_what_the_first_one_made),
	    TEST(a_retried_call_is_forgotten_after_a_day),
	    TEST(an_ended_processs_id_is_free_again),
	    TEST(a_failed_start_stays_and_gives_its_id_back),
	    TEST(one_with_auto_cleanup_goes_when_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

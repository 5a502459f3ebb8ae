#include "store/stmt.h"
#include "store_unit.h"

static void a_use_is_written_at_most_every_ten_seconds(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	int64_t was;

	unit_sandbox(u, &u->a, "box", &s);
	was = s.last_active_ms;
	OK(ctl_sandbox_touch(u->c, &s, &u->e));
	assert_int_equal(s.last_active_ms, was);
	s.last_active_ms -= 10001;
	OK(ctl_sandbox_touch(u->c, &s, &u->e));
	assert_true(s.last_active_ms >= was);
}

/* ---- what is due ---- */

static void set_life(struct unit *u, struct ctl_sandbox *s,
		     const struct ctl_life *life)
{
	const struct ctl_life_change all = {
	    life->sleep_after_ms, life->stop_after_ms, life->delete_after_ms,
	    life->keep_alive};

	OK(ctl_sandbox_set(u->c, u->a.id, s->id, &all, NULL, &u->e));
	ctl_sandbox_free(s);
	OK(ctl_sandbox_get(u->c, u->a.id, s->id, s, &u->e));
}

/* The C that tells a tenant and the SQL that the sweep goes by. */
static void a_row_is_due_when_its_life_says_so(void **state)
{
	static const enum sandbox_state states[] = {
	    SANDBOX_RUNNING, SANDBOX_SLEEPING, SANDBOX_STOPPED};
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};

	unit_sandbox(u, &u->a, "box", &s);
	assert_int_equal(s.expires_ms, 0);
	OK(ctl_sandbox_confirm(u->c, s.id, &u->e));
	for (size_t i = 0; i < 3; i++) {
		if (i > 0)
			OK(ctl_sandbox_move(u->c, s.id, states[i - 1],
					    states[i], &u->e));
		/* Each is absent, the least or the most, in each order. */
		for (int n = 0; n < 4 * 4 * 4 * 2; n++) {
			const struct ctl_life life = {
			    .sleep_after_ms = n % 4 * 1000,
			    .stop_after_ms = n / 4 % 4 * 1000,
			    .delete_after_ms = n / 16 % 4 * 1000,
			    .keep_alive = n >= 64};

			set_life(u, &s, &life);
			assert_int_equal(s.life.sleep_after_ms,
					 life.sleep_after_ms);
			assert_int_equal(s.life.stop_after_ms,
					 life.stop_after_ms);
			assert_int_equal(s.life.delete_after_ms,
					 life.delete_after_ms);
			assert_int_equal(s.life.keep_alive, life.keep_alive);
			assert_int_equal(
			    s.expires_ms,
			    ctl_life_due(&life, states[i], s.last_active_ms));
		}
	}
}

static void each_step_of_a_life_is_due_after_the_last_use(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	const struct ctl_life life = {.sleep_after_ms = 1000,
				      .stop_after_ms = 2000,
				      .delete_after_ms = 3000};
	int64_t at;

	unit_sandbox(u, &u->a, "box", &s);
	OK(ctl_sandbox_confirm(u->c, s.id, &u->e));
	set_life(u, &s, &life);
	assert_int_equal(s.expires_ms, s.last_active_ms + 1000);
	at = s.last_active_ms + 500;
	OK(ctl_sandbox_used(u->c, &s, at, &u->e));
	assert_int_equal(s.last_active_ms, at);
	OK(ctl_sandbox_used(u->c, &s, at - 1, &u->e)); /* no way back */
	set_life(u, &s, &life);
	assert_int_equal(s.last_active_ms, at);
	assert_int_equal(s.expires_ms, at + 1000);
	OK(ctl_sandbox_move(u->c, s.id, SANDBOX_RUNNING, SANDBOX_SLEEPING,
			    &u->e));
	set_life(u, &s, &life);
	assert_int_equal(s.expires_ms, at + 2000);
	OK(ctl_sandbox_move(u->c, s.id, SANDBOX_SLEEPING, SANDBOX_STOPPED,
			    &u->e));
	set_life(u, &s, &life);
	assert_int_equal(s.expires_ms, at + 3000);
}

static void a_change_leaves_the_rest_as_it_was(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	const struct ctl_life_change none = {-1, -1, -1, -1};
	const struct ctl_life_change sleep = {5000, -1, -1, -1};

	unit_sandbox(u, &u->a, "box", &s);
	OK(ctl_sandbox_confirm(u->c, s.id, &u->e));
	set_life(u, &s, &(struct ctl_life){1000, 2000, 3000, true});
	FAILS(ctl_sandbox_set(u->c, u->b.id, s.id, &none, "{}", &u->e),
	      ERR_NOT_FOUND);
	OK(ctl_sandbox_set(u->c, u->a.id, s.id, &none, "{\"a\":\"b\"}", &u->e));
	OK(ctl_sandbox_set(u->c, u->a.id, s.id, &sleep, NULL, &u->e));
	ctl_sandbox_free(&s);
	OK(ctl_sandbox_get(u->c, u->a.id, s.id, &s, &u->e));
	assert_int_equal(s.life.sleep_after_ms, 5000);
	assert_int_equal(s.life.stop_after_ms, 2000);
	assert_int_equal(s.life.delete_after_ms, 3000);
	assert_true(s.life.keep_alive);
	assert_string_equal(s.labels, "{\"a\":\"b\"}");
}

static size_t due(struct unit *u, int64_t now_ms, id_sandbox_t first)
{
	OWN(ctl_sandbox_sweep_free) struct ctl_sandbox_sweep l = {.n = 0};

	OK(ctl_sandbox_due(u->c, now_ms, 10, &l, &u->e));
	if (l.n > 0) {
		memcpy(first, l.rows[0].row.id, sizeof(l.rows[0].row.id));
		assert_string_equal(l.rows[0].tenant, u->a.id);
	}
	return l.n;
}

static void what_is_due_comes_the_longest_due_first(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox a = {.labels = NULL};
	OWN(ctl_sandbox_free) struct ctl_sandbox b = {.labels = NULL};
	id_sandbox_t first;
	int64_t at;

	unit_sandbox(u, &u->a, "a", &a);
	unit_sandbox(u, &u->a, "b", &b);
	OK(ctl_sandbox_confirm(u->c, a.id, &u->e));
	OK(ctl_sandbox_confirm(u->c, b.id, &u->e));
	set_life(u, &a, &(struct ctl_life){.sleep_after_ms = 200000});
	set_life(u, &b, &(struct ctl_life){.sleep_after_ms = 100000});
	at = b.expires_ms;
	assert_int_equal(due(u, at - 1, first), 0);
	assert_int_equal(due(u, at, first), 1);
	assert_string_equal(first, b.id);
	assert_int_equal(due(u, a.expires_ms, first), 2);
	assert_string_equal(first, b.id);
	/* What failed waits, and holds up no other. */
	OK(ctl_sandbox_later(u->c, b.id, a.expires_ms + 1, &u->e));
	assert_int_equal(due(u, a.expires_ms, first), 1);
	assert_string_equal(first, a.id);
}

static void only_what_is_due_expires_and_a_deletion_is_taken_up(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	id_sandbox_t id;
	int64_t at;

	unit_sandbox(u, &u->a, "box", &s);
	OK(ctl_sandbox_confirm(u->c, s.id, &u->e));
	set_life(u, &s, &(struct ctl_life){.delete_after_ms = 5000});
	at = s.last_active_ms + 5000;
	FAILS(ctl_sandbox_expire(u->c, s.id, at - 1, &u->e), ERR_STATE);
	set_life(
	    u, &s,
	    &(struct ctl_life){.delete_after_ms = 5000, .keep_alive = true});
	FAILS(ctl_sandbox_expire(u->c, s.id, at, &u->e), ERR_STATE);
	set_life(u, &s, &(struct ctl_life){.delete_after_ms = 5000});
	OK(ctl_sandbox_expire(u->c, s.id, at, &u->e));
	ctl_sandbox_free(&s);
	FAILS(ctl_sandbox_find(u->c, u->a.id, "box", &s, &u->e), ERR_NOT_FOUND);
	s = (struct ctl_sandbox){.labels = NULL};
	assert_int_equal(due(u, at, id), 0);
	assert_int_equal(due(u, at + 60000, id), 1);
	OK(ctl_sandbox_expire(u->c, id, at + 60000, &u->e));
	OK(ctl_sandbox_remove(u->c, id, &u->e));
	assert_int_equal(due(u, INT64_MAX, id), 0);
}

static void those_that_should_be_looked_at_come_by_id(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox a = {.labels = NULL};
	OWN(ctl_sandbox_free) struct ctl_sandbox b = {.labels = NULL};
	OWN(ctl_sandbox_free) struct ctl_sandbox c = {.labels = NULL};
	OWN(ctl_sandbox_sweep_free) struct ctl_sandbox_sweep one = {.n = 0};
	OWN(ctl_sandbox_sweep_free) struct ctl_sandbox_sweep two = {.n = 0};

	unit_sandbox(u, &u->a, "a", &a);
	unit_sandbox(u, &u->a, "b", &b);
	unit_sandbox(u, &u->a, "never started", &c);
	OK(ctl_sandbox_confirm(u->c, a.id, &u->e));
	OK(ctl_sandbox_confirm(u->c, b.id, &u->e));
	OK(ctl_sandbox_move(u->c, b.id, SANDBOX_RUNNING, SANDBOX_SLEEPING,
			    &u->e));
	OK(ctl_sandbox_awake(u->c, "", 1, &one, &u->e));
	assert_int_equal(one.n, 1);
	OK(ctl_sandbox_awake(u->c, one.rows[0].row.id, 5, &two, &u->e));
	assert_int_equal(two.n, 1);
	assert_true(strcmp(one.rows[0].row.id, two.rows[0].row.id) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_use_is_written_at_most_every_ten_seconds),
	    TEST(a_row_is_due_when_its_life_says_so),
	    TEST(each_step_of_a_life_is_due_after_the_last_use),
	    TEST(a_change_leaves_the_rest_as_it_was),
	    TEST(what_is_due_comes_the_longest_due_first),
	    TEST(only_what_is_due_expires_and_a_deletion_is_taken_up),
	    TEST(those_that_should_be_looked_at_come_by_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

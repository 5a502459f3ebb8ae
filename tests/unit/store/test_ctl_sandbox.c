#include <pthread.h>

#include "store/ctl_plan.h"
#include "store/ctl_port.h"
#include "store/node_execution.h"
#include "store/stmt.h"
#include "store_unit.h"

static void another_tenants_sandbox_is_not_found(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	OWN(ctl_sandbox_list_free) struct ctl_sandbox_list l = {.n = 0};
	const struct ctl_sandbox_filter all = {.limit = 0};
	struct ctl_sandbox other;
	id_sandbox_t id;

	unit_sandbox(u, &u->a, "box", &s);
	FAILS(ctl_sandbox_find(u->c, u->b.id, "box", &other, &u->e),
	      ERR_NOT_FOUND);
	FAILS(ctl_sandbox_get(u->c, u->b.id, s.id, &other, &u->e),
	      ERR_NOT_FOUND);
	FAILS(ctl_sandbox_deleting(u->c, u->b.id, "box", id, &u->e),
	      ERR_NOT_FOUND);
	OK(ctl_sandbox_list(u->c, u->b.id, &all, &l, &u->e));
	assert_int_equal(l.n, 0);
	OK(ctl_sandbox_get(u->c, u->a.id, s.id, &other, &u->e));
	ctl_sandbox_free(&other);
}

static void a_tenant_with_sandboxes_is_not_removed(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	struct ctl_tenant t;

	unit_sandbox(u, &u->a, "box", &s);
	FAILS(ctl_tenant_remove(u->c, u->a.id, &u->e), ERR_STATE);
	OK(ctl_tenant_find(u->c, u->a.name, &t, &u->e));
	OK(ctl_tenant_remove(u->c, u->b.id, &u->e));
	FAILS(ctl_tenant_find(u->c, u->b.name, &t, &u->e), ERR_NOT_FOUND);
	FAILS(ctl_tenant_remove(u->c, u->b.id, &u->e), ERR_STATE);
}

static void both_tenants_may_use_one_name(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox a = {.labels = NULL};
	OWN(ctl_sandbox_free) struct ctl_sandbox b = {.labels = NULL};

	unit_sandbox(u, &u->a, "box", &a);
	unit_sandbox(u, &u->b, "box", &b);
	assert_string_not_equal(a.id, b.id);
}

static void a_row_keeps_what_was_asked_for(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};

	unit_sandbox(u, &u->a, "box", &s);
	ctl_sandbox_free(&s);
	OK(ctl_sandbox_find(u->c, u->a.id, "box", &s, &u->e));
	assert_true(id_sandbox_ok(s.id));
	assert_int_equal(s.state, SANDBOX_CREATING);
	assert_string_equal(s.image, "host");
	assert_string_equal(s.user, "root");
	assert_string_equal(s.net.policy, "none");
	assert_string_equal(s.labels, "{\"team\":\"red\"}");
	assert_string_equal(s.env, "{\"TOKEN\":\"hush\"}");
	assert_int_equal(s.limits.of[LIMIT_MEMORY], 1 << 28);
	assert_int_equal(s.limits.of[LIMIT_CPU], 1000);
	assert_int_equal(s.limits.of[LIMIT_PIDS], 128);
	assert_true(s.created_ms > 0);
	assert_int_equal(s.last_active_ms, s.created_ms);
}

static void a_second_reserve_gives_the_row_that_is_there(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	OWN(ctl_sandbox_free) struct ctl_sandbox again = {.labels = NULL};
	const struct ctl_sandbox_spec spec = {.name = "box", .image = "x"};
	bool made = true;

	unit_sandbox(u, &u->a, "box", &s);
	OK(ctl_sandbox_reserve(u->c, u->a.id, &spec, &again, &made, &u->e));
	assert_false(made);
	assert_string_equal(again.id, s.id);
	assert_string_equal(again.image, "host");
}

static void a_reserve_needs_a_tenant_and_texts_that_fit(void **state)
{
	struct unit *u = *state;
	struct ctl_sandbox_spec spec = {.name = "box", .image = "host"};
	struct ctl_sandbox s;
	char name[CTL_SANDBOX_NAME_MAX + 2];
	bool made;

	FAILS(ctl_sandbox_reserve(u->c, "nobody", &spec, &s, &made, &u->e),
	      ERR_NOT_FOUND);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	spec.name = name;
	FAILS(ctl_sandbox_reserve(u->c, u->a.id, &spec, &s, &made, &u->e),
	      ERR_ARG);
	spec.name = "";
	FAILS(ctl_sandbox_reserve(u->c, u->a.id, &spec, &s, &made, &u->e),
	      ERR_ARG);
	spec.name = "box";
	spec.image = name;
	FAILS(ctl_sandbox_reserve(u->c, u->a.id, &spec, &s, &made, &u->e),
	      ERR_ARG);
	assert_string_equal(u->e.text, "image");
}

/* ---- as many as the tenant may have ---- */

static void at_most(struct unit *u, const struct ctl_tenant *t, int64_t n)
{
	struct ctl_allowance a;

	OK(ctl_plan_allowance(u->c, t->id, &a, &u->e));
	a.own.of[LIMIT_SANDBOXES] = n;
	OK(ctl_plan_allow(u->c, t->id, &a, &u->e));
}

static void a_tenant_has_no_more_sandboxes_than_it_may(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox a = {.labels = NULL};
	OWN(ctl_sandbox_free) struct ctl_sandbox b = {.labels = NULL};
	OWN(ctl_sandbox_free) struct ctl_sandbox again = {.labels = NULL};
	OWN(ctl_sandbox_free) struct ctl_sandbox theirs = {.labels = NULL};
	OWN(ctl_sandbox_free) struct ctl_sandbox third = {.labels = NULL};
	const struct ctl_sandbox_spec one = {.name = "one", .image = "host"};
	const struct ctl_sandbox_spec more = {.name = "more", .image = "host"};
	int64_t used, most;
	id_sandbox_t id;
	bool made;

	at_most(u, &u->a, 2);
	unit_sandbox(u, &u->a, "one", &a);
	unit_sandbox(u, &u->a, "two", &b);
	FAILS(ctl_sandbox_reserve(u->c, u->a.id, &more, &third, &made, &u->e),
	      ERR_LIMIT);
	OK(ctl_sandbox_room(u->c, u->a.id, &used, &most, &u->e));
	assert_int_equal(used, 2);
	assert_int_equal(most, 2);
	/* What is there can be used, and another tenant has its own. */
	OK(ctl_sandbox_reserve(u->c, u->a.id, &one, &again, &made, &u->e));
	assert_false(made);
	unit_sandbox(u, &u->b, "more", &theirs);
	/* Room is made when one is gone, not when it begins to go. */
	OK(ctl_sandbox_deleting(u->c, u->a.id, "two", id, &u->e));
	FAILS(ctl_sandbox_reserve(u->c, u->a.id, &more, &third, &made, &u->e),
	      ERR_LIMIT);
	OK(ctl_sandbox_remove(u->c, id, &u->e));
	OK(ctl_sandbox_reserve(u->c, u->a.id, &more, &third, &made, &u->e));
	assert_true(made);
	FAILS(ctl_sandbox_room(u->c, "nobody", &used, &most, &u->e),
	      ERR_NOT_FOUND);
}

/* ---- many at once ---- */

#define THREADS 8

struct racer {
	const char *dir;
	const char *tenant;
	char name[16];
	id_sandbox_t id;
	bool made;
	enum err err;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	OWN(store_close) struct store_conn *c = NULL;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	const struct ctl_sandbox_spec spec = {.name = r->name, .image = "host"};
	struct errinfo e;

	r->err = store_open(r->dir, &c, &e);
	if (r->err == ERR_NONE)
		r->err = ctl_sandbox_reserve(c, r->tenant, &spec, &s, &r->made,
					     &e);
	memcpy(r->id, s.id, sizeof(r->id));
	return NULL;
}

/* All at once: under one name, or each under its own. */
static void race_all(struct unit *u, bool own_names, struct racer *r)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++) {
		r[i].dir = u->dir;
		r[i].tenant = u->a.id;
		snprintf(r[i].name, sizeof(r[i].name), "race%d",
			 own_names ? i : 0);
		assert_int_equal(pthread_create(&t[i], NULL, race, &r[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void two_connections_reserving_one_name_give_one_row(void **state)
{
	struct unit *u = *state;
	struct racer r[THREADS] = {{.made = false}};
	int made = 0;

	race_all(u, false, r);
	for (int i = 0; i < THREADS; i++) {
		OK(r[i].err);
		made += r[i].made;
		assert_string_equal(r[i].id, r[0].id);
	}
	assert_int_equal(made, 1);
}

static void many_connections_at_once_do_not_pass_the_limit(void **state)
{
	struct unit *u = *state;
	struct racer r[THREADS] = {{.made = false}};
	int made = 0;

	at_most(u, &u->a, 3);
	race_all(u, true, r);
	for (int i = 0; i < THREADS; i++) {
		assert_true(r[i].err == ERR_NONE || r[i].err == ERR_LIMIT);
		assert_int_equal(r[i].err == ERR_NONE, r[i].made);
		made += r[i].made;
	}
	assert_int_equal(made, 3);
}

/* ---- the life of a row ---- */

static void a_confirmed_sandbox_runs(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};

	unit_sandbox(u, &u->a, "box", &s);
	OK(ctl_sandbox_confirm(u->c, s.id, &u->e));
	ctl_sandbox_free(&s);
	OK(ctl_sandbox_find(u->c, u->a.id, "box", &s, &u->e));
	assert_int_equal(s.state, SANDBOX_RUNNING);
	/* A start of one that runs is confirmed as well. */
	OK(ctl_sandbox_confirm(u->c, s.id, &u->e));
}

static void a_state_moves_only_from_where_it_is(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};

	unit_sandbox(u, &u->a, "box", &s);
	FAILS(ctl_sandbox_move(u->c, s.id, SANDBOX_CREATING, SANDBOX_SLEEPING,
			       &u->e),
	      ERR_STATE);
	FAILS(ctl_sandbox_move(u->c, s.id, SANDBOX_RUNNING, SANDBOX_SLEEPING,
			       &u->e),
	      ERR_STATE);
	OK(ctl_sandbox_confirm(u->c, s.id, &u->e));
	OK(ctl_sandbox_move(u->c, s.id, SANDBOX_RUNNING, SANDBOX_SLEEPING,
			    &u->e));
	FAILS(ctl_sandbox_move(u->c, s.id, SANDBOX_RUNNING, SANDBOX_STOPPED,
			       &u->e),
	      ERR_STATE);
	OK(ctl_sandbox_move(u->c, s.id, SANDBOX_SLEEPING, SANDBOX_STOPPED,
			    &u->e));
}

static void one_that_is_being_deleted_is_not_found(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	const struct ctl_sandbox_spec spec = {.name = "box", .image = "host"};
	struct ctl_sandbox other;
	id_sandbox_t id, again;
	bool made;

	unit_sandbox(u, &u->a, "box", &s);
	OK(ctl_sandbox_deleting(u->c, u->a.id, "box", id, &u->e));
	assert_string_equal(id, s.id);
	FAILS(ctl_sandbox_find(u->c, u->a.id, "box", &other, &u->e),
	      ERR_NOT_FOUND);
	FAILS(ctl_sandbox_get(u->c, u->a.id, s.id, &other, &u->e),
	      ERR_NOT_FOUND);
	/* Somebody who started it meanwhile is told to undo that. */
	FAILS(ctl_sandbox_confirm(u->c, s.id, &u->e), ERR_NOT_FOUND);
	FAILS(ctl_sandbox_reserve(u->c, u->a.id, &spec, &other, &made, &u->e),
	      ERR_STATE);
	/* A deletion that was begun can be finished by anybody. */
	OK(ctl_sandbox_deleting(u->c, u->a.id, "box", again, &u->e));
	assert_string_equal(again, s.id);
}

static void a_removed_sandbox_frees_its_name_and_rows(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	OWN(ctl_sandbox_free) struct ctl_sandbox next = {.labels = NULL};
	struct node_execution_new x = {.id = "x1", .kind = EXEC_CALL};
	struct ctl_port p = {.port = 80, .token = "t"};
	int64_t n = -1;
	bool exists = true;
	id_sandbox_t id;

	unit_sandbox(u, &u->a, "box", &s);
	memcpy(p.sandbox, s.id, sizeof(p.sandbox));
	OK(ctl_port_add(u->c, u->a.id, &p, &u->e));
	x.sandbox = s.id;
	OK(node_execution_add(u->c, &x, &u->e));
	/* Not before somebody said so. */
	OK(ctl_sandbox_remove(u->c, s.id, &u->e));
	OK(ctl_sandbox_exists(u->c, s.id, &exists, &u->e));
	assert_true(exists);
	OK(node_execution_add(u->c, &x, &u->e));
	OK(ctl_sandbox_deleting(u->c, u->a.id, "box", id, &u->e));
	OK(ctl_sandbox_remove(u->c, id, &u->e));
	OK(ctl_sandbox_remove(u->c, id, &u->e));
	OK(ctl_sandbox_exists(u->c, s.id, &exists, &u->e));
	assert_false(exists);
	OK(db_int(u->c->db[STORE_CTL], "SELECT count(*) FROM ports", &n,
		  &u->e));
	assert_int_equal(n, 0);
	OK(db_int(u->c->db[STORE_NODE], "SELECT count(*) FROM executions", &n,
		  &u->e));
	assert_int_equal(n, 0);
	unit_sandbox(u, &u->a, "box", &next);
	assert_string_not_equal(next.id, s.id);
}

/* ---- lists ---- */

static void a_list_comes_in_pages_by_name(void **state)
{
	struct unit *u = *state;
	struct ctl_sandbox_filter f = {.limit = 4};
	size_t seen = 0;
	char last[CTL_SANDBOX_NAME_MAX + 1] = "";
	bool more = true;

	for (int i = 0; i < 10; i++) {
		struct ctl_sandbox s;
		char name[16];

		snprintf(name, sizeof(name), "box%02d", i);
		unit_sandbox(u, &u->a, name, &s);
		ctl_sandbox_free(&s);
	}
	while (more) {
		OWN(ctl_sandbox_list_free) struct ctl_sandbox_list l = {.n = 0};

		f.after = last;
		OK(ctl_sandbox_list(u->c, u->a.id, &f, &l, &u->e));
		for (size_t i = 0; i < l.n; i++) {
			assert_true(strcmp(last, l.rows[i].name) < 0);
			memcpy(last, l.rows[i].name, sizeof(last));
			seen++;
		}
		more = l.more;
		assert_true(!more || l.n == 4);
	}
	assert_int_equal(seen, 10);
}

static size_t listed(struct unit *u, struct ctl_sandbox_filter f)
{
	OWN(ctl_sandbox_list_free) struct ctl_sandbox_list l = {.n = 0};

	OK(ctl_sandbox_list(u->c, u->a.id, &f, &l, &u->e));
	return l.n;
}

static void a_list_is_filtered_by_state_and_label(void **state)
{
	struct unit *u = *state;
	struct ctl_sandbox s;

	unit_sandbox(u, &u->a, "one", &s);
	OK(ctl_sandbox_confirm(u->c, s.id, &u->e));
	ctl_sandbox_free(&s);
	unit_sandbox(u, &u->a, "two", &s);
	ctl_sandbox_free(&s);
#define F(...) ((struct ctl_sandbox_filter){__VA_ARGS__})
	assert_int_equal(listed(u, F(.limit = 0)), 2);
	assert_int_equal(listed(u, F(.state = SANDBOX_RUNNING)), 1);
	assert_int_equal(listed(u, F(.state = SANDBOX_FAILED)), 0);
	assert_int_equal(listed(u, F(.label_key = "team")), 2);
	assert_int_equal(
	    listed(u, F(.label_key = "team", .label_value = "red")), 2);
	assert_int_equal(
	    listed(u, F(.label_key = "team", .label_value = "blue")), 0);
	assert_int_equal(listed(u, F(.label_key = "nope")), 0);
#undef F
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(another_tenants_sandbox_is_not_found),
	    TEST(a_tenant_with_sandboxes_is_not_removed),
	    TEST(both_tenants_may_use_one_name),
	    TEST(a_row_keeps_what_was_asked_for),
	    TEST(a_second_reserve_gives_the_row_that_is_there),
	    TEST(a_reserve_needs_a_tenant_and_texts_that_fit),
	    TEST(a_tenant_has_no_more_sandboxes_than_it_may),
	    TEST(two_connections_reserving_one_name_give_one_row),
	    TEST(many_connections_at_once_do_not_pass_the_limit),
	    TEST(a_confirmed_sandbox_runs),
	    TEST(a_state_moves_only_from_where_it_is),
	    TEST(one_that_is_being_deleted_is_not_found),
	    TEST(a_removed_sandbox_frees_its_name_and_rows),
	    TEST(a_list_comes_in_pages_by_name),
	    TEST(a_list_is_filtered_by_state_and_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

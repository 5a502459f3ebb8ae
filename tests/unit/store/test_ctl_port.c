#include "base/clock.h"
#include "store/ctl_port.h"
#include "store_unit.h"

static struct ctl_port port_of(const struct ctl_sandbox *s, uint16_t port,
			       const char *token)
{
	struct ctl_port p = {.port = port};

	memcpy(p.sandbox, s->id, sizeof(p.sandbox));
	snprintf(p.token, sizeof(p.token), "%s", token);
	snprintf(p.name, sizeof(p.name), "web");
	return p;
}

static struct ctl_port_at at_of(const struct ctl_port *p)
{
	return (struct ctl_port_at){p->sandbox, p->port, p->alias};
}

static void a_port_is_found_by_its_key_triple_only(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	struct ctl_port p, out;
	id_sandbox_t id;

	unit_sandbox(u, &u->a, "box", &s);
	p = port_of(&s, 8000, "abc123");
	OK(ctl_port_add(u->c, u->a.id, &p, &u->e));
	assert_true(p.created_ms > 0);
	OK(ctl_port_key(u->c, s.id, 8000, "abc123", &out, &u->e));
	assert_string_equal(out.name, "web");
	FAILS(ctl_port_key(u->c, s.id, 8001, "abc123", &out, &u->e),
	      ERR_NOT_FOUND);
	FAILS(ctl_port_key(u->c, s.id, 8000, "abc124", &out, &u->e),
	      ERR_NOT_FOUND);
	FAILS(ctl_port_key(u->c, s.id, 8000, "abc12", &out, &u->e),
	      ERR_NOT_FOUND);
	FAILS(ctl_port_key(u->c, s.id, 8000, "abc1234", &out, &u->e),
	      ERR_NOT_FOUND);
	FAILS(ctl_port_key(u->c, s.id, 8000, "", &out, &u->e), ERR_NOT_FOUND);
	FAILS(ctl_port_key(u->c, "s", 8000, "abc123", &out, &u->e),
	      ERR_NOT_FOUND);
	/* One that is being deleted shows nothing any more. */
	OK(ctl_sandbox_deleting(u->c, u->a.id, "box", id, &u->e));
	FAILS(ctl_port_key(u->c, s.id, 8000, "abc123", &out, &u->e),
	      ERR_NOT_FOUND);
}

static void another_tenants_ports_are_not_found(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	OWN(ctl_port_list_free) struct ctl_port_list l = {.n = 0};
	struct ctl_port p, more, out;
	struct ctl_port_at at;

	unit_sandbox(u, &u->a, "box", &s);
	p = port_of(&s, 80, "t");
	FAILS(ctl_port_add(u->c, u->b.id, &p, &u->e), ERR_NOT_FOUND);
	OK(ctl_port_add(u->c, u->a.id, &p, &u->e));
	at = at_of(&p);
	FAILS(ctl_port_get(u->c, u->b.id, &at, &out, &u->e), ERR_NOT_FOUND);
	FAILS(ctl_port_remove(u->c, u->b.id, &at, NULL, &u->e), ERR_NOT_FOUND);
	more = port_of(&s, 80, "t2");
	snprintf(more.alias, sizeof(more.alias), "more");
	FAILS(ctl_port_add(u->c, u->b.id, &more, &u->e), ERR_NOT_FOUND);
	OK(ctl_port_list(u->c, u->b.id, s.id, &l, &u->e));
	assert_int_equal(l.n, 0);
	OK(ctl_port_get(u->c, u->a.id, &at, &out, &u->e));
}

static void a_port_is_exposed_once(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	OWN(ctl_port_list_free) struct ctl_port_list l = {.n = 0};
	OWN(ctl_port_list_free) struct ctl_port_list gone = {.n = 0};
	struct ctl_port p, out;
	struct ctl_port_at at;

	unit_sandbox(u, &u->a, "box", &s);
	p = port_of(&s, 81, "t1");
	OK(ctl_port_add(u->c, u->a.id, &p, &u->e));
	p = port_of(&s, 81, "t2");
	FAILS(ctl_port_add(u->c, u->a.id, &p, &u->e), ERR_EXISTS);
	p = port_of(&s, 80, "t2");
	OK(ctl_port_add(u->c, u->a.id, &p, &u->e));
	OK(ctl_port_list(u->c, u->a.id, s.id, &l, &u->e));
	assert_int_equal(l.n, 2);
	assert_int_equal(l.rows[0].port, 80);
	at = at_of(&l.rows[1]);
	OK(ctl_port_remove(u->c, u->a.id, &at, &gone, &u->e));
	assert_int_equal(gone.n, 1);
	assert_string_equal(gone.rows[0].token, "t1");
	FAILS(ctl_port_remove(u->c, u->a.id, &at, NULL, &u->e), ERR_NOT_FOUND);
	FAILS(ctl_port_key(u->c, s.id, 81, "t1", &out, &u->e), ERR_NOT_FOUND);
}

static void a_token_has_a_checked_form(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	const char *const bad[] = {"", "A", "a_b", "a-b", "a.b", "a/b"};
	struct ctl_port p;

	unit_sandbox(u, &u->a, "box", &s);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		p = port_of(&s, 80, bad[i]);
		FAILS(ctl_port_add(u->c, u->a.id, &p, &u->e), ERR_ARG);
	}
	p = port_of(&s, 0, "t");
	FAILS(ctl_port_add(u->c, u->a.id, &p, &u->e), ERR_ARG);
	p = port_of(&s, 65535, "0123456789abcdef");
	OK(ctl_port_add(u->c, u->a.id, &p, &u->e));
}

static struct ctl_port alias_of(const struct ctl_sandbox *s, const char *alias,
				const char *token)
{
	struct ctl_port p = port_of(s, 80, token);

	snprintf(p.alias, sizeof(p.alias), "%s", alias);
	return p;
}

static void each_name_of_a_port_has_its_own_token(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	OWN(ctl_port_list_free) struct ctl_port_list l = {.n = 0};
	OWN(ctl_port_list_free) struct ctl_port_list gone = {.n = 0};
	struct ctl_port own, a, b, out;
	struct ctl_port_at at;

	unit_sandbox(u, &u->a, "box", &s);
	own = alias_of(&s, "", "t0");
	a = alias_of(&s, "a", "t1");
	b = alias_of(&s, "b", "t2");
	FAILS(ctl_port_add(u->c, u->a.id, &a, &u->e), ERR_NOT_FOUND);
	OK(ctl_port_add(u->c, u->a.id, &own, &u->e));
	OK(ctl_port_add(u->c, u->a.id, &b, &u->e));
	a.is_private = true;
	OK(ctl_port_add(u->c, u->a.id, &a, &u->e));
	OK(ctl_port_list(u->c, u->a.id, s.id, &l, &u->e));
	assert_int_equal(l.n, 3);
	assert_string_equal(l.rows[0].alias, "");
	assert_string_equal(l.rows[1].alias, "a");
	OK(ctl_port_key(u->c, s.id, 80, "t1", &out, &u->e));
	assert_true(out.is_private);
	OK(ctl_port_key(u->c, s.id, 80, "t2", &out, &u->e));
	assert_string_equal(out.alias, "b");
	assert_false(out.is_private);
	at = at_of(&b);
	OK(ctl_port_remove(u->c, u->a.id, &at, NULL, &u->e));
	FAILS(ctl_port_key(u->c, s.id, 80, "t2", &out, &u->e), ERR_NOT_FOUND);
	OK(ctl_port_key(u->c, s.id, 80, "t0", &out, &u->e));
	OK(ctl_port_key(u->c, s.id, 80, "t1", &out, &u->e));
	at = at_of(&own);
	OK(ctl_port_remove(u->c, u->a.id, &at, &gone, &u->e));
	assert_int_equal(gone.n, 2);
	FAILS(ctl_port_key(u->c, s.id, 80, "t1", &out, &u->e), ERR_NOT_FOUND);
}

static void one_token_is_not_of_two_names(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	struct ctl_port own, a;

	unit_sandbox(u, &u->a, "box", &s);
	own = alias_of(&s, "", "t0");
	a = alias_of(&s, "a", "t0");
	OK(ctl_port_add(u->c, u->a.id, &own, &u->e));
	FAILS(ctl_port_add(u->c, u->a.id, &a, &u->e), ERR_EXISTS);
	a = alias_of(&s, "a", "t1");
	OK(ctl_port_add(u->c, u->a.id, &a, &u->e));
	snprintf(own.token, sizeof(own.token), "t1");
	FAILS(ctl_port_set(u->c, u->a.id, &own, &u->e), ERR_EXISTS);
}

static void names_end_with_the_ports_own(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	struct ctl_port own, a, out;

	unit_sandbox(u, &u->a, "box", &s);
	own = alias_of(&s, "", "t0");
	a = alias_of(&s, "a", "t1");
	OK(ctl_port_add(u->c, u->a.id, &own, &u->e));
	OK(ctl_port_add(u->c, u->a.id, &a, &u->e));
	own.expires_ms = clock_unix_ms() - 1;
	OK(ctl_port_set(u->c, u->a.id, &own, &u->e));
	FAILS(ctl_port_key(u->c, s.id, 80, "t1", &out, &u->e), ERR_NOT_FOUND);
	own.expires_ms = 0;
	OK(ctl_port_set(u->c, u->a.id, &own, &u->e));
	OK(ctl_port_key(u->c, s.id, 80, "t1", &out, &u->e));
}

static void a_port_has_so_many_names_at_most(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	struct ctl_port p;

	unit_sandbox(u, &u->a, "box", &s);
	p = alias_of(&s, "", "own");
	OK(ctl_port_add(u->c, u->a.id, &p, &u->e));
	for (int i = 0; i <= CTL_PORT_ALIASES; i++) {
		p = alias_of(&s, "", "");
		snprintf(p.alias, sizeof(p.alias), "n%d", i);
		snprintf(p.token, sizeof(p.token), "t%d", i);
		if (i < CTL_PORT_ALIASES)
			OK(ctl_port_add(u->c, u->a.id, &p, &u->e));
		else
			FAILS(ctl_port_add(u->c, u->a.id, &p, &u->e),
			      ERR_LIMIT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_port_is_found_by_its_key_triple_only),
	    TEST(another_tenants_ports_are_not_found),
	    TEST(a_port_is_exposed_once),
	    TEST(a_token_has_a_checked_form),
	    TEST(each_name_of_a_port_has_its_own_token),
	    TEST(one_token_is_not_of_two_names),
	    TEST(names_end_with_the_ports_own),
	    TEST(a_port_has_so_many_names_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

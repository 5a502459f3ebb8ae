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
	struct ctl_port p, out;

	unit_sandbox(u, &u->a, "box", &s);
	p = port_of(&s, 80, "t");
	FAILS(ctl_port_add(u->c, u->b.id, &p, &u->e), ERR_NOT_FOUND);
	OK(ctl_port_add(u->c, u->a.id, &p, &u->e));
	FAILS(ctl_port_get(u->c, u->b.id, s.id, 80, &out, &u->e),
	      ERR_NOT_FOUND);
	FAILS(ctl_port_remove(u->c, u->b.id, s.id, 80, &out, &u->e),
	      ERR_NOT_FOUND);
	OK(ctl_port_list(u->c, u->b.id, s.id, &l, &u->e));
	assert_int_equal(l.n, 0);
	OK(ctl_port_get(u->c, u->a.id, s.id, 80, &out, &u->e));
}

static void a_port_is_exposed_once(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	OWN(ctl_port_list_free) struct ctl_port_list l = {.n = 0};
	struct ctl_port p, out;

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
	OK(ctl_port_remove(u->c, u->a.id, s.id, 81, &out, &u->e));
	assert_string_equal(out.token, "t1");
	FAILS(ctl_port_remove(u->c, u->a.id, s.id, 81, NULL, &u->e),
	      ERR_NOT_FOUND);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_port_is_found_by_its_key_triple_only),
	    TEST(another_tenants_ports_are_not_found),
	    TEST(a_port_is_exposed_once),
	    TEST(a_token_has_a_checked_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/clock.h"
#include "store/ctl_link.h"
#include "store_unit.h"

static struct ctl_link link_of(const struct unit *u,
			       const struct ctl_sandbox *s)
{
	struct ctl_link l = {.expires_ms = clock_unix_ms() + 60000,
			     .download = true};

	memcpy(l.sandbox, s->id, sizeof(l.sandbox));
	memcpy(l.auth.tenant, u->a.id, sizeof(l.auth.tenant));
	snprintf(l.method, sizeof(l.method), "GET");
	l.path = strdup("/tmp/\xff x");
	return l;
}

/* A sandbox, and a link to a file in it by a key that exists. */
struct linked {
	struct ctl_sandbox s;
	struct ctl_link l;
	char key[CTL_KEY_LEN + 1];
	char token[CTL_LINK_LEN + 1];
};

static void linked_open(struct unit *u, struct linked *x)
{
	memset(x, 0, sizeof(*x));
	unit_sandbox(u, &u->a, "box", &x->s);
	OK(ctl_key_add(u->c, u->a.id, KEY_EXEC, x->key, &u->e));
	x->l = link_of(u, &x->s);
	memcpy(x->l.auth.prefix, x->key, CTL_KEY_PREFIX_LEN);
	OK(ctl_link_add(u->c, &x->l, x->token, &u->e));
}

static void linked_close(struct linked *x)
{
	ctl_sandbox_free(&x->s);
	ctl_link_free(&x->l);
}

static void a_link_is_found_by_its_whole_token_only(void **state)
{
	struct unit *u = *state;
	OWN(ctl_link_free) struct ctl_link out = {.path = NULL};
	OWN(linked_close) struct linked x;

	linked_open(u, &x);
	assert_int_equal(strlen(x.token), CTL_LINK_LEN);
	OK(ctl_link_use(u->c, x.token, &out, &u->e));
	assert_string_equal(out.path, "/tmp/\xff x");
	assert_string_equal(out.sandbox, x.s.id);
	assert_string_equal(out.auth.tenant, u->a.id);
	assert_int_equal(out.auth.scope, KEY_EXEC);
	assert_true(out.download);
	for (size_t i = 0; i < CTL_LINK_LEN; i++) {
		char was = x.token[i];

		x.token[i] = was == 'a' ? 'b' : 'a';
		FAILS(ctl_link_use(u->c, x.token, &out, &u->e), ERR_NOT_FOUND);
		x.token[i] = was;
	}
	FAILS(ctl_link_use(u->c, "", &out, &u->e), ERR_NOT_FOUND);
	FAILS(ctl_link_use(u->c, x.l.id, &out, &u->e), ERR_NOT_FOUND);
}

static void a_link_ends_with_its_time_its_key_and_its_sandbox(void **state)
{
	struct unit *u = *state;
	OWN(ctl_link_free) struct ctl_link out = {.path = NULL};
	OWN(ctl_link_list_free) struct ctl_link_list all = {.n = 0};
	OWN(linked_close) struct linked x;
	char token[CTL_LINK_LEN + 1], prefix[CTL_KEY_PREFIX_LEN + 1] = {0};
	id_sandbox_t id;

	linked_open(u, &x);
	x.l.expires_ms = clock_unix_ms() - 1;
	OK(ctl_link_add(u->c, &x.l, token, &u->e));
	FAILS(ctl_link_use(u->c, token, &out, &u->e), ERR_NOT_FOUND);
	OK(ctl_link_list(u->c, u->a.id, x.s.id, &all, &u->e));
	assert_int_equal(all.n, 1);
	memcpy(prefix, x.key, CTL_KEY_PREFIX_LEN);
	OK(ctl_key_revoke(u->c, prefix, &u->e));
	FAILS(ctl_link_use(u->c, x.token, &out, &u->e), ERR_NOT_FOUND);
	OK(ctl_sandbox_deleting(u->c, u->a.id, "box", id, &u->e));
	FAILS(ctl_link_use(u->c, x.token, &out, &u->e), ERR_NOT_FOUND);
}

static void another_tenants_links_are_not_found(void **state)
{
	struct unit *u = *state;
	OWN(ctl_link_free) struct ctl_link out = {.path = NULL};
	OWN(ctl_link_list_free) struct ctl_link_list all = {.n = 0};
	OWN(linked_close) struct linked x;
	char token[CTL_LINK_LEN + 1];

	linked_open(u, &x);
	OK(ctl_link_list(u->c, u->b.id, x.s.id, &all, &u->e));
	assert_int_equal(all.n, 0);
	FAILS(ctl_link_remove(u->c, u->b.id, x.s.id, x.l.id, &u->e),
	      ERR_NOT_FOUND);
	OK(ctl_link_use(u->c, x.token, &out, &u->e));
	memcpy(x.l.auth.tenant, u->b.id, sizeof(x.l.auth.tenant));
	FAILS(ctl_link_add(u->c, &x.l, token, &u->e), ERR_NOT_FOUND);
	OK(ctl_link_list(u->c, u->a.id, x.s.id, &all, &u->e));
	OK(ctl_link_remove(u->c, u->a.id, x.s.id, all.rows[0].id, &u->e));
	FAILS(ctl_link_remove(u->c, u->a.id, x.s.id, all.rows[0].id, &u->e),
	      ERR_NOT_FOUND);
}

static void a_sandbox_has_only_so_many_links(void **state)
{
	struct unit *u = *state;
	OWN(linked_close) struct linked x;
	char token[CTL_LINK_LEN + 1];
	struct ctl_link old;

	linked_open(u, &x);
	old = x.l;
	old.expires_ms = clock_unix_ms() - 1;
	OK(ctl_link_add(u->c, &old, token, &u->e));
	for (int i = 1; i < CTL_LINKS_MAX; i++)
		OK(ctl_link_add(u->c, &x.l, token, &u->e));
	FAILS(ctl_link_add(u->c, &x.l, token, &u->e), ERR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_link_is_found_by_its_whole_token_only),
	    TEST(a_link_ends_with_its_time_its_key_and_its_sandbox),
	    TEST(another_tenants_links_are_not_found),
	    TEST(a_sandbox_has_only_so_many_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

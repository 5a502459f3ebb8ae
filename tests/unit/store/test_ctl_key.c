#include "store/ctl_audit.h"
#include "store/ctl_key.h"
#include "store/stmt.h"
#include "store_unit.h"

static void a_key_tells_its_tenant_and_scope(void **state)
{
	struct unit *u = *state;
	char key[CTL_KEY_LEN + 1];
	struct ctl_auth auth;

	OK(ctl_key_add(u->c, u->b.id, KEY_EXEC, key, &u->e));
	assert_int_equal(strlen(key), CTL_KEY_LEN);
	assert_memory_equal(key, "wrn_", 4);
	assert_int_equal(key[CTL_KEY_PREFIX_LEN], '_');
	OK(ctl_key_check(u->c, key, &auth, &u->e));
	assert_string_equal(auth.tenant, u->b.id);
	assert_int_equal(auth.scope, KEY_EXEC);
	assert_memory_equal(auth.prefix, key, CTL_KEY_PREFIX_LEN);
}

static void a_revoked_key_is_refused(void **state)
{
	struct unit *u = *state;
	char key[CTL_KEY_LEN + 1], prefix[CTL_KEY_PREFIX_LEN + 1] = {0};
	struct ctl_auth auth;

	OK(ctl_key_add(u->c, u->a.id, KEY_MANAGE, key, &u->e));
	memcpy(prefix, key, CTL_KEY_PREFIX_LEN);
	OK(ctl_key_check(u->c, key, &auth, &u->e));
	/* The 8 characters alone name it too. */
	OK(ctl_key_revoke(u->c, prefix + 4, &u->e));
	FAILS(ctl_key_check(u->c, key, &auth, &u->e), ERR_DENIED);
	FAILS(ctl_key_revoke(u->c, prefix, &u->e), ERR_STATE);
	FAILS(ctl_key_revoke(u->c, "wrn_00000000", &u->e), ERR_NOT_FOUND);
	FAILS(ctl_key_revoke(u->c, "wrn_", &u->e), ERR_NOT_FOUND);
}

static void a_wrong_secret_behind_a_right_prefix_is_refused(void **state)
{
	struct unit *u = *state;
	char key[CTL_KEY_LEN + 1];
	struct ctl_auth auth = {.scope = KEY_NONE};

	OK(ctl_key_add(u->c, u->a.id, KEY_MANAGE, key, &u->e));
	for (size_t i = CTL_KEY_PREFIX_LEN + 1; i < CTL_KEY_LEN; i++) {
		char had = key[i];

		key[i] = had == 'A' ? 'B' : 'A';
		FAILS(ctl_key_check(u->c, key, &auth, &u->e), ERR_DENIED);
		key[i] = had;
	}
	assert_int_equal(auth.scope, KEY_NONE);
	OK(ctl_key_check(u->c, key, &auth, &u->e));
}

static void a_malformed_key_is_refused(void **state)
{
	struct unit *u = *state;
	const char *const bad[] = {
	    "",
	    "wrn_",
	    "wrn_aaaaaaaa_",
	    "xyz_aaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	    "wrn_aaaaaaaaxAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	    "wrn_' OR 1=1_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	};
	struct ctl_auth auth;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		FAILS(ctl_key_check(u->c, bad[i], &auth, &u->e), ERR_DENIED);
}

static void the_key_itself_is_not_stored(void **state)
{
	struct unit *u = *state;
	char key[CTL_KEY_LEN + 1], sql[512];
	int64_t n = -1;

	OK(ctl_key_add(u->c, u->a.id, KEY_MANAGE, key, &u->e));
	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM api_keys WHERE instr(hash, '%s') OR "
		 "instr(prefix, '%s')",
		 key + CTL_KEY_PREFIX_LEN + 1, key + CTL_KEY_PREFIX_LEN + 1);
	OK(db_int(u->c->db[STORE_CTL], sql, &n, &u->e));
	assert_int_equal(n, 0);
	OK(db_int(u->c->db[STORE_CTL], "SELECT length(hash) FROM api_keys", &n,
		  &u->e));
	assert_int_equal(n, 32);
}

static void a_key_needs_a_tenant(void **state)
{
	struct unit *u = *state;
	char key[CTL_KEY_LEN + 1] = "unchanged";

	FAILS(ctl_key_add(u->c, "nobody", KEY_READ, key, &u->e), ERR_NOT_FOUND);
	assert_string_equal(key, "unchanged");
}

static void a_use_is_stamped(void **state)
{
	struct unit *u = *state;
	OWN(ctl_key_list_free) struct ctl_key_list l = {.n = 0};
	char key[CTL_KEY_LEN + 1];
	struct ctl_auth auth;

	OK(ctl_key_add(u->c, u->a.id, KEY_READ, key, &u->e));
	OK(ctl_key_list(u->c, &l, &u->e));
	assert_int_equal(l.n, 1);
	assert_int_equal(l.rows[0].last_used_ms, 0);
	assert_string_equal(l.rows[0].tenant, "acme");
	ctl_key_list_free(&l);
	OK(ctl_key_check(u->c, key, &auth, &u->e));
	OK(ctl_key_list(u->c, &l, &u->e));
	assert_true(l.rows[0].last_used_ms >= l.rows[0].created_ms);
	assert_int_equal(l.rows[0].revoked_ms, 0);
}

static void scopes_have_names(void **state)
{
	(void)state;
	assert_int_equal(ctl_key_scope("read"), KEY_READ);
	assert_int_equal(ctl_key_scope("manage"), KEY_MANAGE);
	assert_int_equal(ctl_key_scope(""), KEY_NONE);
	assert_int_equal(ctl_key_scope("root"), KEY_NONE);
	assert_string_equal(ctl_key_scope_name(KEY_EXEC), "exec");
}

static void tenants_have_checked_unique_names(void **state)
{
	struct unit *u = *state;
	OWN(ctl_tenant_list_free) struct ctl_tenant_list l = {.n = 0};
	struct ctl_tenant t;
	char name[CTL_TENANT_NAME_MAX + 2];

	FAILS(ctl_tenant_add(u->c, "acme", &t, &u->e), ERR_EXISTS);
	FAILS(ctl_tenant_add(u->c, "", &t, &u->e), ERR_ARG);
	FAILS(ctl_tenant_add(u->c, "-x", &t, &u->e), ERR_ARG);
	FAILS(ctl_tenant_add(u->c, "Acme", &t, &u->e), ERR_ARG);
	FAILS(ctl_tenant_add(u->c, "a b", &t, &u->e), ERR_ARG);
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	FAILS(ctl_tenant_add(u->c, name, &t, &u->e), ERR_ARG);
	OK(ctl_tenant_add(u->c, name + 1, &t, &u->e));
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		OK(ctl_tenant_add(u->c, name, &t, &u->e));
	}
	OK(ctl_tenant_list(u->c, &l, &u->e));
	assert_int_equal(l.n, 23);
	for (size_t i = 1; i < l.n; i++)
		assert_true(strcmp(l.rows[i - 1].name, l.rows[i].name) < 0);
}

static void acts_are_appended_to_the_audit(void **state)
{
	struct unit *u = *state;
	const struct ctl_audit act = {.tenant = u->a.id,
				      .actor = "operator",
				      .action = "tenant.add",
				      .target = "acme"};
	int64_t n = 0;

	OK(ctl_audit_add(u->c, &act, &u->e));
	OK(ctl_audit_add(u->c, &act, &u->e));
	OK(db_int(u->c->db[STORE_CTL],
		  "SELECT count(*) FROM audit WHERE target = 'acme'", &n,
		  &u->e));
	assert_int_equal(n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_key_tells_its_tenant_and_scope),
	    TEST(a_revoked_key_is_refused),
	    TEST(a_wrong_secret_behind_a_right_prefix_is_refused),
	    TEST(a_malformed_key_is_refused),
	    TEST(the_key_itself_is_not_stored),
	    TEST(a_key_needs_a_tenant),
	    TEST(a_use_is_stamped),
	    TEST(scopes_have_names),
	    TEST(tenants_have_checked_unique_names),
	    TEST(acts_are_appended_to_the_audit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

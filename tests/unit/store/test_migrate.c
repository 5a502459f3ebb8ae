#include "store/stmt.h"
#include "store_unit.h"

/* Never change a line here: a released migration is what it is. */
static const char *const released[][2] = {
    {"ctl_0001_init",
     "7d5021d2445f2cf7f62c0fc5fba227f30887e0bc4a73f842191baeca92502502"},
    {"ctl_0002_plans",
     "32df4aee705f84e107aa90a812ab4b473573dd51110e559940b8ae6e81200b28"},
    {"ctl_0003_audit_name",
     "7faba72ba018f773e7d6f4edfecc71c3d8b5b39a9eb0d38a37320c96cde39150"},
    {"ctl_0004_sandboxes",
     "a9fa0eb0bb5c2dfffda9c918c2c592e2a314cc49ca466c3b64ea4c416e64f9c4"},
    {"ctl_0005_logs",
     "25dceb067cfe99d652a2084d16e1b777a0a5aaa021d4ff9d2969d532729d9ce5"},
    {"ctl_0006_file_links",
     "8aac4ec64acd6145d4c01a5d05189fcf82070b162db2450882f1c03e93d398ef"},
    {"ctl_0007_backups",
     "09271d3ec816b6bedb96a39695ae80d964d9586803ddc6871cf4d744721ecacf"},
    {"ctl_0008_port_access",
     "80b0d9d98a5addaeb0e4a78fb2c02398de99f0f176839868b3c61a1e3606706d"},
    {"ctl_0009_port_names",
     "7106d419c5f8ba11c946bf4ef45ce04a7645a9bc30cde2867d7727b1c84e9e33"},
    {"ctl_0010_lifecycle",
     "1e0bd2c0fdaa06840f8239e8af4b8f480999b7940735b1ed664c721765ead273"},
    {"logs_0001_init",
     "32b34f439165a3959cd1920fb7139687f23fec5aacbec5626a4705cebd5062dd"},
    {"logs_0002_bounds",
     "05384cb24ecca4138e08ec13e44f134e1ef39713f3f06733a875002666fbfa18"},
    {"node_0001_init",
     "6706a56dd53adef699a31ecd607bcee58aadd2a9d0fd8e74a7aa148c30f16be2"},
    {"node_0002_sessions",
     "510f05a17c94e9815c3a34e1c8190c999438f1b40c801849d0391949f9748e22"},
    {"node_0003_hits",
     "2c272bed3fa82573c9d66d00c8b91544715ef5b60b187c7849051303d9a3b7af"},
    {"node_0004_prune",
     "45eca9fa21a1ef750d4979b0edc788e727fbe7fd4615153699fae2d8e0c1effc"},
    {"node_0005_terminals",
     "59f62a39562c224ed43b7ae20f20ed0cd6f740b4f9d44cbc3fe28b1bf32aff84"},
    {"node_0006_port_hits",
     "ae230a517bcfa2f39aa21b8896ceac44832c483575abeb9032ba36604679cd89"},
};

#define RELEASED (sizeof(released) / sizeof(released[0]))

static void a_released_migration_never_changes(void **state)
{
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < migrate_embedded_count; i++) {
		char hash[MIGRATE_HASH_LEN + 1];

		migrate_hash(&migrate_embedded[i], hash);
		for (size_t j = 0; j < RELEASED; j++) {
			if (strcmp(released[j][0], migrate_embedded[i].name) !=
			    0)
				continue;
			found++;
			assert_string_equal(released[j][1], hash);
		}
	}
	assert_int_equal(found, RELEASED);
}

static void migrations_are_in_name_order(void **state)
{
	(void)state;
	for (size_t i = 1; i < migrate_embedded_count; i++)
		assert_true(strcmp(migrate_embedded[i - 1].name,
				   migrate_embedded[i].name) < 0);
	for (int i = 0; i < STORE_DBS; i++)
		assert_true(migrate_count((enum store_db)i) >= 1);
}

static void migrating_again_changes_nothing(void **state)
{
	struct unit *u = *state;
	struct ctl_tenant t;

	OK(migrate_all(u->dir, NULL, &u->e));
	OK(ctl_tenant_find(u->c, "acme", &t, &u->e));
	assert_string_equal(t.id, u->a.id);
}

static void a_newer_database_is_refused(void **state)
{
	struct unit *u = *state;
	OWN(store_close) struct store_conn *c = NULL;

	OK(db_exec(u->c->db[STORE_NODE],
		   "INSERT INTO schema_migrations "
		   "VALUES ('node_9999_future', 'x', 0);"
		   "PRAGMA user_version = 9999",
		   &u->e));
	FAILS(store_open(u->dir, &c, &u->e), ERR_STATE);
	assert_non_null(strstr(u->e.text, "newer"));
	FAILS(migrate_all(u->dir, NULL, &u->e), ERR_STATE);
	assert_non_null(strstr(u->e.text, "node_9999_future"));
}

static void a_migration_of_another_text_is_refused(void **state)
{
	struct unit *u = *state;

	OK(db_exec(u->c->db[STORE_LOGS],
		   "UPDATE schema_migrations SET hash = 'other'", &u->e));
	FAILS(migrate_all(u->dir, NULL, &u->e), ERR_STATE);
	assert_non_null(strstr(u->e.text, "logs_0001_init"));
}

static void a_database_that_was_not_migrated_is_refused(void **state)
{
	struct unit *u = *state;
	OWN(store_close) struct store_conn *c = NULL;

	OK(db_exec(u->c->db[STORE_CTL], "PRAGMA user_version = 0", &u->e));
	FAILS(store_open(u->dir, &c, &u->e), ERR_STATE);
	assert_non_null(strstr(u->e.text, "migrate"));
}

static void a_file_of_before_learns_to_give_space_back(void **state)
{
	struct unit *u = *state;

	for (int i = STORE_NODE; i <= STORE_LOGS; i++) {
		int64_t mode = 0;

		OK(db_exec(u->c->db[i], "PRAGMA auto_vacuum = NONE; VACUUM",
			   &u->e));
		OK(db_int(u->c->db[i], "PRAGMA auto_vacuum", &mode, &u->e));
		assert_int_equal(mode, 0);
	}
	store_close(&u->c);
	OK(migrate_all(u->dir, NULL, &u->e));
	OK(store_open(u->dir, &u->c, &u->e));
	for (int i = STORE_NODE; i <= STORE_LOGS; i++) {
		int64_t mode = 0;

		OK(db_int(u->c->db[i], "PRAGMA auto_vacuum", &mode, &u->e));
		assert_int_equal(mode, 2);
	}
}

static void no_database_is_not_found(void **state)
{
	struct unit *u = *state;
	OWN(store_close) struct store_conn *c = NULL;

	FAILS(store_open("/nonexistent", &c, &u->e), ERR_NOT_FOUND);
	assert_null(c);
}

static void all_tables_are_strict(void **state)
{
	struct unit *u = *state;

	for (int i = 0; i < STORE_DBS; i++) {
		int64_t loose = -1;

		OK(db_int(u->c->db[i],
			  "SELECT count(*) FROM pragma_table_list WHERE "
			  "schema = 'main' AND type = 'table' AND strict = 0 "
			  "AND name NOT LIKE 'sqlite_%'",
			  &loose, &u->e));
		assert_int_equal(loose, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_released_migration_never_changes),
	    TEST(migrations_are_in_name_order),
	    TEST(migrating_again_changes_nothing),
	    TEST(a_newer_database_is_refused),
	    TEST(a_migration_of_another_text_is_refused),
	    TEST(a_database_that_was_not_migrated_is_refused),
	    TEST(a_file_of_before_learns_to_give_space_back),
	    TEST(no_database_is_not_found),
	    TEST(all_tables_are_strict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

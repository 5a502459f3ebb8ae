/* The table of SQL: what every row of it must hold to. */
#include "store/stmt.h"
#include "store_unit.h"

static void every_statement_prepares(void **state)
{
	struct unit *u = *state;

	for (int i = 0; i < STMT_COUNT; i++) {
		struct stmt q = STMT_INIT;

		OK(stmt_use(u->c, (enum stmt_id)i, &q, &u->e));
		stmt_end(&q);
	}
}

static void every_tenant_statement_filters_on_tenant(void **state)
{
	int n = 0;

	(void)state;
	for (int i = 0; i < STMT_COUNT; i++) {
		const struct stmt_info *s = &stmt_table[i];

		if (s->role != STMT_TENANT)
			continue;
		n++;
		if (strstr(s->sql, "id = :tenant") == NULL)
			fail_msg("%s does not filter on :tenant", s->name);
		/* No OR may open the filter again. */
		if (strstr(s->sql, ":tenant OR ") != NULL)
			fail_msg("%s weakens its filter", s->name);
	}
	assert_true(n >= 8);
}

static void every_sandbox_statement_names_its_sandbox(void **state)
{
	(void)state;
	for (int i = 0; i < STMT_COUNT; i++)
		if (stmt_table[i].role == STMT_SANDBOX &&
		    strstr(stmt_table[i].sql, ":sandbox") == NULL)
			fail_msg("%s does not name :sandbox",
				 stmt_table[i].name);
}

/* What EXPLAIN QUERY PLAN may say about a SCAN. */
static bool scan_ok(const char *detail)
{
	return strstr(detail, "CONSTANT ROW") != NULL ||
	       strstr(detail, "VIRTUAL TABLE") != NULL ||
	       strstr(detail, "(subquery") != NULL;
}

static void no_statement_scans_a_table(void **state)
{
	struct unit *u = *state;

	for (int i = 0; i < STMT_COUNT; i++) {
		const struct stmt_info *s = &stmt_table[i];
		char sql[4096];
		sqlite3_stmt *plan = NULL;

		if (strstr(s->sql, "BEGIN") == s->sql ||
		    strstr(s->sql, "COMMIT") == s->sql ||
		    strstr(s->sql, "ROLLBACK") == s->sql)
			continue;
		snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", s->sql);
		assert_int_equal(
		    sqlite3_prepare_v2(u->c->db[s->db], sql, -1, &plan, NULL),
		    SQLITE_OK);
		while (sqlite3_step(plan) == SQLITE_ROW) {
			const char *detail = (const char *)sqlite3_column_text(
			    plan, 3);

			if (strncmp(detail, "SCAN", 4) == 0 && !scan_ok(detail))
				fail_msg("%s: %s", s->name, detail);
		}
		sqlite3_finalize(plan);
	}
}

static void a_transaction_that_is_not_committed_leaves_nothing(void **state)
{
	struct unit *u = *state;
	struct ctl_tenant t;

	{
		OWN(tx_end) struct tx tx = TX_INIT;

		OK(tx_begin(&tx, u->c, STORE_CTL, &u->e));
		OK(ctl_tenant_add(u->c, "gone", &t, &u->e));
	}
	FAILS(ctl_tenant_find(u->c, "gone", &t, &u->e), ERR_NOT_FOUND);
	OK(ctl_tenant_add(u->c, "gone", &t, &u->e));
}

static void a_long_text_is_cut_at_a_character(void **state)
{
	struct unit *u = *state;
	struct stmt q = STMT_INIT;
	char *sql;

	OK(stmt_use(u->c, STMT_TENANT_FIND, &q, &u->e));
	stmt_cut(&q, ":name", "abc\xc3\xa9", 4);
	sql = sqlite3_expanded_sql(q.s);
	assert_non_null(strstr(sql, "'abc'"));
	sqlite3_free(sql);
	stmt_end(&q);
}

static void the_control_file_is_synced_at_each_commit(void **state)
{
	struct unit *u = *state;
	const int64_t want[STORE_DBS] = {2, 1, 1};

	for (int i = 0; i < STORE_DBS; i++) {
		int64_t v = -1;

		OK(db_int(u->c->db[i], "PRAGMA synchronous", &v, &u->e));
		assert_int_equal(v, want[i]);
		OK(db_int(u->c->db[i], "PRAGMA wal_autocheckpoint", &v, &u->e));
		assert_int_equal(v, 0);
		OK(db_int(u->c->db[i], "PRAGMA foreign_keys", &v, &u->e));
		assert_int_equal(v, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(every_statement_prepares),
	    TEST(every_tenant_statement_filters_on_tenant),
	    TEST(every_sandbox_statement_names_its_sandbox),
	    TEST(no_statement_scans_a_table),
	    TEST(a_transaction_that_is_not_committed_leaves_nothing),
	    TEST(a_long_text_is_cut_at_a_character),
	    TEST(the_control_file_is_synced_at_each_commit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

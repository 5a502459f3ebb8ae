/* The operator's SQL reads what it may and changes nothing. */
#include "base/buf.h"
#include "base/clock.h"
#include "store/ctl_key.h"
#include "store/ctl_port.h"
#include "store/log_chunk.h"
#include "store/node_process.h"
#include "store/sql_query.h"
#include "store/stmt.h"
#include "store_unit.h"

static enum err put_head(void *arg, const char *const *names, size_t n,
			 struct errinfo *e)
{
	struct buf *b = arg;

	(void)e;
	for (size_t i = 0; i < n; i++)
		buf_addf(b, "%s%s", i > 0 ? "," : "", names[i]);
	return ERR_NONE;
}

static enum err put_row(void *arg, const struct sql_value *v, size_t n,
			struct errinfo *e)
{
	struct buf *b = arg;

	(void)e;
	buf_addc(b, '|');
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_addc(b, ',');
		if (v[i].type == SQL_INT)
			buf_addf(b, "%lld", (long long)v[i].i);
		else if (v[i].type == SQL_TEXT)
			buf_add(b, v[i].data, v[i].len);
	}
	return ERR_NONE;
}

static enum err run_caps(struct unit *u, const char *sql,
			 const struct sql_caps *caps, struct buf *b)
{
	const struct sql_sink sink = {
	    .arg = b, .head = put_head, .row = put_row};

	return sql_query_run(u->dir, sql, caps, &sink, &u->e);
}

static enum err run(struct unit *u, const char *sql, struct buf *b)
{
	const struct sql_caps caps = SQL_CAPS_DEFAULT;

	return run_caps(u, sql, &caps, b);
}

static void expect(struct unit *u, const char *sql, const char *want)
{
	OWN(buf_free) struct buf b = BUF_INIT(1 << 20);

	if (run(u, sql, &b) != ERR_NONE)
		fail_msg("%s: %s", sql, u->e.text);
	assert_string_equal(buf_str(&b), want);
}

static void refuse(struct unit *u, const char *sql)
{
	OWN(buf_free) struct buf b = BUF_INIT(1 << 20);
	enum err r = run(u, sql, &b);

	if (r != ERR_DENIED && r != ERR_ARG)
		fail_msg("%s: %d", sql, (int)r);
}

static void fill(struct unit *u, struct ctl_sandbox *s)
{
	struct node_process_new n = {.id = "p1", .command = "ls"};
	const struct keeper_event ev = {
	    .seq = 1, .kind = EVENT_ERR, .unix_ms = 5, .data = "oh", .len = 2};
	const struct log_bounds wide = {1 << 20, 1 << 20, 1 << 20};
	struct ctl_port p = {.port = 80, .token = "secret"};
	char key[CTL_KEY_LEN + 1];

	unit_sandbox(u, &u->a, "box", s);
	n.sandbox = s->id;
	OK(node_process_add(u->c, &n, &u->e));
	memcpy(p.sandbox, s->id, sizeof(p.sandbox));
	OK(ctl_port_add(u->c, u->a.id, &p, &u->e));
	OK(ctl_key_add(u->c, u->a.id, KEY_EXEC, key, &u->e));
	OK(log_chunk_begin(u->c, &u->e));
	OK(unit_append(u, s->id, "p1", &ev, &wide));
	OK(unit_append(u, s->id, "x1", &ev, &wide));
	OK(log_chunk_commit(u->c, &u->e));
}

static void views_show_rows_with_names(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};

	fill(u, &s);
	expect(u, "SELECT name FROM tenants ORDER BY name", "name|acme|bolt");
	expect(u, "SELECT tenant, name, state FROM sandboxes;",
	       "tenant,name,state|acme,box,creating");
	expect(u, "SELECT tenant, sandbox, id, command FROM processes",
	       "tenant,sandbox,id,command|acme,box,p1,ls");
	expect(u, "SELECT count(*) AS n FROM contexts", "n|0");
	expect(u, "SELECT count(*) AS n FROM executions", "n|0");
	expect(u,
	       "SELECT sandbox, process, seq, stream, data, at "
	       "FROM process_logs",
	       "sandbox,process,seq,stream,data,at|box,p1,1,stderr,oh,5");
	expect(u, "SELECT execution FROM execution_logs ORDER BY 1",
	       "execution|p1|x1");
	expect(u, "SELECT port, tenant FROM ports", "port,tenant|80,acme");
	expect(u, "SELECT tenant, scope FROM keys", "tenant,scope|acme,exec");
	expect(u, "SELECT count(*) AS n FROM audit", "n|0");
	expect(u,
	       "WITH x AS (SELECT name FROM tenants) SELECT max(name) AS m "
	       "FROM x",
	       "m|bolt");
	expect(u, "SELECT json_extract(labels, '$.team') AS t FROM sandboxes",
	       "t|red");
}

static void nothing_but_a_select_is_allowed(void **state)
{
	struct unit *u = *state;
	const char *const bad[] = {
	    "DELETE FROM tenants",
	    "DELETE FROM main.tenants",
	    "INSERT INTO main.tenants VALUES ('x', 'x', 1)",
	    "UPDATE main.tenants SET name = 'x'",
	    "DROP TABLE main.tenants",
	    "CREATE TABLE main.x (a)",
	    "CREATE TEMP TABLE x (a)",
	    "CREATE TEMP VIEW x AS SELECT hash FROM main.api_keys",
	    "ATTACH '/etc/passwd' AS p",
	    "DETACH node",
	    "PRAGMA user_version = 5",
	    "PRAGMA table_info(tenants)",
	    "SELECT * FROM pragma_database_list",
	    "VACUUM INTO '/tmp/x'",
	    "BEGIN IMMEDIATE",
	    "SELECT load_extension('x')",
	    "SELECT 1; DELETE FROM main.tenants",
	    "SELECT 1; SELECT 2",
	    "SELECT * FROM sqlite_schema",
	    "SELECT * FROM temp.sqlite_schema",
	    "SELECT * FROM node.sqlite_master",
	    "SELECT * FROM main.schema_migrations",
	    "",
	    "  -- nothing",
	    "SELECT nope FROM tenants",
	    "SELECT \"nope\" FROM tenants",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuse(u, bad[i]);
	expect(u, "SELECT count(*) AS n FROM tenants", "n|2");
}

static void secrets_cannot_be_read_by_any_way(void **state)
{
	struct unit *u = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	const char *const bad[] = {
	    "SELECT hash FROM main.api_keys",
	    "SELECT * FROM main.api_keys",
	    "SELECT HASH FROM main.API_KEYS",
	    "SELECT k.hash FROM main.api_keys k JOIN tenants",
	    "SELECT env FROM main.sandboxes",
	    "SELECT 1 FROM main.sandboxes WHERE env LIKE '%hush%'",
	    "SELECT 1 FROM main.sandboxes ORDER BY env",
	    "WITH sandboxes AS (SELECT env FROM main.sandboxes) "
	    "SELECT * FROM sandboxes",
	    "SELECT (SELECT env FROM main.sandboxes)",
	    "SELECT token FROM main.ports",
	    "SELECT env FROM node.contexts",
	    "SELECT max(env) FROM node.contexts",
	    "SELECT env FROM node.sessions",
	    "SELECT answer FROM node.idempotency",
	    "SELECT env FROM sandboxes",
	    "SELECT token FROM ports",
	};

	fill(u, &s);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuse(u, bad[i]);
}

/* A new column must be looked at: is it a secret? Then change this list. */
static void every_column_was_decided_on(void **state)
{
	struct unit *u = *state;
	const int64_t want[STORE_DBS] = {
	    4 + 7 + 33 + 10 + 7 /* tenants, keys, sandboxes, ports, audit */
		+ 22 + 22       /* plans, tenant_limits */
		+ 10 + 15,      /* file_links, backups */
	    16 + 20 + 18        /* executions, processes, contexts */
		+ 6 + 6         /* sessions, idempotency (not to be read) */
		+ 6 + 7,        /* denials, port_hits */
	    13 + 5 + 2 + 2,     /* logs, chunks, sandbox_logs, tenant_logs */
	};

	for (int i = 0; i < STORE_DBS; i++) {
		int64_t n = 0;

		OK(db_int(u->c->db[i],
			  "SELECT count(*) FROM sqlite_schema s, "
			  "pragma_table_info(s.name) WHERE s.type = 'table' "
			  "AND s.name <> 'schema_migrations' "
			  "AND s.name NOT LIKE 'sqlite_%'",
			  &n, &u->e));
		assert_int_equal(n, want[i]);
	}
}

static void a_query_without_end_is_stopped(void **state)
{
	struct unit *u = *state;
	OWN(buf_free) struct buf b = BUF_INIT(1 << 20);
	struct sql_caps caps = SQL_CAPS_DEFAULT;
	int64_t began = clock_mono_ms();

	caps.time_max_ms = 200;
	FAILS(run_caps(u,
		       "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL "
		       "SELECT x + 1 FROM c) SELECT count(*) FROM c",
		       &caps, &b),
	      ERR_TIMEOUT);
	assert_true(clock_mono_ms() - began < 5000);
}

static void rows_and_bytes_are_capped(void **state)
{
	struct unit *u = *state;
	OWN(buf_free) struct buf b = BUF_INIT(1 << 20);
	struct sql_caps caps = SQL_CAPS_DEFAULT;
	const char *const many =
	    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL "
	    "SELECT x + 1 FROM c LIMIT 100) SELECT x FROM c";

	caps.rows_max = 3;
	FAILS(run_caps(u, many, &caps, &b), ERR_LIMIT);
	assert_string_equal(buf_str(&b), "x|1|2|3");
	caps.rows_max = 100;
	buf_reset(&b);
	OK(run_caps(u, many, &caps, &b));
	caps.bytes_max = 100;
	FAILS(run_caps(u, "SELECT hex(zeroblob(100))", &caps, &b), ERR_LIMIT);
	caps.bytes_max = SQL_BYTES_MAX;
	FAILS(run_caps(u, "SELECT zeroblob(100000000)", &caps, &b), ERR_LIMIT);
}

static void no_database_is_told(void **state)
{
	struct unit *u = *state;
	const struct sql_caps caps = SQL_CAPS_DEFAULT;
	const struct sql_sink sink = {.head = put_head, .row = put_row};

	FAILS(sql_query_run("/nonexistent", "SELECT 1", &caps, &sink, &u->e),
	      ERR_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(views_show_rows_with_names),
	    TEST(nothing_but_a_select_is_allowed),
	    TEST(secrets_cannot_be_read_by_any_way),
	    TEST(every_column_was_decided_on),
	    TEST(a_query_without_end_is_stopped),
	    TEST(rows_and_bytes_are_capped),
	    TEST(no_database_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

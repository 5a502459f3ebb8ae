/* The command line as the operator runs it: the program beside this one. */
#include <pwd.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "store/ctl_key.h"
#include "store_unit.h"

struct shell {
	char dir[64];
	char warren[4096];
	struct buf out;
	int status;
};

static const char *why_not(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	char *slash;

	if (n < 0)
		return "no /proc";
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		return "no directory";
	memcpy(slash, "/warren", sizeof("/warren"));
	if (access(path, X_OK) != 0)
		return "warren is not built";
	if (geteuid() == 0 && getpwnam("warren") == NULL)
		return "there is no user warren";
	return NULL;
}

static int shell_setup(void **state)
{
	struct shell *s = calloc(1, sizeof(*s));
	ssize_t n;
	char *slash;

	if (s == NULL)
		return -1;
	s->out = (struct buf)BUF_INIT(1 << 20);
	n = readlink("/proc/self/exe", s->warren, sizeof(s->warren) - 16);
	slash = n > 0 ? strrchr(s->warren, '/') : NULL;
	if (slash == NULL)
		return -1;
	memcpy(slash, "/warren", sizeof("/warren"));
	snprintf(s->dir, sizeof(s->dir), "/tmp/unit-warren-XXXXXX");
	if (mkdtemp(s->dir) == NULL || chmod(s->dir, 0755) != 0)
		return -1;
	*state = s;
	return 0;
}

static int shell_teardown(void **state)
{
	struct shell *s = *state;

	nftw(s->dir, unit_unlink, 16, FTW_DEPTH | FTW_PHYS);
	buf_free(&s->out);
	free(s);
	return 0;
}

#define STEST(f) cmocka_unit_test_setup_teardown(f, shell_setup, shell_teardown)

/* What it says, stderr too; its exit status in s->status. */
static const char *warren(struct shell *s, const char *args)
{
	char line[8192], part[4096];
	FILE *f;
	size_t n;

	snprintf(line, sizeof(line), "'%s' --data %s/data %s 2>&1", s->warren,
		 s->dir, args);
	buf_reset(&s->out);
	f = popen(line, "r");
	assert_non_null(f);
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_add(&s->out, part, n);
	s->status = pclose(f);
	assert_true(WIFEXITED(s->status));
	s->status = WEXITSTATUS(s->status);
	return buf_str(&s->out);
}

static void expect_ok(struct shell *s, const char *args, const char *want)
{
	assert_string_equal(warren(s, args), want);
	assert_int_equal(s->status, 0);
}

/* One line, beginning with our name, and not zero. */
static void expect_refusal(struct shell *s, const char *args)
{
	const char *text = warren(s, args);

	assert_int_equal(s->status, 1);
	assert_memory_equal(text, "warren: ", 8);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

/* It says of each of the three files what was done. */
static void expect_migrated(struct shell *s, const char *what)
{
	const char *text = warren(s, "migrate"), *at = text;

	assert_int_equal(s->status, 0);
	for (int i = 0; i < STORE_DBS; i++) {
		at = strstr(at, what);
		if (at == NULL)
			fail_msg("%d times \"%s\": %s", i, what, text);
		at++;
	}
	assert_memory_equal(text, "ctl.db: ", 8);
}

static void tenants_and_keys_come_and_go(void **state)
{
	struct shell *s = *state;
	char key[CTL_KEY_LEN + 2], line[64];

	expect_migrated(s, ": made, with schema ");
	expect_migrated(s, ", nothing to do\n");
	expect_ok(s, "tenant list", "");
	warren(s, "tenant add acme");
	assert_int_equal(s->status, 0);
	assert_memory_equal(warren(s, "tenant list"), "acme\t", 5);
	snprintf(key, sizeof(key), "%.*s", CTL_KEY_LEN + 1,
		 warren(s, "key add acme"));
	assert_int_equal(strlen(key), CTL_KEY_LEN + 1);
	assert_int_equal(key[CTL_KEY_LEN], '\n');
	assert_non_null(strstr(warren(s, "key list"), "\tmanage\tvalid\n"));
	snprintf(line, sizeof(line), "key revoke %.*s", CTL_KEY_PREFIX_LEN,
		 key);
	expect_ok(s, line, "");
	expect_refusal(s, line);
	assert_non_null(strstr(warren(s, "key list"), "\tmanage\trevoked\n"));
	/* What the operator did is in the audit; the key is not. */
	expect_ok(s, "sql 'SELECT action FROM audit ORDER BY at'",
		  "action\ntenant.add\nkey.add\nkey.revoke\n");
	warren(s, "sql 'SELECT * FROM audit'");
	assert_null(strstr(buf_str(&s->out), key + CTL_KEY_PREFIX_LEN));
}

/* Of the command line: one line too, that names the help. */
static void expect_hint(struct shell *s, const char *args, const char *what)
{
	const char *text = warren(s, args);

	assert_int_equal(s->status, 2);
	assert_memory_equal(text, "warren: ", 8);
	assert_memory_equal(text + 8, what, strlen(what));
	assert_ptr_equal(strstr(text, "; see warren --help\n"),
			 text + strlen(text) - 20);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void a_refusal_is_one_sentence_and_not_zero(void **state)
{
	struct shell *s = *state;

	expect_refusal(s, "tenant list");
	expect_migrated(s, ": made, with schema ");
	expect_refusal(s, "tenant add 'Not A Name'");
	expect_refusal(s, "key add nobody");
	expect_refusal(s, "key revoke wrn_00000000");
	warren(s, "tenant add acme");
	expect_refusal(s, "tenant add acme");
	expect_refusal(s, "key add acme --scope god");
	expect_refusal(s, "sql 'DELETE FROM tenants'");
	expect_refusal(s, "sql 'SELECT hash FROM main.api_keys'");
	expect_refusal(s, "sql 'SELECT 1; SELECT 2'");
	expect_hint(s, "", "no command is given");
	expect_hint(s, "frob", "there is no command frob");
	expect_hint(s, "tenant", "after tenant comes one of add, list");
	expect_hint(s, "tenant add", "tenant add takes 1 argument");
	expect_hint(s, "--nope", "there is no option --nope");
	expect_hint(s, "sql", "sql takes 1 argument");
	expect_hint(s, "sql --views x", "sql takes 0 arguments");
	warren(s, "--help");
	assert_int_equal(s->status, 0);
	assert_memory_equal(buf_str(&s->out), "usage: ", 7);
}

static void what_is_not_there_is_told_once(void **state)
{
	struct shell *s = *state;

	if (geteuid() != 0)
		skip();
	expect_migrated(s, ": made, with schema ");
	assert_string_equal(warren(s, "image import x /no/such/file"),
			    "warren: /no/such/file: No such file or "
			    "directory\n");
	assert_int_equal(s->status, 1);
	expect_refusal(s, "image list");
	assert_null(strstr(buf_str(&s->out), "No such file"));
}

static void views_and_their_columns_are_listed(void **state)
{
	struct shell *s = *state;
	const char *text;

	expect_migrated(s, ": made, with schema ");
	text = warren(s, "sql --views");
	assert_int_equal(s->status, 0);
	assert_memory_equal(text, "view\tcolumns\n", 13);
#define VIEW(name, sql) assert_non_null(strstr(text, "\n" #name "\t"));
#include "store/sql_views.def"
#undef VIEW
	assert_non_null(
	    strstr(text, "\ntenants\tid, name, plan, created_at\n"));
	assert_non_null(strstr(text, "\nports\tport, sandbox, sandbox_id, "));
	text = warren(s, "sql --views --json");
	assert_ptr_equal(
	    strstr(text, "[{\"view\":\"tenants\",\"columns\":\"id, "), text);
	expect_refusal(s, "sql 'SELECT * FROM tenant'");
	assert_non_null(strstr(buf_str(&s->out),
			       "no such table: tenant; warren sql --views "));
}

static void rows_are_shown_as_text_or_json(void **state)
{
	struct shell *s = *state;

	expect_migrated(s, ": made, with schema ");
	expect_ok(s, "sql 'SELECT count(*) AS n FROM tenants'", "n\n0\n");
	expect_ok(s, "sql \"SELECT 1 AS a, NULL AS b, char(9, 27) AS c\"",
		  "a\tb\tc\n1\t\t\\t\\x1b\n");
	expect_ok(
	    s,
	    "sql --json \"SELECT 1 AS a, NULL AS b, char(27, 233) AS c, "
	    "0.5 AS d\"",
	    "[{\"a\":1,\"b\":null,\"c\":\"\\u001b\xc3\xa9\",\"d\":0.5}]\n");
	expect_ok(s,
		  "sql --json \"SELECT CAST(x'61ff62' AS TEXT) AS t, x'00ff' "
		  "AS b, 1e999 AS i\"",
		  "[{\"t\":\"a\xef\xbf\xbd"
		  "b\",\"b\":\"00ff\",\"i\":null}]\n");
	expect_ok(s, "sql --json 'SELECT 1 AS a WHERE 0'", "[]\n");
}

static void root_leaves_no_file_of_its_own(void **state)
{
	struct shell *s = *state;
	char path[128];
	struct stat st;
	const struct passwd *pw = getpwnam("warren");
	const char *const names[] = {"ctl.db", "ctl.db-wal", "ctl.db-shm",
				     "node.db", "logs.db"};

	if (geteuid() != 0 || pw == NULL) {
		print_message("skipped: needs root\n");
		skip();
	}
	expect_migrated(s, ": made, with schema ");
	warren(s, "tenant add acme");
	warren(s, "sql 'SELECT * FROM tenants'");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/data/db/%s", s->dir, names[i]);
		if (stat(path, &st) == 0)
			assert_int_equal(st.st_uid, pw->pw_uid);
	}
	snprintf(path, sizeof(path), "%s/data/db", s->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, pw->pw_uid);
	assert_int_equal(st.st_mode & 0007, 0);
	snprintf(path, sizeof(path), "%s/data", s->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 0);
	/* A directory of root's is not silently used. */
	snprintf(path, sizeof(path), "%s/data/db", s->dir);
	assert_int_equal(chown(path, 0, 0), 0);
	expect_refusal(s, "tenant list");
}

static void a_tenant_is_removed_with_its_keys(void **state)
{
	struct shell *s = *state;

	expect_migrated(s, ": made, with schema ");
	warren(s, "tenant add acme");
	warren(s, "tenant add bolt");
	warren(s, "key add acme");
	warren(s, "key add bolt");
	expect_ok(s, "tenant remove acme", "");
	assert_memory_equal(warren(s, "tenant list"), "bolt\t", 5);
	assert_null(strstr(warren(s, "key list"), "acme"));
	assert_non_null(strstr(warren(s, "key list"), "bolt"));
	expect_refusal(s, "tenant remove acme");
}

static void plans_and_tenants_limits_are_set(void **state)
{
	struct shell *s = *state;

	expect_migrated(s, ": made, with schema ");
	warren(s, "tenant add acme");
	assert_non_null(strstr(warren(s, "plan list"),
			       "default\tmemoryBytes=1073741824\t"));
	warren(s,
	       "plan add small --limit memoryBytes=64M --limit network=none");
	assert_int_equal(s->status, 0);
	assert_non_null(strstr(warren(s, "plan list"),
			       "small\tmemoryBytes=67108864\tcpuMillis=1000"));
	expect_refusal(s, "plan add small");
	expect_refusal(s, "plan set none --limit pids=20");
	assert_non_null(
	    strstr(warren(s, "plan set small --limit pids=20"), "\tpids=20\t"));
	expect_refusal(s, "tenant set acme --plan none");
	expect_refusal(s, "tenant set nobody --plan small");
	expect_refusal(s, "tenant set acme --limit pids=1");
	assert_non_null(
	    strstr(warren(s, "tenant set acme --plan small --limit inodes=1K"),
		   "acme\tsmall\tmemoryBytes=67108864\t"));
	expect_ok(
	    s, "sql 'SELECT plan, memory_bytes, inodes, network FROM limits'",
	    "plan\tmemory_bytes\tinodes\tnetwork\n"
	    "small\t67108864\t1024\tnone\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STEST(tenants_and_keys_come_and_go),
	    STEST(plans_and_tenants_limits_are_set),
	    STEST(a_tenant_is_removed_with_its_keys),
	    STEST(a_refusal_is_one_sentence_and_not_zero),
	    STEST(what_is_not_there_is_told_once),
	    STEST(views_and_their_columns_are_listed),
	    STEST(rows_are_shown_as_text_or_json),
	    STEST(root_leaves_no_file_of_its_own),
	};
	const char *why = why_not();

	if (why != NULL) {
		printf("skipped: %s\n", why);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

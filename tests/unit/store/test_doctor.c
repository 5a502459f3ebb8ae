/* warren doctor, as the operator runs it, over directories that lack things. */
#include <pwd.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "store_unit.h"

struct patient {
	char dir[64];
	char warren[4096];
	struct buf out;
	int status;
};

/* The program beside this one. */
static int warren_path(char *out, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", out, size - 16);
	char *slash;

	out[n > 0 ? n : 0] = '\0';
	slash = strrchr(out, '/');
	if (slash == NULL)
		return -1;
	memcpy(slash, "/warren", sizeof("/warren"));
	return access(out, X_OK);
}

static int patient_setup(void **state)
{
	struct patient *p = calloc(1, sizeof(*p));

	if (p == NULL || warren_path(p->warren, sizeof(p->warren)) != 0)
		return -1;
	p->out = (struct buf)BUF_INIT(1 << 20);
	snprintf(p->dir, sizeof(p->dir), "/tmp/unit-doctor-XXXXXX");
	if (mkdtemp(p->dir) == NULL || chmod(p->dir, 0755) != 0)
		return -1;
	*state = p;
	return 0;
}

static int patient_teardown(void **state)
{
	struct patient *p = *state;

	nftw(p->dir, unit_unlink, 16, FTW_DEPTH | FTW_PHYS);
	buf_free(&p->out);
	free(p);
	return 0;
}

#define PTEST(f)                                                               \
	cmocka_unit_test_setup_teardown(f, patient_setup, patient_teardown)

static const char *run(struct patient *p, const char *args)
{
	char line[8192], part[4096];
	size_t n;
	FILE *f;

	snprintf(line, sizeof(line), "'%s' --data %s/data %s", p->warren,
		 p->dir, args);
	buf_reset(&p->out);
	f = popen(line, "r");
	assert_non_null(f);
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_add(&p->out, part, n);
	p->status = WEXITSTATUS(pclose(f));
	return buf_str(&p->out);
}

/* The line of one check; "" when it is not told. */
static const char *line_of(const char *text, const char *check)
{
	static char line[1024];
	size_t n = strlen(check);

	for (const char *at = text; at != NULL && *at != '\0';
	     at = strchr(at, '\n') != NULL ? strchr(at, '\n') + 1 : NULL)
		if (strlen(at) > 9 + n && strncmp(at + 9, check, n) == 0 &&
		    at[9 + n] == ' ') {
			snprintf(line, sizeof(line), "%.*s",
				 (int)strcspn(at, "\n"), at);
			return line;
		}
	return "";
}

static void expect(struct patient *p, const char *check, const char *state)
{
	const char *line = line_of(buf_str(&p->out), check);

	if (strncmp(line, state, strlen(state)) != 0)
		fail_msg("%s is not %s: '%s'", check, state, line);
}

static void need_setup(void)
{
	if (geteuid() != 0 || getpwnam("warren") == NULL) {
		print_message("skipped: needs root and a user warren\n");
		skip();
	}
}

static void a_directory_that_is_not_there_lacks_all(void **state)
{
	struct patient *p = *state;

	run(p, "doctor 2>&1");
	assert_int_equal(p->status, 1);
	expect(p, "directories", "missing");
	assert_non_null(strstr(buf_str(&p->out), "-> sudo nginx/serve"));
	assert_non_null(strstr(buf_str(&p->out), " checks lack something\n"));
}

static void migrated_databases_are_in_order(void **state)
{
	struct patient *p = *state;

	need_setup();
	run(p, "migrate 2>&1");
	assert_int_equal(p->status, 0);
	run(p, "doctor 2>&1");
	expect(p, "ctl.db", "ok");
	expect(p, "node.db", "ok");
	expect(p, "logs.db", "ok");
	expect(p, "broker", "missing");
}

/* Whatever this machine's setting is. */
static void a_setting_for_debugging_is_told(void **state)
{
	struct patient *p = *state;
	FILE *f = fopen("/proc/sys/fs/suid_dumpable", "r");
	int n = f != NULL ? fgetc(f) : '0';

	if (f != NULL)
		fclose(f);
	run(p, "doctor 2>&1");
	expect(p, "suid dumpable", n == '1' ? "warn" : "ok");
}

static void a_broken_database_is_told(void **state)
{
	struct patient *p = *state;
	char path[128], junk[4096];
	FILE *f;

	need_setup();
	run(p, "migrate 2>&1");
	snprintf(path, sizeof(path), "%s/data/db/logs.db", p->dir);
	f = fopen(path, "r+");
	assert_non_null(f);
	memset(junk, 0xee, sizeof(junk));
	/* The pages of its tables; the schema stays readable. */
	assert_int_equal(fseek(f, 4096, SEEK_SET), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(fwrite(junk, 1, sizeof(junk), f),
				 sizeof(junk));
	fclose(f);
	run(p, "doctor 2>&1");
	assert_int_equal(p->status, 1);
	expect(p, "ctl.db", "ok");
	if (line_of(buf_str(&p->out), "schema")[0] == '\0')
		expect(p, "logs.db", "missing");
}

static void looking_leaves_no_file_of_roots(void **state)
{
	struct patient *p = *state;
	static const char *const names[] = {"ctl.db-wal", "ctl.db-shm",
					    "node.db-shm", "logs.db-shm"};

	need_setup();
	run(p, "migrate 2>&1");
	run(p, "doctor 2>&1");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[128];
		struct stat st;

		snprintf(path, sizeof(path), "%s/data/db/%s", p->dir, names[i]);
		if (stat(path, &st) == 0)
			assert_int_not_equal(st.st_uid, 0);
	}
}

static void a_directory_open_to_others_is_told(void **state)
{
	struct patient *p = *state;
	char path[128];

	need_setup();
	run(p, "migrate 2>&1");
	snprintf(path, sizeof(path), "%s/data/db", p->dir);
	assert_int_equal(chmod(path, 0777), 0);
	run(p, "doctor 2>&1");
	expect(p, "directories", "missing");
	assert_non_null(strstr(line_of(buf_str(&p->out), "directories"),
			       "db has mode 0777"));
}

/* One object a line; what is not ok has a remedy, and only that. */
static void as_json_it_says_the_same(void **state)
{
	struct patient *p = *state;
	const char *text = run(p, "doctor --json 2>/dev/null");
	const char *at = text;
	int n = 0;

	assert_int_equal(p->status, 1);
	assert_int_equal(*at++, '[');
	while (*at == '{') {
		size_t len = strcspn(at, "\n");
		char line[1024];
		bool ok;

		assert_true(len < sizeof(line));
		snprintf(line, sizeof(line), "%.*s", (int)len, at);
		ok = strstr(line, "\"state\":\"ok\"") != NULL;
		assert_int_equal(strstr(line, "\"fix\":\"") == NULL, ok);
		assert_memory_equal(line, "{\"check\":\"", 10);
		assert_int_equal(line[len - 2], '}');
		at += len + 1;
		n++;
		if (line[len - 1] == ']')
			break;
		assert_int_equal(line[len - 1], ',');
	}
	assert_int_equal(*at, '\0');
	assert_true(n > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    PTEST(a_directory_that_is_not_there_lacks_all),
	    PTEST(migrated_databases_are_in_order),
	    PTEST(a_setting_for_debugging_is_told),
	    PTEST(a_broken_database_is_told),
	    PTEST(looking_leaves_no_file_of_roots),
	    PTEST(a_directory_open_to_others_is_told),
	    PTEST(as_json_it_says_the_same),
	};

	char path[4096];

	if (warren_path(path, sizeof(path)) != 0) {
		print_message("skipped: warren is not built\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "store/history_conf.h"
#include "store_unit.h"

static void write_ini(struct unit *u, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/warren.ini", u->dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void without_a_file_the_defaults_hold(void **state)
{
	struct unit *u = *state;
	struct history_conf c = HISTORY_CONF_INIT;

	OK(history_conf_read(u->dir, &c, &u->e));
	assert_int_equal(c.logs_ms, 7 * HISTORY_DAY_MS);
	assert_int_equal(c.rows_ms, 30 * HISTORY_DAY_MS);
	assert_int_equal(c.count, 10000);
}

static void ages_and_the_count_are_read(void **state)
{
	struct unit *u = *state;
	struct history_conf c = HISTORY_CONF_INIT;

	write_ini(u, "[network]\nrate = 5\n[history]\nlogs = 90m\nrows = 0\n"
		     "count = 12\n");
	OK(history_conf_read(u->dir, &c, &u->e));
	assert_int_equal(c.logs_ms, 90 * 60 * 1000);
	assert_int_equal(c.rows_ms, 0);
	assert_int_equal(c.count, 12);
}

static void what_is_wrong_names_its_line_and_changes_nothing(void **state)
{
	struct unit *u = *state;
	static const char *const wrong[] = {"logs = 7",
					    "logs = d",
					    "logs = 7w",
					    "rows = -1d",
					    "rows = 99999999d",
					    "count = 5k",
					    "count = 1000000000000",
					    "age = 7d"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct history_conf c = HISTORY_CONF_INIT;
		char text[96];

		snprintf(text, sizeof(text), "[history]\nlogs = 1d\n%s\n",
			 wrong[i]);
		write_ini(u, text);
		FAILS(history_conf_read(u->dir, &c, &u->e), ERR_ARG);
		assert_non_null(strstr(u->e.text, "line 3: [history] "));
		assert_non_null(strstr(u->e.text, " is no"));
		assert_int_equal(c.logs_ms, 7 * HISTORY_DAY_MS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(without_a_file_the_defaults_hold),
	    TEST(ages_and_the_count_are_read),
	    TEST(what_is_wrong_names_its_line_and_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

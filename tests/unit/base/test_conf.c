/* conf: which line of warren.ini is wrong, and what is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/conf.h"

static char dir[] = "/tmp/conf-XXXXXX";
static char path[64];

struct seen {
	int lines;
	char last[128];
};

/* Takes all but key "bad" of [network]. */
static bool take(void *arg, const char *section, const char *key,
		 const char *value, char wrong[CONF_WRONG_MAX])
{
	struct seen *s = arg;

	s->lines++;
	snprintf(s->last, sizeof(s->last), "%s.%s=%s", section, key, value);
	return strcmp(section, "network") != 0 || strcmp(key, "bad") != 0 ||
	       conf_wrong(wrong, "= \"%s\" is bad", value);
}

static enum err read_text(const char *text, struct seen *s, struct errinfo *e)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	*s = (struct seen){.lines = 0};
	return conf_read(dir, take, s, e);
}

static void lines_are_given_with_their_section(void **state)
{
	struct seen s;
	struct errinfo e;

	(void)state;
	assert_int_equal(read_text("; a remark\n[network]\nrate = 5\n\n"
				   "[history]\nbad = 1\n[pool]\n"
				   "[pool.host]\npython = 2 ; two\n",
				   &s, &e),
			 ERR_NONE);
	assert_int_equal(s.lines, 3);
	assert_string_equal(s.last, "pool.host.python=2");
	assert_int_equal(read_text("", &s, &e), ERR_NONE);
	assert_int_equal(s.lines, 0);
}

static void a_wrong_line_is_named_with_section_and_key(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
	    {"[network]\ngood = 1\nbad = 2\nbad = 3\n",
	     "line 3: [network] bad = \"2\" is bad"},
	    {"[netwrk]\nrate = 5\n", "line 2: [netwrk] rate is in no section"},
	    {"[pools]\npython = 1\n",
	     "line 2: [pools] python is in no section"},
	    {"[pool.]\npython = 1\n",
	     "network, history, backup, preview, pool or pool.IMAGE"},
	    {"rate = 5\n", "line 1: rate stands in no section"},
	    {"[network]\nrate\n", "line 2: is no \"key = value\""},
	    {"[network\nrate = 1\n", "line 1: is no \"key = value\""},
	};
	struct errinfo e;
	struct seen s;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(read_text(bad[i].text, &s, &e), ERR_ARG);
		if (strstr(e.text, bad[i].says) == NULL)
			fail_msg("%s: %s", bad[i].says, e.text);
		assert_ptr_equal(strstr(e.text, path), e.text);
	}
}

static void who_may_write_it_is_asked(void **state)
{
	struct errinfo e;
	struct seen s;

	(void)state;
	assert_int_equal(read_text("[network]\n", &s, &e), ERR_NONE);
	assert_int_equal(chmod(path, 0664), 0);
	assert_int_equal(conf_read(dir, take, &s, &e), ERR_DENIED);
	assert_non_null(strstr(e.text, path));
	assert_int_equal(chmod(path, 0644), 0);
}

static void without_a_file_there_is_nothing_and_a_bad_one_is_told(void **state)
{
	struct seen s = {.lines = 0};
	struct errinfo e;

	(void)state;
	unlink(path);
	assert_int_equal(conf_read(dir, take, &s, &e), ERR_NONE);
	assert_int_equal(s.lines, 0);
	assert_int_equal(conf_read("/dev/null", take, &s, &e), ERR_IO);
	assert_non_null(strstr(e.text, "/dev/null/warren.ini"));
}

static void numbers_are_digits_within_their_range(void **state)
{
	static const char *const bad[] = {
	    "",    "-1",  "+1",
	    " 1",  "1x",  "9",
	    "1.5", "0x1", "99999999999999999999999"};
	unsigned long v = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(conf_number(bad[i], 0, 8, &v));
	assert_int_equal(v, 77);
	assert_true(conf_number("8", 0, 8, &v));
	assert_int_equal(v, 8);
	assert_true(conf_number("0", 0, 8, &v));
	assert_int_equal(v, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_are_given_with_their_section),
	    cmocka_unit_test(a_wrong_line_is_named_with_section_and_key),
	    cmocka_unit_test(who_may_write_it_is_asked),
	    cmocka_unit_test(
		without_a_file_there_is_nothing_and_a_bad_one_is_told),
	    cmocka_unit_test(numbers_are_digits_within_their_range),
	};
	int r;

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/warren.ini", dir);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(dir);
	return r;
}

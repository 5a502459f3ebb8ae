#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fcgi/code_spare.h"
#include "fcgi/route.h"

static char dir[] = "/tmp/spare-XXXXXX";
static char ini[64];

static int make_dir(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(ini, sizeof(ini), "%s/warren.ini", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(ini);
	return rmdir(dir);
}

static enum err open_with(const char *text, struct errinfo *e)
{
	static struct worker worker = {.data_dir = dir};
	FILE *f;

	unlink(ini);
	if (text != NULL) {
		f = fopen(ini, "we");
		assert_non_null(f);
		assert_true(fputs(text, f) >= 0);
		assert_int_equal(fclose(f), 0);
	}
	return code_spare_open(&worker, e);
}

static void good_ones_are_taken(void **state)
{
	static const char *const good[] = {
	    NULL,
	    "",
	    "[pool]\n",
	    "[pool]\npython = 1\n",
	    "[pool]\npython=0\njavascript = 8 ; two\nts = 1\n",
	    "[pool.host]\nbash = 2\n",
	    "[pool]\nwhen = start\n[pool.host]\nwhen = use\n",
	    "[history]\npython = many\n",
	};
	struct errinfo e;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(open_with(good[i], &e), ERR_NONE);
}

static void a_wrong_line_is_named_and_what_is_wrong_with_it(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
	    {"[pool]\npythn = 1\n", "line 2: [pool] pythn is no language"},
	    {"[pool]\n\n python = many\n",
	     "line 3: [pool] python = \"many\" is no number from 0 to 8"},
	    {"[pool]\npython = 9\n",
	     "line 2: [pool] python = \"9\" is no number from 0 to 8"},
	    {"[pool]\npython = -1\n",
	     "line 2: [pool] python = \"-1\" is no number from 0 to 8"},
	    {"[pool]\npython = 1x\n",
	     "line 2: [pool] python = \"1x\" is no number from 0 to 8"},
	    {"[pool]\npython = 99999999999999999999\n",
	     "\"99999999999999999999\" is no number from 0 to 8"},
	    {"[pool.host]\npython =\n",
	     "line 2: [pool.host] python = \"\" is no number from 0 to 8"},
	    {"[pool]\npython = 2\njavascript\n",
	     "line 3: is no \"key = value\""},
	    {"[pool]\nwhen = now\n",
	     "line 2: [pool] when = \"now\" is neither start nor use"},
	    {"[pool]\npython = 1\nperl = 1\nruby = 1\n",
	     "line 3: [pool] perl is no language"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct errinfo e = {0};

		assert_int_equal(open_with(bad[i].text, &e), ERR_ARG);
		if (strstr(e.text, bad[i].says) == NULL)
			fail_msg("%s: %s", bad[i].says, e.text);
		assert_non_null(strstr(e.text, ini));
	}
}

static void more_lines_than_there_is_room_for_are_refused(void **state)
{
	char text[4096] = "[pool]\n";
	struct errinfo e = {0};

	(void)state;
	for (int i = 0; i < 70; i++)
		strncat(text, "python = 1\n", sizeof(text) - strlen(text) - 1);
	assert_int_equal(open_with(text, &e), ERR_ARG);
	assert_non_null(strstr(e.text, "is one line too many"));
}

static void what_cannot_be_read_is_an_error(void **state)
{
	static struct worker worker = {.data_dir = "/dev/null"};
	struct errinfo e = {0};

	(void)state;
	assert_int_equal(code_spare_open(&worker, &e), ERR_IO);
	assert_non_null(strstr(e.text, "/dev/null/warren.ini"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(good_ones_are_taken),
	    cmocka_unit_test(a_wrong_line_is_named_and_what_is_wrong_with_it),
	    cmocka_unit_test(more_lines_than_there_is_room_for_are_refused),
	    cmocka_unit_test(what_cannot_be_read_is_an_error),
	};

	return cmocka_run_group_tests_name("code_spare", tests, make_dir,
					   remove_dir);
}

/* Globs of watches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sandbox/fs_glob.h"

#define HITS(glob, path) assert_true(fs_glob_hits(glob, path))
#define MISSES(glob, path) assert_false(fs_glob_hits(glob, path))

static void one_without_a_slash_is_tried_on_each_name(void **state)
{
	(void)state;
	HITS("*.ts", "a.ts");
	HITS("*.ts", "src/deep/a.ts");
	MISSES("*.ts", "a.tsx");
	MISSES("*.ts", "ts");
	HITS("?", "a");
	MISSES("?", "ab");
	HITS("a*b*c", "axxbyyc");
	MISSES("a*b*c", "axxbyy");
	HITS("*", "x");
	HITS("**", "x/y");
	HITS(".*", ".git");
	MISSES("", "x");
	MISSES("x", "");
}

static void what_is_below_is_meant_too(void **state)
{
	(void)state;
	HITS("node_modules", "a/node_modules/b/c.js");
	MISSES("node_modules", "a/node_modules2/b");
	HITS("src/gen", "src/gen/x/y");
	HITS("dist/", "dist/x");
}

static void one_with_a_slash_starts_at_the_top(void **state)
{
	(void)state;
	HITS("src/*.ts", "src/a.ts");
	HITS("./src/*.ts", "src/a.ts");
	HITS("/src/*.ts", "src/a.ts");
	MISSES("src/*.ts", "lib/src/a.ts");
	MISSES("src/*.ts", "src/sub/a.ts");
	MISSES("src/sub", "src");
}

static void two_stars_are_any_directories(void **state)
{
	(void)state;
	HITS("src/**/*.ts", "src/a.ts");
	HITS("src/**/*.ts", "src/x/y/a.ts");
	HITS("**/gen/*.c", "a/gen/b/gen/x.c");
	HITS("**/a/**/b", "x/a/y/a/z/b");
	MISSES("**/a/**/b", "x/b/y/a");
	MISSES("src/**/*.ts", "src/x/y/a.js");
	HITS("a/**", "a/b/c");
}

/* Each star may not be tried at each place of the others. */
static void many_stars_take_no_longer(void **state)
{
	char glob[512] = "";
	char path[4000];
	int i;

	(void)state;
	for (i = 0; i < 100; i++)
		strncat(glob, "*a", sizeof(glob) - strlen(glob) - 1);
	strncat(glob, "b", sizeof(glob) - strlen(glob) - 1);
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	MISSES(glob, path);
	glob[0] = '\0';
	for (i = 0; i < 50; i++)
		strncat(glob, "**/a/", sizeof(glob) - strlen(glob) - 1);
	strncat(glob, "b", sizeof(glob) - strlen(glob) - 1);
	for (i = 1; i < (int)sizeof(path) - 1; i += 2)
		path[i] = '/';
	MISSES(glob, path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_without_a_slash_is_tried_on_each_name),
	    cmocka_unit_test(what_is_below_is_meant_too),
	    cmocka_unit_test(one_with_a_slash_starts_at_the_top),
	    cmocka_unit_test(two_stars_are_any_directories),
	    cmocka_unit_test(many_stars_take_no_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

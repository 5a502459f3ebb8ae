/* err: filled without allocation, with or without a place to fill. */
#include "tests/unit/base/unit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

static void nobody_needs_to_ask_for_the_text(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ERR_IO, EPERM, "x"), ERR_IO);
}

static void the_system_error_is_told_in_words(void **state)
{
	struct errinfo e;

	(void)state;
	assert_int_equal(err_set(&e, ERR_IO, ENOENT, "open %s", "a"), ERR_IO);
	assert_int_equal(e.code, ERR_IO);
	assert_int_equal(e.sys, ENOENT);
	assert_string_equal(e.text, "open a: No such file or directory");
}

static void an_unknown_system_error_is_no_crash(void **state)
{
	struct errinfo e;

	(void)state;
	err_set(&e, ERR_IO, 99999, "x");
	assert_string_equal(e.text, "x: unknown");
}

static void a_long_text_is_cut(void **state)
{
	struct errinfo e;

	(void)state;
	err_set(&e, ERR_ARG, ENOENT, "%0300d", 1);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

static void context_is_put_before_the_error_s_own_text(void **state)
{
	struct errinfo e;

	(void)state;
	err_set(&e, ERR_IO, EPERM, "mount");
	err_set(&e, e.code, 0, "start: %s", e.text);
	assert_string_equal(e.text, "start: mount: Operation not permitted");
}

static void every_code_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i <= ERR_GONE; i++) {
		assert_string_not_equal(err_name((enum err)i), "unknown");
		for (int j = 0; j < i; j++)
			assert_string_not_equal(err_name((enum err)i),
						err_name((enum err)j));
	}
	assert_string_equal(err_name((enum err)(ERR_GONE + 1)), "unknown");
}

static void a_bug_ends_the_program(void **state)
{
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		must(1 + 1 == 3);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nobody_needs_to_ask_for_the_text),
	    cmocka_unit_test(the_system_error_is_told_in_words),
	    cmocka_unit_test(an_unknown_system_error_is_no_crash),
	    cmocka_unit_test(a_long_text_is_cut),
	    cmocka_unit_test(context_is_put_before_the_error_s_own_text),
	    cmocka_unit_test(every_code_has_a_name_of_its_own),
	    cmocka_unit_test(a_bug_ends_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

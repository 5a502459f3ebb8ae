#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/own.h"
#include "fcgi/launch.h"

/* Run argv with ${in} as stdin; what it prints. */
static void run(struct launch *x, const char *in, char *out, size_t size)
{
	int to[2], from[2], status;
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char **argv = calloc(x->argc + 1, sizeof(*argv));

		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		for (uint32_t i = 0; argv != NULL && i < x->argc; i++)
			argv[i] = strdup(x->argv[i]);
		if (argv != NULL)
			execv(argv[0], argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	assert_int_equal(write(to[1], in, strlen(in)), strlen(in));
	close(to[1]);
	while (n < size - 1 && (r = read(from[0], out + n, size - 1 - n)) > 0)
		n += (size_t)r;
	out[n] = '\0';
	close(from[0]);
	waitpid(pid, &status, 0);
}

static void a_short_command_is_one_argument(void **state)
{
	OWN(launch_free) struct launch x = {0};
	struct errinfo e;

	(void)state;
	assert_int_equal(launch_shell(&x, "echo $0", &e), ERR_NONE);
	assert_int_equal(x.argc, 3);
	assert_string_equal(x.argv[0], "/bin/bash");
	assert_string_equal(x.argv[1], "-c");
	assert_string_equal(x.argv[2], "echo $0");
}

/* It keeps its stdin, has no arguments and the usual separators. */
static void a_command_of_a_mebibyte_runs_as_any_other(void **state)
{
	static const char head[] =
	    "cat; echo \"[$#][$IFS]\"; set -- a b; echo \"$*\"; v='";
	static const char tail[] = "'; echo ${#v}; echo \"end\"\n";
	OWN(launch_free) struct launch x = {0};
	OWN(buf_free) struct buf b = BUF_INIT(LAUNCH_COMMAND_MAX);
	struct errinfo e;
	char out[256];

	(void)state;
	buf_adds(&b, head);
	while (b.len <= MIB)
		buf_adds(&b, "$* \"  x\" #\xc3\xa9\n ");
	buf_adds(&b, tail);
	assert_true(buf_ok(&b));
	assert_int_equal(launch_shell(&x, b.data, &e), ERR_NONE);
	assert_true(x.argc > 8);
	for (uint32_t i = 0; i < x.argc; i++)
		assert_true(strlen(x.argv[i]) <= LAUNCH_ARG_MAX);
	setenv("LC_ALL", "C", 1);
	run(&x, "input\n", out, sizeof(out));
	snprintf(b.data, 256, "input\n[0][ \t\n]\na b\n%zu\nend\n",
		 b.len - strlen(head) - strlen(tail));
	assert_string_equal(out, b.data);
}

static void without_bash_any_shell_runs_it(void **state)
{
	static const char head[] = "cat; echo \"[$#][$IFS]\"; v='";
	OWN(launch_free) struct launch x = {0};
	OWN(buf_free) struct buf b = BUF_INIT(LAUNCH_COMMAND_MAX);
	struct errinfo e;
	char out[256];

	(void)state;
	buf_adds(&b, head);
	while (b.len <= MIB)
		buf_adds(&b, "$* \"  x\" #\n ");
	buf_adds(&b, "'; echo \"end\"\n");
	assert_int_equal(launch_shell(&x, b.data, &e), ERR_NONE);
	assert_true(launch_plainly(&x));
	assert_string_equal(x.argv[0], "/bin/sh");
	assert_false(launch_plainly(&x));
	run(&x, "input\n", out, sizeof(out));
	assert_string_equal(out, "input\n[0][ \t\n]\nend\n");
}

static void a_relative_cwd_is_below_the_workspace(void **state)
{
	struct launch x = {0};
	struct request rq = {.client_fd = -1};
	struct errinfo e;

	(void)state;
	assert_int_equal(launch_cwd(&rq, &x, "a/b", &e), ERR_NONE);
	assert_string_equal(x.cwd, "/workspace/a/b");
	assert_true(x.cwd_given);
	assert_int_equal(launch_cwd(&rq, &x, "/tmp", &e), ERR_NONE);
	assert_string_equal(x.cwd, "/tmp");
	assert_int_equal(launch_cwd(&rq, &x, NULL, &e), ERR_NONE);
	assert_string_equal(x.cwd, "/workspace");
	assert_false(x.cwd_given);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_short_command_is_one_argument),
	    cmocka_unit_test(a_command_of_a_mebibyte_runs_as_any_other),
	    cmocka_unit_test(without_bash_any_shell_runs_it),
	    cmocka_unit_test(a_relative_cwd_is_below_the_workspace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The shell of a session: session.bash run by the real bash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "sandbox/keeper_session.h"

#define OUTPUT_MAX 65536

/* What a keeper does for a session, without a keeper. */
struct shell {
	char state[OUTPUT_MAX];
	size_t len;
	char out[OUTPUT_MAX]; /* stdout and stderr of the last call */
	int status;
	bool saved;
};

static void take_output(struct shell *s, int fd)
{
	size_t at = 0;
	ssize_t n;

	while (at < sizeof(s->out) - 1 &&
	       (n = read(fd, s->out + at, sizeof(s->out) - 1 - at)) > 0)
		at += (size_t)n;
	s->out[at] = '\0';
}

static void take_state(struct shell *s, int fd)
{
	char text[OUTPUT_MAX];
	ssize_t n = pread(fd, text, sizeof(text), 0);

	assert_true(n >= 0 && n < OUTPUT_MAX);
	s->saved = n > 8 && memcmp(text + n - 8, "# saved\n", 8) == 0;
	if (!s->saved)
		return;
	memcpy(s->state, text, (size_t)n);
	s->len = (size_t)n;
}

static void run(struct shell *s, enum exec_kind kind, const char *command,
		const char *cwd, const char *env)
{
	const char *argv[] = {command}, *envs[] = {env};
	struct keeper_start in = {.kind = kind,
				  .cwd = cwd,
				  .argv = argv,
				  .argc = 1,
				  .env = envs,
				  .envc = env != NULL},
			    wrapped;
	OWN(own_mem) const char **args = NULL;
	OWN(own_fd) int state = session_file(s->state, s->len);
	int out[2];
	pid_t pid;

	assert_true(session_wrap(&in, &wrapped, &args));
	assert_true(state >= 0 && pipe2(out, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		char *base[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
		char **v;

		memcpy(&v, &wrapped.argv, sizeof(v));
		dup2(open("/dev/null", O_RDONLY), 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		dup2(fcntl(state, F_DUPFD_CLOEXEC, 20), 3);
		execve(v[0], v, base);
		_exit(126);
	}
	close(out[1]);
	take_output(s, out[0]);
	close(out[0]);
	assert_int_equal(waitpid(pid, &s->status, 0), pid);
	take_state(s, state);
}

static void call_with(struct shell *s, const char *command, const char *cwd,
		      const char *env)
{
	run(s, EXEC_CALL, command, cwd, env);
}

static void call(struct shell *s, const char *command)
{
	call_with(s, command, "", NULL);
}

/* The first call finds no state. */
static struct shell *fresh(void)
{
	static struct shell s;

	memset(&s, 0, sizeof(s));
	call(&s, "cd /");
	assert_true(s.saved);
	return &s;
}

static void says(struct shell *s, const char *command, const char *output)
{
	call(s, command);
	assert_string_equal(s->out, output);
}

static void a_session_keeps_what_a_shell_keeps(void **state)
{
	struct shell *s = fresh();

	(void)state;
	call(s, "cd /usr; X=1; export Y=\"a b\n'c\"; f() { echo f$1; }; "
		"alias ll='echo aliased'; declare -A m=([k]=v); arr=(1 2); "
		"umask 077; set -o pipefail; shopt -s extglob");
	says(s,
	     "pwd; echo $X \"$Y\"; f 3; ll x; echo ${m[k]} ${arr[1]}; "
	     "umask; false | true; echo $?; shopt -q extglob && echo on",
	     "/usr\n1 a b\n'c\nf3\naliased x\nv 2\n0077\n1\non\n");
	says(s, "unset X; unset -f f; unalias ll; set +o pipefail", "");
	says(s, "echo ${X-none}; type f ll 2>&1 | wc -l", "none\n2\n");
	call(s, "cd /tmp; cd /usr/bin");
	says(s, "cd -; pwd", "/tmp\n/tmp\n");
}

static void an_exit_code_is_simply_the_exit_code(void **state)
{
	struct shell *s = fresh();

	(void)state;
	call(s, "cd /usr; exit 42");
	assert_int_equal(WEXITSTATUS(s->status), 42);
	says(s, "pwd", "/usr\n");
	call(s, "set -e; false; echo never");
	assert_int_equal(WEXITSTATUS(s->status), 1);
	assert_string_equal(s->out, "");
	says(s, "set +e; pwd", "/usr\n");
	call(s, "false");
	assert_int_equal(WEXITSTATUS(s->status), 1);
}

static void ends_with(struct shell *s, const char *command, const char *tail)
{
	size_t n = strlen(tail);

	call(s, command);
	assert_true(s->saved && s->len > n);
	assert_memory_equal(s->state + s->len - n, tail, n);
}

static void the_state_tells_how_and_where_the_shell_ended(void **state)
{
	struct shell *s = fresh();

	(void)state;
	ends_with(s, "cd /usr", "\n# end /usr\n# saved\n");
	ends_with(s, "exit 3", "\n# exit /usr\n# saved\n");
	ends_with(s, "(exit 3)", "\n# end /usr\n# saved\n");
	ends_with(s, "set -e; false", "\n# exit /usr\n# saved\n");
	ends_with(s, "set +e; mkdir -p '/tmp/a b'; cd '/tmp/a b'",
		  "\n# end /tmp/a b\n# saved\n");
}

static void no_command_wedges_its_session(void **state)
{
	static const char *const ends[] = {"exec echo replaced",
					   "kill -9 $$",
					   "echo \"unclosed",
					   "cat <<E\nno end",
					   "return 5",
					   "trap 'exit 3' EXIT",
					   "set -n",
					   "exec 3>&-",
					   "exec >/dev/null 2>&1",
					   "declare() { :; }",
					   "readonly RO=1; RO=2"};
	struct shell *s = fresh();

	(void)state;
	call(s, "cd /usr; V=here");
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		call(s, ends[i]);
		says(s, "pwd; echo $V", "/usr\nhere\n");
	}
}

static void a_removed_directory_does_not_stop_the_next_call(void **state)
{
	struct shell *s = fresh();
	char dir[] = "/tmp/sessionXXXXXX", command[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(command, sizeof(command), "cd %s", dir);
	call(s, command);
	assert_int_equal(rmdir(dir), 0);
	says(s, "echo on", "on\n");
}

static void what_is_given_for_a_call_holds_for_that_call_only(void **state)
{
	struct shell *s = fresh();

	(void)state;
	call(s, "cd /usr; export Y=kept");
	call_with(s, "pwd; printenv Y", "/tmp", "Y=given");
	assert_string_equal(s->out, "/tmp\ngiven\n");
	says(s, "pwd; printenv Y", "/usr\nkept\n");
	call_with(s, "printenv N; N=changed", "", "N=new");
	assert_string_equal(s->out, "new\n");
	says(s, "echo ${N-none}", "none\n");
}

static void
a_process_starts_from_the_state_and_becomes_its_program(void **state)
{
	struct shell *s = fresh();

	(void)state;
	call(s, "cd /usr; X=1; export Y=2; f() { echo f$1; }; "
		"alias ll='echo aliased'");
	run(s, EXEC_PROCESS, "pwd; echo $X $Y $V; f 3\nll x; echo $# $0", "",
	    "V=a b");
	assert_string_equal(s->out, "/usr\n1 2 a b\nf3\naliased x\n0 bash\n");
	run(s, EXEC_PROCESS, "pwd; readlink /proc/self/exe", "/tmp", NULL);
	assert_string_equal(s->out, "/tmp\n/usr/bin/readlink\n");
	run(s, EXEC_PROCESS, "echo $$; exec 3>&2; sh -c 'echo $$'", "", NULL);
	assert_int_equal(strtol(s->out, NULL, 10),
			 strtol(strchr(s->out, '\n') + 1, NULL, 10));
	says(s, "pwd; echo $X", "/usr\n1\n");
}

static void options_of_the_shell_do_not_break_it(void **state)
{
	struct shell *s = fresh();

	(void)state;
	call(s, "set -u; cd /usr");
	call_with(s, "echo $NEW", "", "NEW=x");
	assert_string_equal(s->out, "x\n");
	says(s, "set +u; pwd", "/usr\n");
	call(s, "set -x");
	says(s, "echo traced",
	     "+ builtin eval 'echo traced'\n++ echo traced\n"
	     "traced\n");
	call(s, "set +x");
	says(s, "shopt -s xpg_echo; cd /tmp; mkdir -p 'a\\tb'; cd 'a\\tb'", "");
	says(s, "pwd -P | wc -c; shopt -u xpg_echo; cd /; rmdir '/tmp/a\\tb'",
	     "10\n");
}

/* One line of a list of processes, with nothing but the command to read. */
static void the_command_line_is_short(void **state)
{
	struct shell *s = fresh();

	(void)state;
	call(s, "tr '\\0' '\\n' < /proc/$$/cmdline | wc -lc");
	assert_in_range(strtol(s->out, NULL, 10), 7, 7);
	assert_in_range(strtol(strstr(s->out, "7") + 1, NULL, 10), 100, 250);
}

static void programs_do_not_get_the_state(void **state)
{
	struct shell *s = fresh();

	(void)state;
	says(s,
	     "for fd in 3 10; do sh -c \"echo x >&$fd\" 2>/dev/null || "
	     "echo closed; done",
	     "closed\nclosed\n");
	call(s, "sleep 20 </dev/null >/dev/null 2>&1 & P=$!");
	says(s, "ls -l /proc/$P/fd | grep -c memfd; kill $P", "0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_session_keeps_what_a_shell_keeps),
	    cmocka_unit_test(an_exit_code_is_simply_the_exit_code),
	    cmocka_unit_test(the_state_tells_how_and_where_the_shell_ended),
	    cmocka_unit_test(no_command_wedges_its_session),
	    cmocka_unit_test(a_removed_directory_does_not_stop_the_next_call),
	    cmocka_unit_test(what_is_given_for_a_call_holds_for_that_call_only),
	    cmocka_unit_test(
		a_process_starts_from_the_state_and_becomes_its_program),
	    cmocka_unit_test(options_of_the_shell_do_not_break_it),
	    cmocka_unit_test(the_command_line_is_short),
	    cmocka_unit_test(programs_do_not_get_the_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

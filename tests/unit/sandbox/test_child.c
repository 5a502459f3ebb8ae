/* child: exactly the descriptors it is to have, and pids that stay one's. */
#include "tests/unit/sandbox/root_unit.h"

#include <poll.h>

#include "sandbox/child.h"

/* Run /bin/sh with what ${script} says; its wait status. */
static int shell(char *script, const int *fds, int nfds, struct child_spec s)
{
	char name[] = "sh", flag[] = "-c";
	char *const argv[] = {name, flag, script, NULL};
	OWN(own_fd) int program = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	OWN(own_fd) int pidfd = -1;
	struct errinfo e;
	siginfo_t si;
	pid_t pid;
	int status;

	s.program = program;
	s.argv = argv;
	s.fds = fds;
	s.nfds = nfds;
	assert_int_equal(child_start(&s, &pid, &pidfd, &e), ERR_NONE);
	assert_int_equal(waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED | WNOWAIT),
			 0);
	child_reap(pidfd, &status);
	assert_int_equal(kill(pid, 0), -1);
	return status;
}

static void it_has_the_given_descriptors_and_no_others(void **state)
{
	/* 5 is what the shell lists the directory by. */
	char script[] = "for f in /proc/self/fd/*; do n=${f##*/}; "
			"[ \"$n\" -le 5 ] || exit 9; done; "
			"echo ok >&3; read x <&4 && [ \"$x\" = in ]";
	int out[2], in[2];
	char got[8] = "";

	(void)state;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	/* One that nobody marked, and one above where they are put. */
	assert_true(dup(out[0]) >= 0);
	assert_true(fcntl(out[0], F_DUPFD, 200) >= 0);
	assert_int_equal(write(in[1], "in\n", 3), 3);
	assert_int_equal(
	    shell(script, (int[]){out[1], in[0]}, 2, (struct child_spec){0}),
	    0);
	assert_int_equal(read(out[0], got, sizeof(got)), 3);
	assert_string_equal(got, "ok\n");
}

static void descriptors_that_cross_are_put_right(void **state)
{
	char script[] = "echo a >&3; echo b >&4";
	int a[2], b[2];
	char got[8] = "";

	(void)state;
	assert_int_equal(pipe2(a, O_CLOEXEC), 0);
	assert_int_equal(pipe2(b, O_CLOEXEC), 0);
	/* 3 is to become what is 4 now, and 4 what is 3. */
	assert_int_equal(
	    shell(script, (int[]){b[1], a[1]}, 2, (struct child_spec){0}), 0);
	assert_int_equal(read(b[0], got, 2), 2);
	assert_memory_equal(got, "a\n", 2);
	assert_int_equal(read(a[0], got, 2), 2);
	assert_memory_equal(got, "b\n", 2);
}

static void its_environment_is_empty(void **state)
{
	char script[] = "[ -z \"$WARREN_SECRET\" ] && [ -z \"$HOME\" ]";

	(void)state;
	setenv("WARREN_SECRET", "x", 1);
	assert_int_equal(shell(script, NULL, 0, (struct child_spec){0}), 0);
}

static void it_becomes_the_given_user_for_good(void **state)
{
	char script[] = "[ \"$(id -u):$(id -g):$(id -G)\" = "
			"65534:65534:65534 ] && "
			"grep -q 'NoNewPrivs:.1' /proc/self/status && "
			"grep -q 'CapPrm:.0000000000000000' /proc/self/status";

	(void)state;
	need_root("to become another user");
	assert_int_equal(shell(script, NULL, 0,
			       (struct child_spec){.uid = 65534, .gid = 65534}),
			 0);
}

static void how_it_ended_is_told_as_by_wait(void **state)
{
	char code[] = "exit 7", sig[] = "kill -KILL $$";

	(void)state;
	assert_int_equal(
	    WEXITSTATUS(shell(code, NULL, 0, (struct child_spec){0})), 7);
	assert_int_equal(WTERMSIG(shell(sig, NULL, 0, (struct child_spec){0})),
			 SIGKILL);
}

static void a_bad_descriptor_ends_the_child(void **state)
{
	char script[] = "true";

	(void)state;
	assert_int_equal(
	    WEXITSTATUS(shell(script, (int[]){999}, 1, (struct child_spec){0})),
	    126);
}

static void a_process_is_named_by_pid_and_time(void **state)
{
	uint64_t at = child_started_at(getpid());
	int fd;

	(void)state;
	assert_true(at > 0);
	fd = child_open(getpid(), at);
	assert_true(fd >= 0);
	close(fd);
	/* The number was used anew: not the process that was meant. */
	assert_int_equal(child_open(getpid(), at - 1), -1);
	assert_int_equal(child_open(getpid(), at + 1), -1);
	assert_int_equal(child_open(getpid(), 0), -1);
	assert_int_equal(child_open(1, child_started_at(1)), -1);
	assert_int_equal(child_open(0, 1), -1);
	assert_int_equal(child_open(-1, 1), -1);
}

static void one_that_has_ended_is_not_opened(void **state)
{
	pid_t pid = fork();
	uint64_t at;

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	at = child_started_at(pid);
	assert_true(at > 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(child_started_at(pid), 0);
	assert_int_equal(child_open(pid, at), -1);
}

static void the_name_of_a_process_cannot_lie_about_its_time(void **state)
{
	uint64_t at = child_started_at(getpid());

	(void)state;
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = {") R 1 1 1", "a) b) (",
						    "((()))) 9 9"};
		FILE *f = fopen("/proc/self/comm", "w");

		assert_non_null(f);
		fputs(names[i], f);
		fclose(f);
		assert_int_equal(child_started_at(getpid()), at);
	}
}

/* The end of ${out} is open in both; the fork tells its pid there. */
static void fork_and_wait(int out)
{
	int pidfd;
	pid_t pid = child_fork(&pidfd);

	if (pid == 0) {
		pid = getpid();
		if (write(out, &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
	}
	pause();
	_exit(1);
}

static void what_was_forked_ends_with_its_parent(void **state)
{
	struct pollfd p = {.events = POLLIN};
	int pair[2];
	pid_t pid, forked;

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		fork_and_wait(pair[1]);
	close(pair[1]);
	assert_int_equal(read(pair[0], &forked, sizeof(forked)),
			 sizeof(forked));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* Nobody has the other end any more. */
	p.fd = pair[0];
	if (poll(&p, 1, 30000) != 1) {
		kill(forked, SIGKILL);
		fail_msg("it lives without its parent");
	}
	assert_int_equal(read(pair[0], &forked, 1), 0);
	close(pair[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(descriptors_that_cross_are_put_right),
	    cmocka_unit_test(it_has_the_given_descriptors_and_no_others),
	    cmocka_unit_test(its_environment_is_empty),
	    cmocka_unit_test(it_becomes_the_given_user_for_good),
	    cmocka_unit_test(how_it_ended_is_told_as_by_wait),
	    cmocka_unit_test(a_bad_descriptor_ends_the_child),
	    cmocka_unit_test(what_was_forked_ends_with_its_parent),
	    cmocka_unit_test(a_process_is_named_by_pid_and_time),
	    cmocka_unit_test(one_that_has_ended_is_not_opened),
	    cmocka_unit_test(the_name_of_a_process_cannot_lie_about_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

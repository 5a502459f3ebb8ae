/* init_clone: a child in its cgroup, in our memory until it is a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/init_clone.h"

#define WORDS 60000

static int v2; /* a cgroup of the v2 tree, or -1 */

static int set_up(void **state)
{
	static const char *const trees[] = {"/sys/fs/cgroup/unified",
					    "/sys/fs/cgroup"};

	(void)state;
	v2 = -1;
	for (size_t i = 0; i < 2 && v2 < 0; i++) {
		int fd = open(trees[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0 && faccessat(fd, "cgroup.procs", F_OK, 0) == 0 &&
		    faccessat(fd, "cgroup.clone_children", F_OK, 0) < 0)
			v2 = fd;
		else if (fd >= 0)
			close(fd);
	}
	return 0;
}

static void need_cgroup(void)
{
	if (geteuid() == 0 && v2 >= 0)
		return;
	print_message("skipped: needs root and a cgroup v2 tree\n");
	skip();
}

static int ending(pid_t pid)
{
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void be_true(void *arg)
{
	char *const argv[] = {arg, NULL};
	char *const env[] = {NULL};

	execvpe("/bin/true", argv, env);
	_exit(1);
}

static void a_child_becomes_a_program(void **state)
{
	char name[] = "true";

	(void)state;
	need_cgroup();
	for (int i = 0; i < 3; i++)
		assert_int_equal(ending(init_clone(v2, be_true, name, true)),
				 0);
}

/* What takes room on the stack, as many words of a script do. */
static void be_script(void *arg)
{
	char *const env[] = {NULL};
	char **argv = arg;

	execvpe(argv[0], argv, env);
	_exit(1);
}

static void a_script_without_a_first_line_has_room_for_its_words(void **state)
{
	static char *argv[WORDS + 1];
	char path[] = "/tmp/init-clone-XXXXXX", word[] = "x";
	int fd;

	(void)state;
	need_cgroup();
	fd = mkstemp(path);
	assert_int_equal(write(fd, "exit 7\n", 7), 7);
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	argv[0] = path;
	for (int i = 1; i < WORDS; i++)
		argv[i] = word;
	assert_int_equal(
	    WEXITSTATUS(ending(init_clone(v2, be_script, argv, true))), 7);
	unlink(path);
}

static int seen;

static void write_to(void *arg)
{
	int *at = arg;

	*at = 5;
	_exit(*at);
}

static void a_copy_leaves_our_memory_alone(void **state)
{
	(void)state;
	need_cgroup();
	seen = 1;
	assert_int_equal(
	    WEXITSTATUS(ending(init_clone(v2, write_to, &seen, false))), 5);
	assert_int_equal(seen, 1);
}

static void without_a_cgroup_there_is_no_child(void **state)
{
	(void)state;
	for (int exec = 0; exec < 2; exec++) {
		errno = 0;
		assert_int_equal(init_clone(-1, write_to, &seen, exec != 0),
				 -1);
		assert_true(errno == EBADF || errno == EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_child_becomes_a_program),
	    cmocka_unit_test(
		a_script_without_a_first_line_has_room_for_its_words),
	    cmocka_unit_test(a_copy_leaves_our_memory_alone),
	    cmocka_unit_test(without_a_cgroup_there_is_no_child),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}

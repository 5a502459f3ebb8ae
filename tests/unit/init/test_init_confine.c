/* init_confine_child: what init's children lose. Runs as root in a child. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/init_msg.h"
#include "sandbox/caps.h"
#include "sandbox/init_confine.h"

static int in_child(uint8_t user, bool fs, int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(init_confine_child(user, fs) ? fn() : 200);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void need_root(void)
{
	if (geteuid() != 0) {
		print_message("skipped: needs root, to lose it\n");
		skip();
	}
}

static uint64_t status_hex(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	unsigned long long v = UINT64_MAX;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			sscanf(line + strlen(name), " %llx", &v);
	if (f != NULL)
		fclose(f);
	return v;
}

static int caps_are(uint64_t want)
{
	return status_hex("CapPrm:") == want && status_hex("CapEff:") == want &&
		       status_hex("CapInh:") == 0 &&
		       status_hex("CapAmb:") == 0 &&
		       (status_hex("CapBnd:") & ~want) == 0 &&
		       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1
		   ? 0
		   : 1;
}

static int sandbox_is_confined(void)
{
	uid_t r, e, s;

	if (getresuid(&r, &e, &s) != 0 || r != INIT_SANDBOX_UID || e != r ||
	    s != r || getgroups(0, NULL) != 0)
		return 2;
	if (setuid(0) == 0 || setgid(0) == 0)
		return 3;
	return caps_are(0);
}

static int root_is_confined(void)
{
	return getuid() != 0 || getgroups(0, NULL) != 0 ? 2
							: caps_are(CAPS_ROOT);
}

static void user_sandbox_has_nothing_and_gets_nothing(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(
	    in_child(INIT_USER_SANDBOX, false, sandbox_is_confined), 0);
	assert_int_equal(in_child(INIT_USER_SANDBOX, true, sandbox_is_confined),
			 0);
}

static void root_has_the_short_list_and_no_more(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(in_child(INIT_USER_ROOT, false, root_is_confined), 0);
	assert_int_equal(in_child(INIT_USER_ROOT, true, root_is_confined), 0);
}

static int calls_are_refused(void)
{
	struct clone_args a = {.exit_signal = SIGCHLD};
	char c = 'x';

	if (syscall(SYS_clone3, &a, sizeof(a)) != -1 || errno != ENOSYS)
		return 1;
	if (syscall(SYS_ioctl, 0, TIOCSTI, &c) != -1 || errno != EPERM)
		return 2;
	if (syscall(SYS_ioctl, 0, TIOCSTI | 1L << 32, &c) != -1 ||
	    errno != EPERM)
		return 3;
	if (syscall(SYS_ioctl, 0, TIOCLINUX, &c) != -1 || errno != EPERM)
		return 4;
	/* Others are the kernel's to answer. */
	if (syscall(SYS_ioctl, -1, TIOCGWINSZ, &c) != -1 || errno != EBADF)
		return 5;
	return 0;
}

static void clone3_and_typing_into_terminals_are_refused(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(in_child(INIT_USER_ROOT, false, calls_are_refused), 0);
	assert_int_equal(in_child(INIT_USER_SANDBOX, false, calls_are_refused),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(user_sandbox_has_nothing_and_gets_nothing),
	    cmocka_unit_test(root_has_the_short_list_and_no_more),
	    cmocka_unit_test(clone3_and_typing_into_terminals_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

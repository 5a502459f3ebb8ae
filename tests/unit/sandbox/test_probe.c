/* The probe tries things on this machine, and leaves it as it was. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/probe.h"

static struct check_list list;

static void need_root(void)
{
	if (geteuid() != 0) {
		print_message("skipped: the probe makes namespaces as root\n");
		skip();
	}
}

static const struct check *find(const char *name)
{
	for (int i = 0; i < list.n; i++)
		if (strcmp(list.at[i].name, name) == 0)
			return &list.at[i];
	return NULL;
}

static int entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	if (d == NULL)
		return 0;
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static int lines(const char *path)
{
	FILE *f = fopen(path, "r");
	int c, n = 0;

	assert_non_null(f);
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static int cgroups_of_probes(void)
{
	static const char *const trees[] = {
	    "/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids",
	    "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified"};
	int n = 0;

	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		DIR *d = opendir(trees[i]);
		struct dirent *de;

		while (d != NULL && (de = readdir(d)) != NULL)
			n += strncmp(de->d_name, "warren-probe-", 13) == 0;
		if (d != NULL)
			closedir(d);
	}
	return n;
}

static void a_machine_that_runs_sandboxes_has_all_they_need(void **state)
{
	static const char *const needed[] = {"kernel", "namespaces", "seccomp",
					     "overlay", "cgroup"};

	(void)state;
	need_root();
	list = (struct check_list){.n = 0};
	probe_all(&list, "/nonexistent");
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		const struct check *c = find(needed[i]);

		if (c == NULL || c->state == CHECK_MISSING)
			fail_msg("%s: %s", needed[i],
				 c == NULL ? "not told" : c->text);
	}
	for (int i = 0; i < list.n; i++)
		assert_true(list.at[i].state == CHECK_OK ||
			    list.at[i].fix[0] != '\0');
}

static void nothing_of_a_probe_stays(void **state)
{
	int fds = entries("/proc/self/fd");
	int mounts = lines("/proc/self/mountinfo");

	(void)state;
	need_root();
	list = (struct check_list){.n = 0};
	probe_all(&list, "/nonexistent");
	assert_int_equal(entries("/proc/self/fd"), fds);
	assert_int_equal(lines("/proc/self/mountinfo"), mounts);
	assert_int_equal(cgroups_of_probes(), 0);
}

static int die(struct probe_said *said)
{
	(void)said;
	raise(SIGKILL);
	return 0;
}

static int refuse(struct probe_said *said)
{
	errno = EPERM;
	return probe_fail(said, "the step");
}

static void a_try_that_dies_has_failed(void **state)
{
	struct probe_said said;

	(void)state;
	assert_false(probe_try(0, die, &said));
	assert_int_equal(said.sys, EFAULT);
}

static void a_try_names_the_step_that_failed(void **state)
{
	struct probe_said said;

	(void)state;
	assert_false(probe_try(0, refuse, &said));
	assert_int_equal(said.sys, EPERM);
	assert_string_equal(said.what, "the step");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_machine_that_runs_sandboxes_has_all_they_need),
	    cmocka_unit_test(nothing_of_a_probe_stays),
	    cmocka_unit_test(a_try_that_dies_has_failed),
	    cmocka_unit_test(a_try_names_the_step_that_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

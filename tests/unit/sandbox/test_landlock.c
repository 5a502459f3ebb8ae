/*
 * landlock: what is reachable by a descriptor that leads out of the root.
 * Each try is a child of its own, in a root of its own.
 */
#include "tests/unit/sandbox/root_unit.h"

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>

#include "sandbox/landlock.h"

static char dir[64];

static int make(void **state)
{
	char path[96];

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/landlock-unit-%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/dev", dir);
	return mkdir(dir, 0755) < 0 || mkdir(path, 0755) < 0 ? -1 : 0;
}

static int end(void **state)
{
	char command[160];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void need_landlock(void)
{
	need_root("to change its root");
	if (landlock_abi() == 0) {
		print_message("skipped: this kernel has no Landlock that is "
			      "new enough\n");
		skip();
	}
}

/* With ${fd} of the outside, in. */
static bool enter(int program, int cgroup)
{
	return chroot(dir) == 0 && chdir("/") == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       landlock_confine(program, cgroup) == 0;
}

static int outside(void *arg)
{
	int etc = open("/etc", O_PATH | O_DIRECTORY);
	int kept = open("/etc/passwd", O_RDONLY);
	char c;

	(void)arg;
	if (!enter(-1, -1))
		return 1;
	if (openat(etc, "passwd", O_RDONLY) >= 0 || errno != EACCES)
		return 2;
	if (openat(etc, "../etc", O_RDONLY | O_DIRECTORY) >= 0 ||
	    errno != EACCES)
		return 3;
	if (openat(etc, "new", O_WRONLY | O_CREAT, 0600) >= 0 ||
	    errno != EACCES)
		return 4;
	if (mkdirat(etc, "warren-unit", 0700) == 0 || errno != EACCES)
		return 5;
	/* What is open is open. */
	return read(kept, &c, 1) == 1 ? 0 : 6;
}

static void what_lies_outside_of_the_root_is_refused(void **state)
{
	(void)state;
	need_landlock();
	assert_int_equal(apart(outside, NULL), 0);
}

static int inside(void *arg)
{
	int fd;

	(void)arg;
	if (!enter(-1, -1) || mkdir("/a", 0755) < 0 || mkdir("/b", 0755) < 0)
		return 1;
	fd = open("/a/f", O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, 10) < 0 || truncate("/a/f", 5) < 0)
		return 2;
	/* From one directory to another, which ABI 1 cannot allow. */
	if (rename("/a/f", "/b/g") < 0 || link("/b/g", "/a/h") < 0)
		return 3;
	if (symlink("h", "/a/s") < 0 || mkfifo("/a/p", 0600) < 0)
		return 4;
	if (unlink("/a/s") < 0 || unlink("/a/p") < 0 || unlink("/a/h") < 0 ||
	    unlink("/b/g") < 0 || rmdir("/a") < 0 || rmdir("/b") < 0)
		return 5;
	return 0;
}

static void inside_all_is_as_it_was(void **state)
{
	(void)state;
	need_landlock();
	assert_int_equal(apart(inside, NULL), 0);
}

static int devices(void *arg)
{
	(void)arg;
	if (!enter(-1, -1))
		return 1;
	if (mknod("/c", S_IFCHR | 0600, makedev(1, 3)) == 0 || errno != EACCES)
		return 2;
	if (mknod("/dev/b", S_IFBLK | 0600, makedev(7, 0)) == 0 ||
	    errno != EACCES)
		return 3;
	/* root though it is */
	return mount("none", "/dev", "tmpfs", 0, NULL) == 0 || errno != EPERM
		   ? 4
		   : 0;
}

static void no_device_is_made_and_nothing_mounted(void **state)
{
	(void)state;
	need_landlock();
	assert_int_equal(apart(devices, NULL), 0);
}

static int given(void *arg)
{
	int program = open("/bin/true", O_RDONLY);
	int tmp = open("/tmp", O_RDONLY | O_DIRECTORY);
	char name[64];
	int fd;

	(void)arg;
	snprintf(name, sizeof(name), "landlock-given-%d", (int)getpid());
	if (!enter(program, tmp) || mkdirat(tmp, name, 0700) < 0)
		return 1;
	fd = openat(tmp, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || unlinkat(tmp, name, AT_REMOVEDIR) < 0)
		return 2;
	/* Directories, and files that are there: as in a cgroup. */
	if (openat(tmp, name, O_WRONLY | O_CREAT, 0600) >= 0 || errno != EACCES)
		return 3;
	return openat(tmp, "..", O_RDONLY | O_DIRECTORY) >= 0 ? 4 : 0;
}

static void what_is_given_may_be_used_and_no_more(void **state)
{
	(void)state;
	need_landlock();
	assert_int_equal(apart(given, NULL), 0);
}

static int privileged(void *arg)
{
	(void)arg;
	/* Without no_new_privs, and without CAP_SYS_ADMIN. */
	if (setresuid(1000, 1000, 1000) < 0)
		return 1;
	return landlock_confine(-1, -1) < 0 && errno == EPERM ? 0 : 2;
}

static void what_cannot_be_confined_is_told(void **state)
{
	(void)state;
	need_landlock();
	assert_int_equal(apart(privileged, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_lies_outside_of_the_root_is_refused),
	    cmocka_unit_test(inside_all_is_as_it_was),
	    cmocka_unit_test(no_device_is_made_and_nothing_mounted),
	    cmocka_unit_test(what_is_given_may_be_used_and_no_more),
	    cmocka_unit_test(what_cannot_be_confined_is_told),
	};

	return cmocka_run_group_tests(tests, make, end);
}

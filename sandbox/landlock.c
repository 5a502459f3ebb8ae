#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/landlock.h"

/* Newer than Debian 12's headers. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#define ABI_TRUNCATE 3
#define ABI_IOCTL_DEV 5

#define FILE_RIGHTS                                                            \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |           \
	 LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)
#define DIR_RIGHTS                                                             \
	(LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR |         \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |        \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |          \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |          \
	 LANDLOCK_ACCESS_FS_REFER)
#define NOWHERE (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)
#define PROGRAM_RIGHTS                                                         \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE)
#define CGROUP_RIGHTS                                                          \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |        \
	 LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_DIR |           \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR)

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	return abi < LANDLOCK_ABI_MIN ? 0 : (int)abi;
}

static uint64_t handled(int abi)
{
	uint64_t all = FILE_RIGHTS | DIR_RIGHTS | NOWHERE |
		       LANDLOCK_ACCESS_FS_IOCTL_DEV;

	if (abi < ABI_TRUNCATE)
		all &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi < ABI_IOCTL_DEV)
		all &= ~LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return all;
}

static int allow(int rules, int at, uint64_t rights)
{
	struct landlock_path_beneath_attr a = {.allowed_access = rights,
					       .parent_fd = at};

	return (int)syscall(SYS_landlock_add_rule, rules,
			    LANDLOCK_RULE_PATH_BENEATH, &a, 0);
}

static int allow_path(int rules, const char *path, uint64_t rights)
{
	OWN(own_fd)
	int at = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return at < 0 ? -1 : allow(rules, at, rights);
}

int landlock_confine(int program, int cgroup)
{
	int abi = landlock_abi();
	struct landlock_ruleset_attr a = {.handled_access_fs = handled(abi)};
	OWN(own_fd) int rules = -1;

	if (abi == 0)
		return 0;
	rules = (int)syscall(SYS_landlock_create_ruleset, &a,
			     sizeof(a.handled_access_fs), 0);
	if (rules < 0 ||
	    allow_path(rules, "/",
		       a.handled_access_fs & (FILE_RIGHTS | DIR_RIGHTS)) < 0)
		return -1;
	if (abi >= ABI_IOCTL_DEV &&
	    allow_path(rules, "/dev", LANDLOCK_ACCESS_FS_IOCTL_DEV) < 0)
		return -1;
	if (program >= 0 && allow(rules, program, PROGRAM_RIGHTS) < 0)
		return -1;
	if (cgroup >= 0 && allow(rules, cgroup, CGROUP_RIGHTS) < 0)
		return -1;
	return (int)syscall(SYS_landlock_restrict_self, rules, 0);
}

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/filter.h"
#include "sandbox/landlock.h"
#include "sandbox/probe.h"

int probe_fail(struct probe_said *said, const char *what)
{
	int sys = errno;

	snprintf(said->what, sizeof(said->what), "%s", what);
	errno = sys;
	return -1;
}

bool probe_try(unsigned long flags, probe_fn *fn, struct probe_said *said)
{
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	*said = (struct probe_said){.sys = EFAULT};
	if (pipe2(fds, O_CLOEXEC) < 0) {
		said->sys = errno;
		return false;
	}
	pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		errno = 0;
		said->sys = fn(said) == 0 ? 0 : errno != 0 ? errno : EFAULT;
		_exit(write(fds[1], said, sizeof(*said)) < 0);
	}
	if (pid < 0)
		said->sys = errno;
	close(fds[1]);
	do {
		n = read(fds[0], said, sizeof(*said));
	} while (n < 0 && errno == EINTR);
	close(fds[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return said->sys == 0;
}

/* ---- the kernel itself ---- */

static void check_kernel(struct check_list *l)
{
	static const char fix[] = "boot a kernel of 6.1 or newer (Debian 12's)";
	struct utsname u;
	unsigned major = 0, minor = 0;
	enum check_state state = CHECK_OK;

	uname(&u);
	if (sscanf(u.release, "%u.%u", &major, &minor) != 2 || major < 5 ||
	    (major == 5 && minor < 19))
		state = CHECK_MISSING;
	else if (major < 6 || (major == 6 && minor < 1))
		state = CHECK_WARN;
	check_add(l, state, "kernel", fix, "Linux %s", u.release);
}

static int nothing(struct probe_said *said)
{
	(void)said;
	return 0;
}

static void check_namespaces(struct check_list *l)
{
	static const struct {
		const char *name;
		unsigned long flag;
	} all[] = {{"user", CLONE_NEWUSER},    {"pid", CLONE_NEWPID},
		   {"net", CLONE_NEWNET},      {"mnt", CLONE_NEWNS},
		   {"ipc", CLONE_NEWIPC},      {"uts", CLONE_NEWUTS},
		   {"cgroup", CLONE_NEWCGROUP}};
	char have[64] = "", lack[96] = "";
	size_t h = 0, k = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct probe_said said;

		if (probe_try(all[i].flag, nothing, &said))
			h += (size_t)snprintf(have + h, sizeof(have) - h, " %s",
					      all[i].name);
		else
			k += (size_t)snprintf(lack + k, sizeof(lack) - k, " %s",
					      all[i].name);
	}
	if (k == 0)
		check_add(l, CHECK_OK, "namespaces", "", "root can make%s",
			  have);
	else
		check_add(l, CHECK_MISSING, "namespaces",
			  "run on the machine itself or in a privileged "
			  "container; look at /proc/sys/user/max_*_namespaces",
			  "cannot be made here:%s", lack);
}

static struct filter probe_filter;

static int load_filter(struct probe_said *said)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return probe_fail(said, "no_new_privs");
	if (filter_load(&probe_filter) < 0)
		return probe_fail(said, "load");
	/* Past it by now: what it does not know is not there. */
	if (syscall(SYS_io_uring_setup, 1, NULL) == 0 || errno != ENOSYS)
		return probe_fail(said, "the loaded filter lets calls through");
	return 0;
}

static void check_seccomp(struct check_list *l)
{
	static const char fix[] =
	    "a kernel with CONFIG_SECCOMP_FILTER, outside of a container "
	    "that filters seccomp(2)";
	struct probe_said said;
	struct errinfo e;

	if (filter_compile(&probe_filter, &e) != ERR_NONE)
		check_add(l, CHECK_MISSING, "seccomp", fix, "%s", e.text);
	else if (!probe_try(0, load_filter, &said))
		check_add(l, CHECK_MISSING, "seccomp", fix, "%s: %s", said.what,
			  strerrordesc_np(said.sys));
	else
		check_add(l, CHECK_OK, "seccomp", "",
			  "the filter of %u instructions loads and refuses",
			  probe_filter.fprog.len);
	filter_free(&probe_filter);
}

static void check_landlock(struct check_list *l)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	if (abi >= LANDLOCK_ABI_MIN)
		check_add(l, CHECK_OK, "landlock", "",
			  "ABI %ld: sandboxes' files have a second wall", abi);
	else if (abi > 0)
		check_add(l, CHECK_WARN, "landlock",
			  "boot a kernel of 5.19 or newer",
			  "ABI %ld is too old to be used: one wall less", abi);
	else
		check_add(l, CHECK_WARN, "landlock",
			  "add landlock to the kernel's lsm= parameter",
			  "not there (%s): one wall less",
			  strerrordesc_np(errno));
}

void probe_all(struct check_list *l, const char *data)
{
	check_kernel(l);
	check_namespaces(l);
	check_seccomp(l);
	check_landlock(l);
	probe_mount(l, data);
	probe_cgroup(l);
	probe_net(l);
}

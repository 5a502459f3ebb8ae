#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/limits.h"

int limits_set(const struct limits *l)
{
	const struct {
		int what;
		rlim_t most;
	} all[] = {
	    {RLIMIT_CORE, 1},
	    {RLIMIT_NOFILE,
	     l->open_files > 0 ? l->open_files : LIMITS_OPEN_FILES},
	    {RLIMIT_FSIZE, l->file_bytes > 0 ? l->file_bytes : RLIM_INFINITY},
	    {RLIMIT_MEMLOCK, 64 << 10},
	    {RLIMIT_MSGQUEUE, 800 << 10},
	    {RLIMIT_SIGPENDING, 4096},
	    {RLIMIT_STACK, 8 << 20},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct rlimit r;

		if (getrlimit((__rlimit_resource_t)all[i].what, &r) < 0)
			return -1;
		if (r.rlim_max > all[i].most)
			r.rlim_max = all[i].most;
		r.rlim_cur = r.rlim_max;
		if (setrlimit((__rlimit_resource_t)all[i].what, &r) < 0)
			return -1;
	}
	return 0;
}

int limits_copy(pid_t pid)
{
	static const __rlimit_resource_t some[] = {RLIMIT_NOFILE, RLIMIT_FSIZE};

	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		struct rlimit own, its;

		if (getrlimit(some[i], &own) < 0 ||
		    prlimit(pid, some[i], NULL, &its) < 0)
			return -1;
		if (its.rlim_max > own.rlim_max)
			its.rlim_max = own.rlim_max;
		its.rlim_cur = its.rlim_max;
		if (setrlimit(some[i], &its) < 0)
			return -1;
	}
	return 0;
}

int limits_oom(int self)
{
	int fd = openat(self, "oom_score_adj", O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, "500", 3);
	close(fd);
	return n == 3 ? 0 : -1;
}

int limits_keyring(void)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 &&
	    errno != ENOSYS)
		return -1;
	return 0;
}

static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE ||
	       sig == SIGILL || sig == SIGTRAP;
}

void limits_signals(bool faults)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		if (faults || !is_fault(i))
			sigaction(i, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int put_at(int dir, const char *file, const char *text)
{
	OWN(own_fd) int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	return write(fd, text, n) == (ssize_t)n ? 0 : -1;
}

int limits_user(int proc)
{
	static const char *const none[] = {
	    "max_user_namespaces", "max_pid_namespaces",
	    "max_net_namespaces",  "max_ipc_namespaces",
	    "max_uts_namespaces",  "max_cgroup_namespaces",
	    "max_time_namespaces", "max_fanotify_groups",
	};
	OWN(own_fd)
	int dir = openat(proc, "sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return -1;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (put_at(dir, none[i], "0") < 0)
			return -1;
	if (put_at(dir, "max_inotify_instances", "128") < 0)
		return -1;
	return put_at(dir, "max_inotify_watches", "65536");
}

int limits_user_last(int proc_user)
{
	return put_at(proc_user, "max_mnt_namespaces", "0");
}

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/limits.h"

int limits_set(void)
{
	static const struct {
		int what;
		rlim_t most;
	} limits[] = {
	    {RLIMIT_CORE, 0},           {RLIMIT_NOFILE, 65536},
	    {RLIMIT_MEMLOCK, 64 << 10}, {RLIMIT_MSGQUEUE, 800 << 10},
	    {RLIMIT_SIGPENDING, 4096},  {RLIMIT_STACK, 8 << 20},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit l;

		if (getrlimit((__rlimit_resource_t)limits[i].what, &l) < 0)
			return -1;
		if (l.rlim_max > limits[i].most)
			l.rlim_max = limits[i].most;
		l.rlim_cur = l.rlim_max;
		if (setrlimit((__rlimit_resource_t)limits[i].what, &l) < 0)
			return -1;
	}
	return 0;
}

int limits_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
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

void limits_signals(void)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

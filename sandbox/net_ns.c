#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/net_ns.h"

int net_ns_in(int own, int ns, int (*fn)(void *arg), void *arg)
{
	int r, sys;

	if (setns(ns, CLONE_NEWNET) < 0)
		return -1;
	r = fn(arg);
	sys = errno;
	must(setns(own, CLONE_NEWNET) == 0);
	errno = sys;
	return r;
}

int net_ns_new(int own)
{
	int ns;

	if (unshare(CLONE_NEWNET) < 0)
		return -1;
	ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	must(setns(own, CLONE_NEWNET) == 0);
	return ns;
}

int net_ns_put(const char *path, const char *text)
{
	OWN(own_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);

	return fd >= 0 && write(fd, text, n) == (ssize_t)n ? 0 : -1;
}

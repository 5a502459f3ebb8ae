/* For tests that need root and look at processes. */
#ifndef TESTS_UNIT_SANDBOX_ROOT_UNIT_H
#define TESTS_UNIT_SANDBOX_ROOT_UNIT_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/own.h"

static inline void need_root(const char *why)
{
	if (geteuid() != 0) {
		print_message("skipped: needs root, %s\n", why);
		skip();
	}
}

/* What ${fn} returns in a child of its own; 128 + signal if it is killed. */
static inline int apart(int (*fn)(void *arg), void *arg)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn(arg));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Open descriptors of this process; the one that counts is not counted. */
static inline int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = -1;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

/* The text of a small file, "" when it cannot be read. */
static inline const char *text_at(int dir, const char *path)
{
	static char text[4096];
	OWN(own_fd) int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

#endif

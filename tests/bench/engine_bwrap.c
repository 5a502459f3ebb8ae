#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/bench/engine.h"

extern char **environ;

int64_t engine_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* What a user would pick instead, with flags that give about the same. */
#define BWRAP                                                                  \
	"bwrap", "--unshare-all", "--die-with-parent", "--new-session",        \
	    "--as-pid-1", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", \
	    "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64",  \
	    "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",   \
	    "--tmpfs", "/workspace", "--chdir", "/workspace", "--cap-drop",    \
	    "ALL", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox",  \
	    "--clearenv"

/* With ${out} as its standard output, or ours. */
static pid_t bwrap(const char *const *command, int out)
{
	static const char *const flags[] = {BWRAP};
	enum { FLAGS = sizeof(flags) / sizeof(flags[0]) };
	const char *argv[FLAGS + 8];
	posix_spawn_file_actions_t files;
	char *const *words;
	int n = FLAGS;
	pid_t pid;

	memcpy(argv, flags, sizeof(flags));
	do
		argv[n++] = *command;
	while (*command++ != NULL);
	memcpy(&words, &(const char *const *){argv}, sizeof(words));
	posix_spawn_file_actions_init(&files);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&files, out, 1);
	if (posix_spawnp(&pid, argv[0], &files, NULL, words, environ) != 0) {
		fprintf(stderr, "engine: no bwrap\n");
		exit(1);
	}
	posix_spawn_file_actions_destroy(&files);
	return pid;
}

void engine_bwrap_true(int i)
{
	static const char *const line[] = {"/bin/true", NULL};
	pid_t pid = bwrap(line, -1);
	int status;

	(void)i;
	if (waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "engine: bwrap failed\n");
		exit(1);
	}
}

int64_t engine_bwrap_us(void)
{
	int64_t start = engine_now_us();

	engine_bwrap_true(0);
	return engine_now_us() - start;
}

/* From the first kill until nothing of them has their output open. */
int64_t engine_bwrap_kill_us(int n)
{
	static const char *const line[] = {"/bin/sh", "-c",
					   "echo x; exec sleep 1000", NULL};
	static pid_t pids[ENGINE_MOST];
	int fds[2];
	int64_t start;
	char c;

	if (pipe2(fds, O_CLOEXEC) < 0)
		exit(1);
	for (int i = 0; i < n; i++)
		pids[i] = bwrap(line, fds[1]);
	close(fds[1]);
	for (int i = 0; i < 2 * n; i++)
		must(read(fds[0], &c, 1) == 1);
	usleep(300000);
	start = engine_now_us();
	for (int i = 0; i < n; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < n; i++)
		waitpid(pids[i], NULL, 0);
	must(read(fds[0], &c, 1) == 0);
	close(fds[0]);
	return engine_now_us() - start;
}

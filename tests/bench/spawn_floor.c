/*
 * What starting a program costs with nothing around it.
 *
 * spawn_floor PROGRAM [ARGUMENT…]: for each line on standard input, starts
 * PROGRAM by posix_spawn with its output to a pipe, reads that to its end,
 * waits, and prints the nanoseconds that it took.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Reads ${fd} to its end. */
static int drain(int fd)
{
	char buf[65536];
	ssize_t n;

	do
		n = read(fd, buf, sizeof(buf));
	while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -1 : 0;
}

/* The write end is CLOEXEC: the child has it as its output only. */
static int spawn_to(char *const argv[], int out, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return r;
	r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

static int run_once(char *const argv[])
{
	int fds[2];
	int status = 0;
	pid_t pid = -1;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -1;
	int r = spawn_to(argv, fds[1], &pid);
	close(fds[1]);
	if (r == 0 && drain(fds[0]) != 0)
		r = -1;
	close(fds[0]);
	if (r != 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

int main(int argc, char *argv[])
{
	char line[64];

	if (argc < 2) {
		fputs("usage: spawn_floor PROGRAM [ARGUMENT...]\n", stderr);
		return 2;
	}
	while (fgets(line, sizeof(line), stdin) != NULL) {
		int64_t start = now_ns();
		if (run_once(argv + 1) != 0) {
			fprintf(stderr, "spawn_floor: %s failed\n", argv[1]);
			return 1;
		}
		printf("%" PRId64 "\n", now_ns() - start);
		fflush(stdout);
	}
	return 0;
}

/*
 * From a SPAWN frame to a confined child. The child is single-threaded and in
 * init's memory, or a copy of it: it holds init's powers until
 * init_confine_child() took them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/init_msg.h"
#include "base/own.h"
#include "sandbox/fd_check.h"
#include "sandbox/fs.h"
#include "sandbox/init_clone.h"
#include "sandbox/init_confine.h"
#include "sandbox/init_exec.h"

#define ARGS_MAX 65536U
#define EXEC_LIMIT_MS 10000 /* from clone to exec */

static char **parse_strings(struct wire_in *in, uint32_t *count)
{
	uint32_t n = wire_in_u32(in);
	char **v;

	if (in->bad || n > ARGS_MAX ||
	    n > (size_t)(in->end - in->p)) /* each takes 5 bytes or more */
		return NULL;
	v = calloc((size_t)n + 1, sizeof(*v));
	if (v == NULL)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		const char *s = wire_in_str(in);

		/* execve does not write to them. */
		memcpy(&v[i], &s, sizeof(s));
	}
	*count = n;
	return v;
}

bool init_spawn_parse(const struct wire_msg *msg, struct init_spawn *s)
{
	struct wire_in in = wire_in(msg);
	uint32_t envc;

	*s = (struct init_spawn){.tag = msg->tag, .nfds = msg->nfds};
	memcpy(s->fds, msg->fds, sizeof(s->fds));
	s->fs = wire_in_u8(&in) != 0;
	s->user = wire_in_u8(&in);
	s->strict_cwd = wire_in_u8(&in) != 0;
	s->cwd = wire_in_str(&in);
	s->argv = parse_strings(&in, &s->argc);
	if (s->argv == NULL)
		return false;
	s->env = parse_strings(&in, &envc);
	return s->env != NULL && wire_in_done(&in) && s->argc > 0 &&
	       s->nfds >= 3 && s->user <= INIT_USER_SANDBOX;
}

void init_spawn_free(struct init_spawn *s)
{
	free(s->argv);
	free(s->env);
	s->argv = s->env = NULL;
}

void init_leaf_name(uint32_t tag, char out[16])
{
	snprintf(out, 16, "e%u", tag);
}

static void child_fail(int report, uint8_t step)
{
	struct init_spawn_failure f = {.step = step, .sys = (uint32_t)errno};

	if (write(report, &f, sizeof(f)) < 0)
		_exit(126);
	_exit(127);
}

/*
 * Put the given descriptors at 0, 1, 2 (and 3), close all others but the
 * report pipe, which moves out of the way and stays close-on-exec.
 */
static int child_fds(const struct init_spawn *s, int report)
{
	int up[WIRE_FDS_MAX], moved;

	for (int i = 0; i < s->nfds; i++) {
		up[i] = fcntl(s->fds[i], F_DUPFD_CLOEXEC, 16);
		if (up[i] < 0)
			return -1;
	}
	moved = fcntl(report, F_DUPFD_CLOEXEC, 16);
	if (moved < 0)
		return -1;
	for (int i = 0; i < s->nfds; i++)
		if (dup2(up[i], i) < 0)
			return -1;
	if (dup2(moved, s->nfds) < 0 || fcntl(s->nfds, F_SETFD, FD_CLOEXEC) < 0)
		return -1;
	if (close_range((unsigned)s->nfds + 1, ~0U, 0) < 0 ||
	    !fd_check_own(FD_CHECK_FIRST(s->nfds + 1), false))
		return -1;
	return s->nfds;
}

static bool child_cwd(const struct init_spawn *s)
{
	const char *cwd = s->cwd[0] != '\0' ? s->cwd : "/workspace";

	if (chdir(cwd) == 0)
		return true;
	return !s->strict_cwd && chdir("/") == 0;
}

/* Init ignores none, and its handlers are not the child's: init_main.c. */
static void child_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A file executor that is a program of its own is named by a path. */
static bool is_own(const struct init_spawn *s)
{
	return s->fs && s->argv[0][0] != '/';
}

struct child {
	const struct init_spawn *spawn;
	int report;
};

static void child_main(void *arg)
{
	const struct child *c = arg;
	const struct init_spawn *s = c->spawn;
	bool own = is_own(s);
	int report = c->report;
	int moved = child_fds(s, report);

	if (moved < 0)
		child_fail(report, INIT_STEP_FDS);
	report = moved;
	setsid();
	umask(022);
	child_signals();
	if (!init_confine_child(s->user, own))
		child_fail(report, INIT_STEP_CONFINE);
	if (!child_cwd(s))
		child_fail(report, INIT_STEP_CWD);
	if (own) {
		const char *const *argv = (const char *const *)s->argv;

		close(report);
		_exit(fs_run((int)s->argc, argv));
	}
	execvpe(s->argv[0], s->argv, s->env);
	child_fail(report, INIT_STEP_EXEC);
	_exit(127);
}

/* A new one: into a cgroup that had been killed once, commands were seen to die
 * at once (Linux 6.18; the cause was not looked for), so none is kept. */
static int leaf_open(uint32_t tag)
{
	char name[16];
	int fd;

	init_leaf_name(tag, name);
	if (mkdirat(INIT_FD_CGROUP, name, 0755) < 0)
		return -1;
	fd = openat(INIT_FD_CGROUP, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		unlinkat(INIT_FD_CGROUP, name, AT_REMOVEDIR);
	return fd;
}

/*
 * 0: it runs. A tenant can stop a child between clone and exec for ever; it
 * cannot stop init.
 */
static ssize_t await_exec(int report, struct init_spawn_failure *why)
{
	struct pollfd p = {.fd = report, .events = POLLIN};
	ssize_t n;

	do {
		n = poll(&p, 1, EXEC_LIMIT_MS);
	} while (n < 0 && errno == EINTR);
	if (n == 0) {
		why->sys = ETIMEDOUT;
		return -1;
	}
	do {
		n = read(report, why, sizeof(*why));
	} while (n < 0 && errno == EINTR);
	return n;
}

/* It may be in our memory, and on the stack of the next one, until it has
 * ended; by itself, if nobody stops it. */
static void child_end(pid_t pid)
{
	siginfo_t si;

	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT);
}

bool init_child_start(const struct init_spawn *s, pid_t *pid,
		      struct init_spawn_failure *why)
{
	OWN(own_fd) int leaf = -1;
	struct child child = {.spawn = s};
	int report[2];
	ssize_t n;

	*pid = -1;
	*why = (struct init_spawn_failure){.step = INIT_STEP_CGROUP};
	leaf = leaf_open(s->tag);
	if (leaf < 0 || pipe2(report, O_CLOEXEC) < 0) {
		why->sys = (uint32_t)errno;
		return false;
	}
	child.report = report[1];
	*pid = init_clone(leaf, child_main, &child, !is_own(s));
	why->sys = (uint32_t)errno;
	why->step = INIT_STEP_CLONE;
	close(report[1]);
	n = *pid > 0 ? await_exec(report[0], why) : -1;
	close(report[0]);
	if (*pid > 0 && n != 0)
		child_end(*pid);
	if (*pid < 0) {
		char name[16];

		init_leaf_name(s->tag, name);
		unlinkat(INIT_FD_CGROUP, name, AT_REMOVEDIR);
	}
	return *pid > 0 && n == 0;
}

/* A child of ours, and alive: so its number cannot be another's. */
static bool is_child(pid_t pid)
{
	siginfo_t si = {0};

	return waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) ==
		   0 &&
	       si.si_pid == 0;
}

bool init_child_adopt(uint32_t tag, pid_t pid, struct init_spawn_failure *why)
{
	OWN(own_fd) int leaf = -1;
	OWN(own_fd) int procs = -1;
	char name[16], text[16];
	int n = snprintf(text, sizeof(text), "%d", (int)pid);

	*why = (struct init_spawn_failure){.step = INIT_STEP_CGROUP,
					   .sys = ESRCH};
	if (pid <= 1 || !is_child(pid))
		return false;
	leaf = leaf_open(tag);
	if (leaf >= 0)
		procs = openat(leaf, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (procs >= 0 && write(procs, text, (size_t)n) == n)
		return true;
	why->sys = (uint32_t)errno;
	init_leaf_name(tag, name);
	unlinkat(INIT_FD_CGROUP, name, AT_REMOVEDIR);
	return false;
}

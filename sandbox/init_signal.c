#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/init_msg.h"
#include "sandbox/init_signal.h"

#define FOLLOW_FIRST_MS 10
#define FOLLOW_STEP_MAX_MS 320
#define FOLLOW_MS 10000 /* as long as a grace usually is, and then some */

static bool follow_knows(const struct init_follow *f, pid_t pid)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->pids[i] == pid)
			return true;
	return false;
}

/* Without memory it is signalled again, which is better than not at all. */
static void follow_add(struct init_follow *f, pid_t pid)
{
	pid_t *more;

	if (f->n == f->room) {
		more = reallocarray(f->pids, f->room + 64, sizeof(*more));
		if (more == NULL)
			return;
		f->pids = more;
		f->room += 64;
	}
	f->pids[f->n++] = pid;
}

static int leaf_file(uint32_t tag, const char *file, int flags)
{
	char path[64], name[16];

	init_leaf_name(tag, name);
	snprintf(path, sizeof(path), "%s/%s", name, file);
	return openat(INIT_FD_CGROUP, path, flags | O_CLOEXEC);
}

/* To those that ${f}, if there is one, does not know yet. */
static void leaf_send(uint32_t tag, int sig, struct init_follow *f)
{
	int fd = leaf_file(tag, "cgroup.procs", O_RDONLY);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	char line[32];

	if (in == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (fgets(line, sizeof(line), in) != NULL) {
		pid_t pid = (pid_t)strtol(line, NULL, 10);

		if (pid <= 1 || (f != NULL && follow_knows(f, pid)))
			continue;
		kill(pid, sig);
		if (f != NULL)
			follow_add(f, pid);
	}
	fclose(in);
}

void init_signal_leaf(uint32_t tag, int sig)
{
	int fd;

	if (sig != SIGKILL) {
		leaf_send(tag, sig, NULL);
		return;
	}
	fd = leaf_file(tag, "cgroup.kill", O_WRONLY);
	if (fd < 0)
		return;
	(void)!write(fd, "1", 1);
	close(fd);
}

static void on_follow(void *arg)
{
	struct init_exec *x = arg;
	struct init_follow *f = &x->follow;
	int64_t now = clock_mono_ms();

	leaf_send(x->tag, f->sig, f);
	if (now >= f->until_ms) {
		init_signal_end(x);
		return;
	}
	if (f->step_ms < FOLLOW_STEP_MAX_MS)
		f->step_ms *= 2;
	loop_timer_set(f->loop, &f->timer, now + f->step_ms, on_follow, x);
}

void init_signal_follow(struct loop *l, struct init_exec *x, int sig)
{
	struct init_follow *f = &x->follow;
	int64_t now = clock_mono_ms();

	init_signal_end(x);
	f->loop = l;
	f->sig = sig;
	f->step_ms = FOLLOW_FIRST_MS;
	f->until_ms = now + FOLLOW_MS;
	leaf_send(x->tag, sig, f);
	loop_timer_set(l, &f->timer, now + f->step_ms, on_follow, x);
}

void init_signal_end(struct init_exec *x)
{
	struct init_follow *f = &x->follow;

	if (f->loop != NULL)
		loop_timer_del(f->loop, &f->timer);
	free(f->pids);
	*f = (struct init_follow){.n = 0};
}

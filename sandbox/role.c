#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/role.h"

#define RECORDER "warren-recorder"
#define TERMINAL "warren-terminal"
#define WORKER "warren-fcgi"
#define NOT_WORKERS 2
#define DELAY_MAX_MS 5000
#define LIVED_LONG_MS 10000
#define STOP_GRACE_MS 5000

/* R/roles/<pid> holds "started name": a later broker finds them. */
static void note(struct broker *b, const struct role *r)
{
	char path[64], text[96];
	OWN(own_fd) int fd = -1;
	int n = snprintf(text, sizeof(text), "%llu %s\n",
			 (unsigned long long)child_started_at(r->pid), r->name);

	snprintf(path, sizeof(path), "roles/%d", (int)r->pid);
	fd = openat(b->run, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0600);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		log_line(LOG_WARN, "no note of %s", r->name);
}

static void unnote(struct broker *b, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "roles/%d", (int)pid);
	unlinkat(b->run, path, 0);
}

static void on_role_end(void *arg, uint32_t events);

static enum err role_start(struct role *r, struct errinfo *e)
{
	struct broker *b = r->broker;
	char data[PATH_MAX], run[256], domain[256], port[16], name[32];
	char d[] = "--data", u[] = "--run", m[] = "--domain", p[] = "--port";
	char *argv[] = {name, d, data, u, run, m, domain, p, port, NULL};
	bool worker = strcmp(r->name, WORKER) == 0;
	struct child_spec s = {.program = r->program,
			       .argv = argv,
			       .fds = &r->socket,
			       .nfds = r->socket >= 0 ? 1 : 0,
			       .uid = b->warren_uid,
			       .gid = b->warren_gid};
	enum err err;

	snprintf(name, sizeof(name), "%s", r->name);
	snprintf(data, sizeof(data), "%s", b->conf.data);
	snprintf(run, sizeof(run), "%s", b->conf.run);
	snprintf(domain, sizeof(domain), "%s", b->conf.domain);
	snprintf(port, sizeof(port), "%s", b->conf.port);
	if (!worker)
		argv[5] = NULL;
	err = child_start(&s, &r->pid, &r->pidfd, e);
	if (err != ERR_NONE)
		return err;
	r->started_ms = clock_mono_ms();
	note(b, r);
	return loop_add(&b->loop, &r->watch, r->pidfd, EPOLLIN, on_role_end, r,
			e);
}

static void on_restart(void *arg)
{
	struct role *r = arg;
	struct errinfo e;

	if (role_start(r, &e) == ERR_NONE)
		return;
	log_err(r->name, &e);
	loop_timer_set(&r->broker->loop, &r->restart,
		       clock_mono_ms() + DELAY_MAX_MS, on_restart, r);
}

static void on_role_end(void *arg, uint32_t events)
{
	struct role *r = arg;
	struct broker *b = r->broker;
	int status;

	(void)events;
	child_reap(r->pidfd, &status);
	loop_del(&b->loop, &r->watch);
	own_fd(&r->pidfd);
	unnote(b, r->pid);
	log_line(LOG_WARN, "%s (pid %d) ended with status %#x", r->name,
		 (int)r->pid, (unsigned)status);
	if (b->stopping)
		return;
	if (clock_mono_ms() - r->started_ms > LIVED_LONG_MS)
		r->delay_ms = 0;
	loop_timer_set(&b->loop, &r->restart, clock_mono_ms() + r->delay_ms,
		       on_restart, r);
	r->delay_ms = r->delay_ms == 0 ? 100 : r->delay_ms * 2;
	if (r->delay_ms > DELAY_MAX_MS)
		r->delay_ms = DELAY_MAX_MS;
}

/* The roles of a broker that died: workers may drain, a second recorder
 * must not be. */
static void end_old(struct broker *b, const char *name)
{
	char path[64], text[96];
	unsigned long long started;
	OWN(own_fd) int fd = -1;
	OWN(own_fd) int pidfd = -1;
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	struct pollfd p;
	ssize_t n;

	snprintf(path, sizeof(path), "roles/%.20s", name);
	fd = openat(b->run, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	unlinkat(b->run, path, 0);
	started = strtoull(text, NULL, 10);
	pidfd = child_open(pid, started);
	if (pidfd < 0)
		return;
	child_signal(pidfd, SIGTERM);
	if (strstr(text, RECORDER) == NULL)
		return;
	p = (struct pollfd){.fd = pidfd, .events = POLLIN};
	if (poll(&p, 1, STOP_GRACE_MS) != 1) {
		child_signal(pidfd, SIGKILL);
		poll(&p, 1, -1);
	}
}

static void end_old_all(struct broker *b)
{
	int fd = openat(b->run, "roles", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (d == NULL) {
		own_fd(&fd);
		return;
	}
	while ((de = readdir(d)) != NULL)
		if (de->d_name[0] != '.')
			end_old(b, de->d_name);
	closedir(d);
}

static void role_of(struct broker *b, int i, struct role *out)
{
	*out = (struct role){.broker = b,
			     .name = WORKER,
			     .socket = b->fcgi_socket,
			     .pidfd = -1,
			     .watch = LOOP_WATCH_INIT};
	if (i == 0) {
		out->name = RECORDER;
		out->socket = -1;
	} else if (i == 1) {
		out->name = TERMINAL;
		out->socket = b->terminal_socket;
	}
}

enum err role_start_all(struct broker *b, int programs_dir, struct errinfo *e)
{
	enum err r = ERR_NONE;

	end_old_all(b);
	must(b->conf.workers + NOT_WORKERS <= BROKER_ROLES_MAX);
	for (int i = 0; i < b->conf.workers + NOT_WORKERS && r == ERR_NONE;
	     i++) {
		struct role *role = &b->roles[i];

		role_of(b, i, role);
		role->program = openat(programs_dir, role->name,
				       O_RDONLY | O_CLOEXEC);
		if (role->program < 0)
			return err_set(e, ERR_IO, errno, "program %s",
				       role->name);
		b->nroles++;
		r = role_start(role, e);
	}
	return r;
}

void role_stop_all(struct broker *b)
{
	int64_t deadline = clock_mono_ms() + STOP_GRACE_MS;

	b->stopping = true;
	for (int i = 0; i < b->nroles; i++)
		child_signal(b->roles[i].pidfd, SIGTERM);
	for (int i = 0; i < b->nroles; i++) {
		struct role *r = &b->roles[i];
		struct pollfd p = {.fd = r->pidfd, .events = POLLIN};

		loop_timer_del(&b->loop, &r->restart);
		if (r->pidfd < 0)
			continue;
		if (poll(&p, 1, clock_left_ms(deadline)) != 1) {
			child_signal(r->pidfd, SIGKILL);
			poll(&p, 1, -1);
		}
		on_role_end(r, 0);
	}
}

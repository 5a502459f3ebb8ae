#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/child.h"
#include "sandbox/trash.h"

#define PREFIX "trash."
#define WAIT_MS 200 /* a program for each of few would cost more than they */
#define RETRY_MS 1000
#define RM_WORDS 4

struct trash_job {
	struct trash *trash;
	int pidfd;
	struct loop_watch watch;
	struct trash_job *next;
};

static void on_job_end(void *arg, uint32_t events)
{
	struct trash_job *j = arg, **p = &j->trash->jobs;
	int status;

	(void)events;
	child_reap(j->pidfd, &status);
	if (status != 0)
		log_line(LOG_WARN, "removal ended with status %#x",
			 (unsigned)status);
	loop_del(&j->trash->broker->loop, &j->watch);
	close(j->pidfd);
	while (*p != j)
		p = &(*p)->next;
	*p = j->next;
	free(j);
}

static enum err job_start(struct trash *t, char *const *argv, struct errinfo *e)
{
	OWN(own_fd) int program = open("/usr/bin/rm", O_RDONLY | O_CLOEXEC);
	struct child_spec s = {.program = program, .argv = argv};
	OWN(own_mem) struct trash_job *j = calloc(1, sizeof(*j));
	pid_t pid;
	enum err r;

	if (j == NULL)
		return err_set(e, ERR_NOMEM, 0, "removal");
	if (program < 0)
		return err_set(e, ERR_IO, errno, "/usr/bin/rm");
	r = child_start(&s, &pid, &j->pidfd, e);
	if (r != ERR_NONE)
		return r;
	j->trash = t;
	must(loop_add(&t->broker->loop, &j->watch, j->pidfd, EPOLLIN,
		      on_job_end, j, NULL) == ERR_NONE);
	j->next = t->jobs;
	t->jobs = STEAL(j);
	return ERR_NONE;
}

/* rm -rf of all that wait. */
static enum err start_rm(struct trash *t, struct errinfo *e)
{
	char rm[] = "rm", flags[] = "-rf", one[] = "--one-file-system",
	     end[] = "--";
	char *argv[RM_WORDS + TRASH_BATCH + 1] = {rm, flags, one, end};
	OWN(buf_free) struct buf paths = BUF_INIT(1U << 20);
	size_t at[TRASH_BATCH];

	for (int i = 0; i < t->n; i++) {
		at[i] = paths.len;
		buf_addf(&paths, "%s/sandboxes/%s", t->broker->conf.data,
			 t->names[i]);
		buf_addc(&paths, '\0');
	}
	if (!buf_ok(&paths))
		return err_set(e, ERR_NOMEM, 0, "paths");
	for (int i = 0; i < t->n; i++)
		argv[RM_WORDS + i] = paths.data + at[i];
	return job_start(t, argv, e);
}

static void remove_all(void *arg)
{
	struct trash *t = arg;
	struct errinfo e;

	if (start_rm(t, &e) == ERR_NONE) {
		t->n = 0;
		return;
	}
	log_err("remove files", &e);
	loop_timer_set(&t->broker->loop, &t->timer, clock_mono_ms() + RETRY_MS,
		       remove_all, t);
}

static void add(struct trash *t, const char *name)
{
	must(strlen(name) <= TRASH_NAME_MAX);
	if (t->n == TRASH_BATCH) {
		loop_timer_del(&t->broker->loop, &t->timer);
		remove_all(t);
	}
	if (t->n == TRASH_BATCH) /* nothing can be started: a sweep takes it */
		return;
	memcpy(t->names[t->n++], name, strlen(name) + 1);
	if (!t->timer.armed) {
		loop_timer_set(&t->broker->loop, &t->timer,
			       clock_mono_ms() + WAIT_MS, remove_all, t);
	}
}

void trash_throw(struct trash *t, const char *id)
{
	int dir = t->broker->sandboxes;
	char name[TRASH_NAME_MAX + 1];

	/* An earlier one of that name may still be on its way out. */
	snprintf(name, sizeof(name), PREFIX "%.32s.%lld", id,
		 (long long)clock_mono_ms());
	if (renameat(dir, id, dir, name) == 0)
		add(t, name);
	else if (errno != ENOENT)
		log_line(LOG_ERROR, "%s: files not removed: %s", id,
			 strerrordesc_np(errno));
}

void trash_sweep(struct trash *t)
{
	int fd = openat(t->broker->sandboxes, ".",
			O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (d == NULL) {
		own_fd(&fd);
		return;
	}
	while ((de = readdir(d)) != NULL)
		if (strncmp(de->d_name, PREFIX, strlen(PREFIX)) == 0 &&
		    strlen(de->d_name) <= TRASH_NAME_MAX)
			add(t, de->d_name);
	closedir(d);
}

bool trash_busy(const struct trash *t)
{
	return t->n > 0 || t->jobs != NULL;
}

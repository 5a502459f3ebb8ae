#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/live.h"
#include "sandbox/live_files.h"
#include "sandbox/mount.h"

#define TRASH "trash."

/* A removal that runs: rm in a child, so that a big tree blocks nobody. */
struct job {
	struct broker *broker;
	int pidfd;
	struct loop_watch watch;
	struct job *next;
};

static int open_dir(int at, const char *name)
{
	return openat(at, name,
		      O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

void live_layers_close(struct live_layers *l)
{
	own_fd(&l->image);
	own_fd(&l->usr_over);
	own_fd(&l->usr);
	own_fd(&l->files.mount);
}

static enum err open_image(struct broker *b, const char *name, int user_ns,
			   struct live_layers *l, struct errinfo *e)
{
	OWN(own_fd) int image = open_dir(b->images, name);

	if (image < 0)
		return err_set(e, ERR_NOT_FOUND, errno, "image %s", name);
	l->image = mount_layer(image, "rootfs", user_ns);
	if (l->image < 0)
		return err_set(e, ERR_IO, errno, "image %s", name);
	if (faccessat(image, "host-usr", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return ERR_NONE;
	l->usr_over = mount_layer(image, "host-usr", user_ns);
	l->usr = mount_layer(AT_FDCWD, "/usr", user_ns);
	if (l->usr_over < 0 || l->usr < 0)
		return err_set(e, ERR_IO, errno, "image %s: /usr", name);
	return ERR_NONE;
}

enum err live_layers_open(struct broker *b, const struct broker_req *req,
			  const struct berth *berth, int *image_mount,
			  struct live_layers *out, struct errinfo *e)
{
	OWN(live_layers_close) struct live_layers l = LIVE_LAYERS_NONE;
	const struct disk_want want = {
	    .limits = {.bytes = req->disk_bytes, .inodes = req->inodes},
	    .ephemeral = (req->flags & BROKER_EPHEMERAL) != 0,
	    .map_ns = berth->disk_ns,
	    .root_uid = berth_uid(berth->slot, 0),
	    .mount = image_mount,
	};
	enum err r = open_image(b, req->image, berth->user_ns, &l, e);

	if (r == ERR_NONE)
		r = disk_open(&b->disks, req->id, &want, &l.files, e);
	if (r != ERR_NONE)
		return r;
	*out = l;
	l = (struct live_layers)LIVE_LAYERS_NONE;
	return ERR_NONE;
}

void live_usage_open(struct broker *b, const char *id,
		     const struct disk_files *files, struct usage_fds *out)
{
	static const struct {
		enum usage_file file;
		enum cgroup_usage what;
	} numbers[] = {{USAGE_MEMORY, CGROUP_MEMORY_NOW},
		       {USAGE_MEMORY_MAX, CGROUP_MEMORY_MAX},
		       {USAGE_PIDS, CGROUP_PIDS_NOW},
		       {USAGE_PIDS_MAX, CGROUP_PIDS_MAX},
		       {USAGE_MEMORY_PEAK, CGROUP_MEMORY_PEAK},
		       {USAGE_PIDS_EVENTS, CGROUP_PIDS_EVENTS}};

	out->fd[USAGE_OOM] = cgroup_oom_file(&b->cgroups, id);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		out->fd[numbers[i].file] = cgroup_usage_file(&b->cgroups, id,
							     numbers[i].what);
	if (files->bounded)
		out->fd[USAGE_DISK] = openat(files->mount, ".",
					     O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void live_files_write(struct broker *b, const struct live *l)
{
	char path[64], temp[64], text[128];
	OWN(own_fd) int fd = -1;
	int n;

	snprintf(path, sizeof(path), "sandboxes/%s", l->id);
	snprintf(temp, sizeof(temp), "sandboxes/.%s", l->id);
	n = snprintf(text, sizeof(text), "%u %d %llu %d %llu\n", l->slot,
		     (int)l->keeper_pid,
		     (unsigned long long)child_started_at(l->keeper_pid),
		     (int)l->init.pid,
		     (unsigned long long)child_started_at(l->init.pid));
	fd = openat(b->run, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0600);
	if (fd < 0 || write(fd, text, (size_t)n) != n ||
	    renameat(b->run, temp, b->run, path) < 0)
		log_line(LOG_ERROR, "%s: no note for a later broker", l->id);
}

void live_files_unlink(struct broker *b, const char *id)
{
	char path[64];

	snprintf(path, sizeof(path), "sandboxes/%s", id);
	unlinkat(b->run, path, 0);
	snprintf(path, sizeof(path), "keepers/%s.sock", id);
	unlinkat(b->run, path, 0);
}

static void on_job_end(void *arg, uint32_t events)
{
	struct job *j = arg, **p = &j->broker->jobs;
	int status;

	(void)events;
	child_reap(j->pidfd, &status);
	if (status != 0)
		log_line(LOG_WARN, "removal ended with status %#x",
			 (unsigned)status);
	loop_del(&j->broker->loop, &j->watch);
	close(j->pidfd);
	while (*p != j)
		p = &(*p)->next;
	*p = j->next;
	free(j);
}

static void remove_tree(struct broker *b, const char *name)
{
	char path[PATH_MAX];
	char rm[] = "rm", flags[] = "-rf", one[] = "--one-file-system",
	     end[] = "--";
	char *const argv[] = {rm, flags, one, end, path, NULL};
	OWN(own_fd) int program = open("/usr/bin/rm", O_RDONLY | O_CLOEXEC);
	struct child_spec s = {.program = program, .argv = argv};
	OWN(own_mem) struct job *j = calloc(1, sizeof(*j));
	struct errinfo e;
	pid_t pid;
	int n = snprintf(path, sizeof(path), "%s/sandboxes/%s", b->conf.data,
			 name);

	if (j == NULL || program < 0 || n < 0 || (size_t)n >= sizeof(path))
		return;
	j->broker = b;
	if (child_start(&s, &pid, &j->pidfd, &e) != ERR_NONE) {
		log_err("remove files", &e);
		return;
	}
	must(loop_add(&b->loop, &j->watch, j->pidfd, EPOLLIN, on_job_end, j,
		      NULL) == ERR_NONE);
	j->next = b->jobs;
	b->jobs = STEAL(j);
}

void live_remove_files(struct broker *b, const char *id)
{
	char trash[80];

	disk_forget(&b->disks, id);
	/* An earlier one of that name may still be on its way out. */
	snprintf(trash, sizeof(trash), TRASH "%s.%lld", id,
		 (long long)clock_mono_ms());
	if (renameat(b->sandboxes, id, b->sandboxes, trash) < 0) {
		if (errno != ENOENT)
			log_line(LOG_ERROR, "%s: files not removed: %s", id,
				 strerrordesc_np(errno));
		return;
	}
	remove_tree(b, trash);
}

void live_sweep_trash(struct broker *b)
{
	int fd = openat(b->sandboxes, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (d == NULL) {
		own_fd(&fd);
		return;
	}
	while ((de = readdir(d)) != NULL)
		if (strncmp(de->d_name, TRASH, strlen(TRASH)) == 0)
			remove_tree(b, de->d_name);
	closedir(d);
}

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/inject.h"
#include "sandbox/live.h"
#include "sandbox/live_files.h"
#include "sandbox/mount.h"

static int open_dir(int at, const char *name)
{
	return openat(at, name,
		      O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

void live_layers_close(struct live_layers *l)
{
	own_fd(&l->image);
	own_fd(&l->tools);
	own_fd(&l->ours);
	own_fd(&l->usr_over);
	own_fd(&l->usr);
	own_fd(&l->files.mount);
}

/* What runs inside for us is part of image host; others get it laid over. */
static enum err open_tools(struct broker *b, int user_ns, struct live_layers *l,
			   struct errinfo *e)
{
	l->tools = mount_layer(b->images, "host/tools", user_ns);
	return l->tools < 0 ? err_set(e, ERR_IO, errno, "host/tools")
			    : ERR_NONE;
}

static enum err open_image(struct broker *b, const char *name, int user_ns,
			   struct live_layers *l, struct errinfo *e)
{
	OWN(own_fd) int image = open_dir(b->images, name);

	if (image < 0)
		return err_set(e, ERR_NOT_FOUND, errno, "image %s", name);
	l->ours = mount_fixed(b->images, "host/fixed");
	if (l->ours < 0)
		return err_set(e, ERR_IO, errno, "host/fixed");
	l->image = mount_layer(image, "rootfs", user_ns);
	if (l->image < 0)
		return err_set(e, ERR_IO, errno, "image %s", name);
	if (strcmp(name, "host") != 0)
		return open_tools(b, user_ns, l, e);
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
	enum err r = inject_at(INJECT_LAYERS)
			 ? err_set(e, ERR_IO, errno, "layers")
			 : open_image(b, req->image, berth->user_ns, &l, e);

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
	out->fd[USAGE_FREEZE] = cgroup_freeze_file(&b->cgroups, id);
	out->fd[USAGE_EVENTS] = cgroup_events_file(&b->cgroups, id);
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
	n = snprintf(text, sizeof(text), "%u %d %llu %d %llu %llx\n", l->slot,
		     (int)l->keeper_pid,
		     (unsigned long long)child_started_at(l->keeper_pid),
		     (int)l->init.pid,
		     (unsigned long long)child_started_at(l->init.pid),
		     (unsigned long long)flow_key(&l->turn));
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

void live_remove_files(struct broker *b, const char *id)
{
	disk_forget(&b->disks, id);
	trash_throw(&b->trash, id);
}

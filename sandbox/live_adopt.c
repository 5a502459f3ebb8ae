/* A new broker takes over the sandboxes of one that died. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/live.h"
#include "sandbox/live_files.h"
#include "sandbox/net_slot.h"

struct note {
	unsigned slot;
	int keeper;
	unsigned long long keeper_started;
	int init;
	unsigned long long init_started;
	unsigned long long flow; /* 0: it is not told */
};

static bool note_read(struct broker *b, const char *id, struct note *n)
{
	char path[64], text[128];
	OWN(own_fd) int fd = -1;
	ssize_t len;

	snprintf(path, sizeof(path), "sandboxes/%.32s", id);
	fd = openat(b->run, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	n->flow = 0;
	return sscanf(text, "%u %d %llu %d %llu %llx", &n->slot, &n->keeper,
		      &n->keeper_started, &n->init, &n->init_started,
		      &n->flow) >= 5 &&
	       n->slot < BERTH_SLOTS;
}

static void adopt(struct broker *b, const char *id)
{
	struct note n;
	struct live *l;

	if (!note_read(b, id, &n))
		return;
	l = live_new(b, id, n.flow);
	must(l != NULL);
	l->slot = n.slot;
	net_slot_adopt(&b->net, n.slot);
	l->state = LIVE_RUNNING;
	l->keeper_pid = n.keeper;
	l->keeper_pidfd = child_open(n.keeper, n.keeper_started);
	l->init.pid = n.init;
	l->init.pidfd = child_open(n.init, n.init_started);
	l->next = b->lives;
	b->lives = l;
	live_watch(l);
	if (l->init.pidfd >= 0 && l->keeper_pidfd >= 0) {
		log_line(LOG_INFO, "%s: adopted", id);
		return;
	}
	log_line(LOG_WARN, "%s: half gone, ended", id);
	live_end(l);
}

/* A cgroup without a note: started when the old broker died. */
static void end_orphan(void *arg, const char *id)
{
	struct broker *b = arg;

	if (!id_sandbox_ok(id) || live_find(b, id) != NULL)
		return;
	cgroup_kill(&b->cgroups, id);
	for (int i = 0; i < 100 && !cgroup_remove(&b->cgroups, id); i++)
		usleep(10000);
	live_files_unlink(b, id);
}

void live_adopt_all(struct broker *b)
{
	int fd = openat(b->run, "sandboxes",
			O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (d == NULL) {
		own_fd(&fd);
		return;
	}
	while ((de = readdir(d)) != NULL)
		if (id_sandbox_ok(de->d_name))
			adopt(b, de->d_name);
	closedir(d);
	cgroup_each(&b->cgroups, end_orphan, b);
}

/* The start of a sandbox, once all that it needs can be had. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/inject.h"
#include "sandbox/live.h"
#include "sandbox/live_files.h"
#include "sandbox/net_slot.h"

/* R/keepers/<id>.sock, made by us: a keeper needs no file system. */
static int keeper_socket(struct broker *b, const char *id)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	OWN(own_fd)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char path[sizeof(a.sun_path)];
	int n = snprintf(path, sizeof(path), "%s/keepers/%s.sock", b->conf.run,
			 id);
	int m = snprintf(a.sun_path, sizeof(a.sun_path), "%s/keepers/.%s",
			 b->conf.run, id);

	if (fd < 0 || n < 0 || (size_t)n >= sizeof(path) || m < 0 ||
	    (size_t)m >= sizeof(a.sun_path) || inject_at(INJECT_KEEPER_SOCKET))
		return -1;
	unlink(a.sun_path);
	/* It appears under its name when it is fit to be used. */
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    chown(a.sun_path, 0, b->warren_gid) < 0 ||
	    chmod(a.sun_path, 0660) < 0 || listen(fd, 4096) < 0 ||
	    rename(a.sun_path, path) < 0)
		return -1;
	return STEAL_FD(fd);
}

struct live_start_fds {
	int keeper[2]; /* keeper's and init's end */
	int listen;
	int cgroup;
	struct usage_fds usage;
	struct live_layers layers;
	struct berth berth;
};

static void start_fds_close(struct live_start_fds *f)
{
	own_fd(&f->keeper[0]);
	own_fd(&f->keeper[1]);
	own_fd(&f->listen);
	own_fd(&f->cgroup);
	for (int i = 0; i < USAGE_COUNT; i++)
		own_fd(&f->usage.fd[i]);
	live_layers_close(&f->layers);
	berth_close(&f->berth);
}

/* One that waits takes the seat, if there is one. */
static bool seat_keeper(struct live *l, const struct child_spec *s,
			const char *letters)
{
	struct keeper_seat seat = {.uid = berth_keeper_uid(l->slot),
				   .warren_uid = l->broker->warren_uid};
	struct parcel_fds fds = {.n = s->nfds};

	_Static_assert(sizeof(seat.letters) > USAGE_COUNT, "they fit");
	memcpy(seat.id, l->id, sizeof(seat.id));
	memcpy(seat.letters, letters, strlen(letters) + 1);
	memcpy(fds.at, s->fds, sizeof(int) * (size_t)s->nfds);
	return keeper_seat_give(&l->broker->keepers, &seat, &fds,
				&l->keeper_pid, &l->keeper_pidfd);
}

static enum err start_keeper(struct live *l, const struct live_start_fds *f,
			     struct errinfo *e)
{
	struct broker *b = l->broker;
	int fds[CHILD_FDS_MAX] = {f->listen, f->keeper[0], l->init.pidfd,
				  f->berth.net_ns};
	char uid[16], warren[16], letters[USAGE_COUNT + 1] = "";
	char name[] = "warren-keeper";
	char *const argv[] = {name,     l->id,   uid, warren,
			      b->empty, letters, NULL};
	struct child_spec s = {
	    .program = b->keeper_program, .argv = argv, .fds = fds, .nfds = 4};

	for (int i = 0; i < USAGE_COUNT; i++) {
		if (f->usage.fd[i] < 0)
			continue;
		letters[s.nfds - 4] = usage_letter((enum usage_file)i);
		fds[s.nfds++] = f->usage.fd[i];
	}
	if (inject_at(INJECT_KEEPER_START))
		return err_set(e, ERR_IO, errno, "keeper");
	if (seat_keeper(l, &s, letters))
		return ERR_NONE;
	snprintf(uid, sizeof(uid), "%u", berth_keeper_uid(l->slot));
	snprintf(warren, sizeof(warren), "%u", b->warren_uid);
	return child_start(&s, &l->keeper_pid, &l->keeper_pidfd, e);
}

static struct spawn_plan plan_of(const struct live *l,
				 const struct broker_req *req,
				 const struct live_start_fds *f)
{
	struct broker *b = l->broker;
	uint64_t tmp = req->tmp_bytes > 0 ? req->tmp_bytes
					  : req->memory_bytes / 4;

	return (struct spawn_plan){
	    .mounts = {.point = b->point,
		       .image = f->layers.image,
		       .tools = f->layers.tools,
		       .ours = f->layers.ours,
		       .usr_over = f->layers.usr_over,
		       .usr = f->layers.usr,
		       .files = f->layers.files.mount,
		       .root_uid = berth_uid(l->slot, 0),
		       .tmp_bytes = tmp,
		       .shm_bytes = tmp},
	    .net_ns = f->berth.net_ns,
	    .user_ns = f->berth.user_ns,
	    .init_program = b->init_program,
	    .keeper = f->keeper[1],
	    .cgroup = f->cgroup,
	    .limits = {.open_files = req->open_files,
		       .file_bytes = req->file_bytes},
	    .filter = &b->filter,
	};
}

/* A husk that waits builds the tree while we make the rest. */
static void fill_husk(struct live *l, const struct broker_req *req,
		      struct live_start_fds *f)
{
	const struct spawn_plan plan = plan_of(l, req, f);

	if (f->berth.husk.pidfd < 0)
		return;
	if (!spawn_fill(&plan, &f->berth.husk)) {
		log_line(LOG_WARN, "a husk had ended: %s",
			 strerrordesc_np(errno));
		return;
	}
	l->init = f->berth.husk;
	f->berth.husk = (struct spawn_child)SPAWN_CHILD_NONE;
	live_hold_tree(l); /* it leaves that one for its last one */
}

/* One that has failed already says so by its report. */
static enum err start_init(struct live *l, const struct broker_req *req,
			   const struct live_start_fds *f, struct errinfo *e)
{
	const struct spawn_plan plan = plan_of(l, req, f);
	const struct cgroup_root *cgroups = &l->broker->cgroups;
	bool husk = l->init.pidfd >= 0;
	bool gone = false;
	enum err r = ERR_NONE;

	if (husk) {
		r = cgroup_move(cgroups, l->id, l->init.pid, e);
		if (r == ERR_NONE)
			gone = !spawn_go(&l->init, f->keeper[1], f->cgroup);
	} else {
		r = spawn_start(&plan, &l->init, e);
		if (r == ERR_NONE)
			r = cgroup_attach(cgroups, l->id, l->init.pid, e);
		if (r == ERR_NONE)
			gone = write(l->init.go, "g", 1) != 1;
	}
	if (gone && errno != EPIPE)
		r = err_set(e, ERR_IO, errno, "go");
	own_fd(&l->init.go);
	return r;
}

/* What start_prepare() has made, but the descriptors. */
static void unprepare(struct live *l)
{
	struct broker *b = l->broker;

	spawn_husk_end(&l->init);
	live_files_unlink(b, l->id);
	cgroup_remove(&b->cgroups, l->id);
	net_slot_free(&b->net, l->slot);
	l->slot = BERTH_SLOTS;
	own_fd(&l->disk);
	own_fd(&l->tree);
}

/* The parts before any process exists; failing leaves nothing. */
static enum err start_prepare(struct live *l, const struct broker_req *req,
			      struct live_start_fds *f, struct errinfo *e)
{
	struct broker *b = l->broker;
	struct cgroup_limits limits = {.memory_bytes = req->memory_bytes,
				       .cpu_millis = req->cpu_millis,
				       .cpu_weight = req->cpu_weight,
				       .pids = req->pids};
	enum err r;

	r = req->network == BROKER_NET_INTERNET
		? net_take(&b->net, req, &f->berth, e)
		: berth_take(&b->berths, &f->berth, e);

	if (r != ERR_NONE)
		return r;
	l->slot = f->berth.slot;
	r = live_layers_open(b, req, &f->berth, &l->job.mount, &f->layers, e);
	if (r == ERR_NONE)
		fill_husk(l, req, f);
	if (r == ERR_NONE)
		r = cgroup_make(&b->cgroups, l->id, &limits,
				berth_uid(l->slot, 65533), e);
	if (r != ERR_NONE) {
		unprepare(l);
		return r;
	}
	if (f->layers.files.image)
		l->disk = fcntl(f->layers.files.mount, F_DUPFD_CLOEXEC, 3);
	f->cgroup = cgroup_dir(&b->cgroups, l->id);
	live_usage_open(b, l->id, &f->layers.files, &f->usage);
	f->listen = keeper_socket(b, l->id);
	if (f->cgroup >= 0 && f->listen >= 0 &&
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       f->keeper) == 0)
		return ERR_NONE;
	r = err_set(e, ERR_IO, errno, "sockets of %s", l->id);
	unprepare(l);
	return r;
}

enum err live_start_now(struct live *l, const struct broker_req *req,
			struct errinfo *e)
{
	OWN(start_fds_close)
	struct live_start_fds f = {.keeper = {-1, -1},
				   .listen = -1,
				   .cgroup = -1,
				   .usage = USAGE_FDS_NONE,
				   .layers = LIVE_LAYERS_NONE,
				   .berth = BERTH_NONE};
	enum err r = start_prepare(l, req, &f, e);

	if (r != ERR_NONE)
		return r;
	r = start_init(l, req, &f, e);
	if (r == ERR_NONE)
		r = start_keeper(l, &f, e);
	broker_poke(l->broker);
	/* While they get ready: whoever adopts them sees their end too. */
	if (r == ERR_NONE)
		live_files_write(l->broker, l);
	live_watch(l);
	if (r == ERR_NONE)
		return r;
	/* Processes may exist: the normal end of a sandbox cleans up, and
	 * answers. Without any it is gone when live_end() returns. */
	log_err(l->id, e);
	l->failure = (struct spawn_report){.step = SPAWN_EXEC};
	live_end(l);
	return ERR_NONE;
}

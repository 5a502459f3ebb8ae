/*
 * Over 600 lines: starting, ending and cleaning up are the moves of one state
 * machine, and each of them may meet a sandbox in the middle of another.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/live.h"
#include "sandbox/live_files.h"
#include "sandbox/net_slot.h"

#define START_LIMIT_MS 10000
#define CLEAN_RETRY_MS 20
#define KEEPER_LIMIT_MS 3000
#define DISK_LIMIT_MS 120000 /* e2fsck, once after a crash */

struct live *live_find(struct broker *b, const char *id)
{
	for (struct live *l = b->lives; l != NULL; l = l->next)
		if (strcmp(l->id, id) == 0)
			return l;
	return NULL;
}

uint32_t live_refusal_step(enum err code, const struct broker_req *req)
{
	return code == ERR_STATE && req->network == BROKER_NET_INTERNET
		   ? BROKER_STEP_NETWORK
		   : 0;
}

enum err live_wait(struct live *l, struct peer *peer,
		   const struct broker_req *req, struct errinfo *e)
{
	struct live_wait *w = malloc(sizeof(*w));

	if (w == NULL)
		return err_set(e, ERR_NOMEM, 0, "wait");
	*w = (struct live_wait){.peer = peer,
				.req = *req,
				.late = l->state == LIVE_ENDING,
				.next = l->waits};
	l->waits = w;
	return ERR_NONE;
}

void live_forget_peer(struct broker *b, struct peer *peer)
{
	for (struct live *l = b->lives; l != NULL; l = l->next)
		for (struct live_wait *w = l->waits; w != NULL; w = w->next)
			if (w->peer == peer)
				w->peer = NULL;
}

/* Every START that waits for this start is answered alike. */
static void answer_starts(struct live *l, enum err code, uint32_t step)
{
	struct live_wait **p = &l->waits;

	while (*p != NULL) {
		struct live_wait *w = *p;

		if (w->req.type != BROKER_START || w->late) {
			p = &w->next;
			continue;
		}
		broker_answer(w->peer, &w->req, code, step);
		*p = w->next;
		free(w);
	}
}

static void tell_failure(struct live *l)
{
	if (l->refused != ERR_NONE)
		answer_starts(l, l->refused,
			      live_refusal_step(l->refused, &l->want));
	else
		answer_starts(l,
			      l->failure.step != SPAWN_OK ? ERR_IO : ERR_STATE,
			      l->failure.step);
}

static void live_unlink(struct live *l)
{
	struct live **p = &l->broker->lives;

	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
}

static struct live_wait *oldest_first(struct live_wait *newest)
{
	struct live_wait *list = NULL;

	while (newest != NULL) {
		struct live_wait *w = newest;

		newest = w->next;
		w->next = list;
		list = w;
	}
	return list;
}

/* All processes are reaped: give everything back, then answer who waits. */
static void live_clean(void *arg)
{
	struct live *l = arg;
	struct broker *b = l->broker;
	struct live_wait *waits;

	loop_timer_del(&b->loop, &l->timer); /* a keeper's last moments */
	if (!cgroup_remove(&b->cgroups, l->id)) {
		cgroup_kill(&b->cgroups, l->id);
		loop_timer_set(&b->loop, &l->timer,
			       clock_mono_ms() + CLEAN_RETRY_MS, live_clean, l);
		return;
	}
	live_files_unlink(b, l->id);
	if (l->slot < BERTH_SLOTS)
		net_slot_free(&b->net, l->slot);
	if (l->destroy)
		live_remove_files(b, l->id);
	tell_failure(l);
	live_unlink(l);
	waits = oldest_first(l->waits);
	free(l);
	while (waits != NULL) {
		struct live_wait *w = waits;

		waits = w->next;
		broker_request(b, w->peer, &w->req);
		free(w);
	}
}

/* Now, while others still hold the mount: the last one to let it go waits
 * until all is written. */
static void let_disk_go(struct live *l)
{
	if (l->disk < 0)
		return;
	if (l->destroy && !maker_forsake(l->broker, &l->disk))
		disk_forsake(&l->broker->disks, l->disk);
	own_fd(&l->disk);
}

static void live_maybe_clean(struct live *l)
{
	if (l->init.pidfd < 0 && l->keeper_pidfd < 0)
		live_clean(l);
}

void live_end(struct live *l)
{
	if (l->state == LIVE_ENDING)
		return;
	l->state = LIVE_ENDING;
	loop_timer_del(&l->broker->loop, &l->timer);
	loop_del(&l->broker->loop, &l->report_watch);
	own_fd(&l->init.report);
	own_fd(&l->init.go);
	let_disk_go(l);
	loop_del(&l->broker->loop, &l->job_watch);
	disk_job_close(&l->job);
	child_signal(l->init.pidfd, SIGKILL);
	cgroup_kill(&l->broker->cgroups, l->id);
	child_signal(l->keeper_pidfd, SIGKILL);
	live_maybe_clean(l);
}

static void take_report(struct live *l)
{
	struct spawn_report r = {0};
	ssize_t n = read(l->init.report, &r, sizeof(r));

	if (n == 0)
		return;
	if (n != sizeof(r) || r.step == SPAWN_OK)
		r.step = SPAWN_NET;
	l->failure = r;
	log_line(LOG_ERROR, "%s: start failed at step %u: %s", l->id,
		 l->failure.step, strerrordesc_np((int)l->failure.sys));
}

static void on_keeper_limit(void *arg)
{
	struct live *l = arg;

	child_signal(l->keeper_pidfd, SIGKILL);
}

static void on_init_end(void *arg, uint32_t events)
{
	struct live *l = arg;
	struct loop *loop = &l->broker->loop;
	int status;

	(void)events;
	child_reap(l->init.pidfd, &status);
	loop_del(loop, &l->init_watch);
	own_fd(&l->init.pidfd);
	if (l->state == LIVE_STARTING) {
		take_report(l);
		live_end(l);
		return;
	}
	if (l->state == LIVE_ENDING) {
		live_maybe_clean(l);
		return;
	}
	log_line(LOG_WARN, "%s: init ended (status %#x)", l->id,
		 (unsigned)status);
	/* The keeper sees it too: it tells every reader, then ends. */
	l->state = LIVE_ENDING;
	let_disk_go(l);
	cgroup_kill(&l->broker->cgroups, l->id);
	loop_timer_set(loop, &l->timer, clock_mono_ms() + KEEPER_LIMIT_MS,
		       on_keeper_limit, l);
	live_maybe_clean(l);
}

static void on_keeper_end(void *arg, uint32_t events)
{
	struct live *l = arg;
	int status;

	(void)events;
	child_reap(l->keeper_pidfd, &status);
	loop_del(&l->broker->loop, &l->keeper_watch);
	own_fd(&l->keeper_pidfd);
	if (l->state == LIVE_ENDING) {
		live_maybe_clean(l);
		return;
	}
	log_line(LOG_WARN, "%s: keeper ended (status %#x)", l->id,
		 (unsigned)status);
	live_end(l);
}

static void on_start_limit(void *arg)
{
	struct live *l = arg;

	log_line(LOG_ERROR, "%s: not started in time", l->id);
	l->failure.step = SPAWN_EXEC;
	live_end(l);
}

/* End of the pipe: init was exec'd. A report: the step that failed. */
static void on_report(void *arg, uint32_t events)
{
	struct live *l = arg;
	struct broker *b = l->broker;

	(void)events;
	take_report(l);
	loop_del(&b->loop, &l->report_watch);
	own_fd(&l->init.report);
	if (l->failure.step != SPAWN_OK) {
		live_end(l);
		return;
	}
	loop_timer_del(&b->loop, &l->timer);
	l->state = LIVE_RUNNING;
	answer_starts(l, ERR_NONE, SPAWN_OK);
}

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
	    (size_t)m >= sizeof(a.sun_path))
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

static void watch(struct live *l, struct loop_watch *w, int fd, loop_fn *fn)
{
	if (fd >= 0)
		must(loop_add(&l->broker->loop, w, fd, EPOLLIN, fn, l, NULL) ==
		     ERR_NONE);
}

/* Whatever could be started is watched, so that its end is seen. */
void live_watch(struct live *l)
{
	watch(l, &l->report_watch, l->init.report, on_report);
	watch(l, &l->init_watch, l->init.pidfd, on_init_end);
	watch(l, &l->keeper_watch, l->keeper_pidfd, on_keeper_end);
	if (l->state == LIVE_STARTING)
		loop_timer_set(&l->broker->loop, &l->timer,
			       clock_mono_ms() + START_LIMIT_MS, on_start_limit,
			       l);
}

struct live *live_new(struct broker *b, const char *id)
{
	struct live *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->broker = b;
	l->init = (struct spawn_child)SPAWN_CHILD_NONE;
	l->keeper_pidfd = -1;
	l->disk = -1;
	l->slot = BERTH_SLOTS;
	l->job = (struct disk_job)DISK_JOB_NONE;
	l->job_watch.fd = -1;
	l->init_watch.fd = l->report_watch.fd = l->keeper_watch.fd = -1;
	must(strlen(id) == ID_SANDBOX_LEN);
	memcpy(l->id, id, sizeof(l->id));
	return l;
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

/* ${l} is in the list. On failure it stays there, without any process; when
 * processes failed, it ends like any other, and its waits are answered. */
static enum err start_now(struct live *l, const struct broker_req *req,
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

static void on_disk_turn(void *arg);

static void on_job_end(void *arg, uint32_t events)
{
	struct live *l = arg;

	(void)events;
	loop_del(&l->broker->loop, &l->job_watch);
	if (disk_job_end(&l->job)) {
		on_disk_turn(l);
		return;
	}
	log_line(LOG_ERROR, "%s: its image cannot be used", l->id);
	l->failure = (struct spawn_report){.step = SPAWN_MOUNTS};
	live_end(l);
}

/* Until what it needs is made and its image can be mounted; then the start
 * goes on. */
static bool disk_turns(struct live *l)
{
	struct loop *loop = &l->broker->loop;

	if (clock_left_ms(l->want_until_ms) == 0)
		return false;
	l->queued = maker_lacks(l->broker, l->want.disk_bytes != 0);
	if (l->queued)
		return true;
	switch (disk_prepare(&l->broker->disks, l->id, &l->job)) {
	case DISK_NEED_NOTHING:
		return false;
	case DISK_NEED_WAIT:
		loop_timer_set(loop, &l->timer,
			       clock_mono_ms() + CLEAN_RETRY_MS, on_disk_turn,
			       l);
		return true;
	case DISK_NEED_JOB:
		watch(l, &l->job_watch, l->job.pidfd, on_job_end);
		return true;
	}
	return false;
}

static void on_disk_turn(void *arg)
{
	struct live *l = arg;
	struct errinfo e;

	if (disk_turns(l) || start_now(l, &l->want, &e) == ERR_NONE)
		return;
	log_err(l->id, &e);
	l->refused = e.code;
	live_end(l);
}

void live_resume(struct broker *b)
{
	for (;;) {
		struct live *oldest = NULL;

		for (struct live *l = b->lives; l != NULL; l = l->next)
			if (l->queued)
				oldest = l;
		if (oldest == NULL ||
		    (maker_lacks(b, oldest->want.disk_bytes != 0) &&
		     clock_left_ms(oldest->want_until_ms) > 0))
			return;
		oldest->queued = false;
		if (oldest->state == LIVE_STARTING)
			on_disk_turn(oldest);
	}
}

enum err live_start(struct broker *b, struct peer *peer,
		    const struct broker_req *req, struct errinfo *e)
{
	struct live *l = live_new(b, req->id);
	enum err r;

	if (l == NULL)
		return err_set(e, ERR_NOMEM, 0, "live");
	r = live_wait(l, peer, req, e);
	if (r != ERR_NONE) {
		free(l);
		return r;
	}
	l->want = *req;
	l->want_until_ms = clock_mono_ms() + DISK_LIMIT_MS;
	l->next = b->lives;
	b->lives = l;
	if (disk_turns(l))
		return ERR_NONE;
	r = start_now(l, req, e);
	if (r == ERR_NONE)
		return r;
	live_unlink(l);
	free(l->waits);
	free(l);
	return r;
}

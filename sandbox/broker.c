/*
 * Over 600 lines: all that the one program with power does before it serves
 * and when it stops stands in one place, so that it can be read in one go.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/live.h"
#include "sandbox/live_files.h"
#include "sandbox/net_lists.h"
#include "sandbox/net_slot.h"
#include "sandbox/role.h"
#include "sandbox/zygote.h"

#define REFILL_MS 1
#define REFILL_LATER_MS 15
#define REFILL_IDLE_MS 100
#define BERTHS_READY 8
#define PEERS_MAX 1024
#define STOP_LIMIT_MS 10000
#define LOCK_LIMIT_MS 2000

/* One connection to R/broker.sock. */
struct peer {
	struct broker *broker;
	struct loop_watch watch;
	struct peer *next;
};

/* ---- requests ---- */

void broker_answer(struct peer *peer, const struct broker_req *req,
		   enum err code, uint32_t step)
{
	struct broker_reply r = {.magic = BROKER_MAGIC,
				 .type = req->type,
				 .cookie = req->cookie,
				 .err = code,
				 .step = step};

	if (peer != NULL)
		send(peer->watch.fd, &r, sizeof(r),
		     MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool name_ok(const char *s, size_t size)
{
	size_t n = strnlen(s, size);

	if (n == 0 || n == size ||
	    strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != n)
		return false;
	for (size_t i = n; i < size; i++)
		if (s[i] != '\0')
			return false;
	return true;
}

/* Those that count are ranges of addresses, the others 0. */
static bool lists_ok(const struct broker_req *r)
{
	static const struct broker_cidr zero;

	if (r->ndeny > BROKER_CIDRS_MAX || r->nallow > BROKER_CIDRS_MAX ||
	    r->ndeny + r->nallow > BROKER_CIDRS_MAX)
		return false;
	for (int i = 0; i < BROKER_CIDRS_MAX; i++)
		if (i < r->ndeny + r->nallow
			? !net_cidr_ok(&r->cidrs[i])
			: memcmp(&r->cidrs[i], &zero, sizeof(zero)) != 0)
			return false;
	return true;
}

/* Files in memory leave most of it to the programs: /tmp and /dev/shm may
 * take as much each. */
static bool disk_ok(const struct broker_req *r)
{
	if (r->flags == 0)
		return r->disk_bytes <= DISK_BYTES_MAX;
	return r->flags == BROKER_EPHEMERAL &&
	       r->disk_bytes >= DISK_BYTES_MIN &&
	       r->disk_bytes <= r->memory_bytes / 4;
}

static bool process_limits_ok(const struct broker_req *r)
{
	return r->cpu_weight <= 10000 &&
	       r->open_files <= LIMITS_OPEN_FILES_MAX &&
	       (r->open_files == 0 || r->open_files >= 16) &&
	       r->file_bytes <= (UINT64_C(1) << 44) &&
	       r->tmp_bytes <= r->memory_bytes / 2;
}

/* The whole message, before anything acts on it. */
static bool request_ok(const struct broker_req *r)
{
	if (r->magic != BROKER_MAGIC || !lists_ok(r))
		return false;
	switch ((enum broker_type)r->type) {
	case BROKER_PING:
		return true;
	case BROKER_STOP:
	case BROKER_DESTROY:
	case BROKER_LISTS:
	case BROKER_DENIALS:
		return name_ok(r->id, sizeof(r->id)) && id_sandbox_ok(r->id);
	case BROKER_START:
		return name_ok(r->id, sizeof(r->id)) && id_sandbox_ok(r->id) &&
		       name_ok(r->image, sizeof(r->image)) &&
		       r->memory_bytes >= (16U << 20) &&
		       r->memory_bytes <= (UINT64_C(1) << 44) &&
		       r->memory_bytes % 4096 == 0 && r->cpu_millis >= 10 &&
		       r->cpu_millis <= 1024 * 1000 && r->pids >= 4 &&
		       r->pids <= 1U << 22 && disk_ok(r) &&
		       r->network <= BROKER_NET_INTERNET &&
		       process_limits_ok(r);
	case BROKER_NONE:
		break;
	}
	return false;
}

static void request_start(struct broker *b, struct peer *peer,
			  const struct broker_req *req)
{
	struct live *l = live_find(b, req->id);
	struct errinfo e = {0};
	enum err r;

	if (b->stopping) {
		broker_answer(peer, req, ERR_STATE, 0);
		return;
	}
	if (l != NULL && l->state == LIVE_RUNNING) {
		broker_answer(peer, req, ERR_NONE, 0);
		return;
	}
	r = l == NULL ? live_start(b, peer, req, &e)
		      : live_wait(l, peer, req, &e);
	if (r == ERR_NONE)
		return;
	log_err(req->id, &e);
	broker_answer(peer, req, r, live_refusal_step(r, req));
}

static void request_stop(struct broker *b, struct peer *peer,
			 const struct broker_req *req)
{
	struct live *l = live_find(b, req->id);
	struct errinfo e;

	if (l == NULL) {
		if (req->type == BROKER_DESTROY)
			live_remove_files(b, req->id);
		broker_answer(peer, req, ERR_NONE, 0);
		return;
	}
	if (live_wait(l, peer, req, &e) != ERR_NONE) {
		broker_answer(peer, req, e.code, 0);
		return;
	}
	if (req->type == BROKER_DESTROY)
		l->destroy = true;
	live_end(l);
}

static void request_lists(struct broker *b, struct peer *peer,
			  const struct broker_req *req)
{
	struct live *l = live_find(b, req->id);
	struct errinfo e;
	enum err r = ERR_NOT_FOUND;

	if (l != NULL && l->state == LIVE_RUNNING) {
		r = net_lists_set(&b->net, l->slot, req, &e);
		if (r != ERR_NONE)
			log_err(req->id, &e);
	}
	broker_answer(peer, req, r, 0);
}

static void request_denials(struct broker *b, struct peer *peer,
			    const struct broker_req *req)
{
	struct live *l = live_find(b, req->id);
	struct broker_denials d = {.reply = {.magic = BROKER_MAGIC,
					     .type = req->type,
					     .cookie = req->cookie}};

	if (l == NULL || l->state != LIVE_RUNNING) {
		broker_answer(peer, req, ERR_NOT_FOUND, 0);
		return;
	}
	net_slot_denials(&b->net, l->slot, &d);
	if (peer != NULL)
		send(peer->watch.fd, &d, sizeof(d),
		     MSG_DONTWAIT | MSG_NOSIGNAL);
}

void broker_request(struct broker *b, struct peer *peer,
		    const struct broker_req *req)
{
	switch ((enum broker_type)req->type) {
	case BROKER_START:
		request_start(b, peer, req);
		return;
	case BROKER_STOP:
	case BROKER_DESTROY:
		request_stop(b, peer, req);
		return;
	case BROKER_LISTS:
		request_lists(b, peer, req);
		return;
	case BROKER_DENIALS:
		request_denials(b, peer, req);
		return;
	case BROKER_PING:
		broker_answer(peer, req, ERR_NONE, 0);
		return;
	case BROKER_NONE:
		break;
	}
	must(!"a checked request");
}

/* ---- peers ---- */

static void peer_close(struct peer *p)
{
	struct broker *b = p->broker;
	struct peer **at = &b->peers;
	int fd = p->watch.fd;

	live_forget_peer(b, p);
	loop_del(&b->loop, &p->watch);
	close(fd);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	b->npeers--;
	free(p);
}

/* Whole; or without lists, and then it may not count any. */
static bool size_ok(const struct broker_req *r, ssize_t n)
{
	return n == (ssize_t)sizeof(*r) || (n == (ssize_t)BROKER_REQ_SHORT &&
					    r->ndeny == 0 && r->nallow == 0);
}

static void on_peer(void *arg, uint32_t events)
{
	struct peer *p = arg;
	struct broker_req req = {0}; /* its end may be left out */
	ssize_t n;

	(void)events;
	n = recv(p->watch.fd, &req, sizeof(req), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (!size_ok(&req, n) || !request_ok(&req)) {
		if (n > 0)
			log_line(LOG_WARN, "malformed request refused");
		peer_close(p);
		return;
	}
	broker_request(p->broker, p, &req);
}

static bool peer_allowed(struct broker *b, int fd)
{
	struct ucred c;
	socklen_t len = sizeof(c);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) == 0 &&
	       (c.uid == 0 || c.uid == b->warren_uid);
}

static void on_listen(void *arg, uint32_t events)
{
	struct broker *b = arg;
	OWN(own_fd)
	int fd = accept4(b->listen.fd, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct peer *p;

	(void)events;
	if (fd < 0 || b->npeers >= PEERS_MAX || !peer_allowed(b, fd))
		return;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return;
	p->broker = b;
	if (loop_add(&b->loop, &p->watch, fd, EPOLLIN, on_peer, p, NULL) !=
	    ERR_NONE) {
		free(p);
		return;
	}
	STEAL_FD(fd);
	p->next = b->peers;
	b->peers = p;
	b->npeers++;
}

/* ---- set-up ---- */

static enum err find_users(struct broker *b, struct errinfo *e)
{
	const struct passwd *w = getpwnam("warren");
	const struct group *g = getgrnam("www-data");

	if (w == NULL)
		return err_set(e, ERR_NOT_FOUND, 0, "no user warren");
	if (g == NULL)
		return err_set(e, ERR_NOT_FOUND, 0, "no group www-data");
	b->warren_uid = w->pw_uid;
	b->warren_gid = w->pw_gid;
	b->web_gid = g->gr_gid;
	return ERR_NONE;
}

struct run_dir {
	const char *name;
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

static enum err make_run_dirs(struct broker *b, struct errinfo *e)
{
	const struct run_dir dirs[] = {
	    {"keepers", 0750, 0, b->warren_gid},
	    {"preview", 0750, b->warren_uid, b->web_gid},
	    {"sandboxes", 0700, 0, 0},
	    {"roles", 0700, 0, 0},
	    {"mnt", 0700, 0, 0},
	    {"empty", 0755, 0, 0},
	};

	if (mkdir(b->conf.run, 0755) < 0 && errno != EEXIST)
		return err_set(e, ERR_IO, errno, "%s", b->conf.run);
	b->run = open(b->conf.run, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	/* It may be there with another mode; users warren and www-data pass. */
	if (b->run < 0 || fchmod(b->run, 0755) < 0)
		return err_set(e, ERR_IO, errno, "%s", b->conf.run);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		const struct run_dir *d = &dirs[i];

		if (mkdirat(b->run, d->name, d->mode) < 0 && errno != EEXIST)
			return err_set(e, ERR_IO, errno, "%s", d->name);
		if (fchownat(b->run, d->name, d->uid, d->gid,
			     AT_SYMLINK_NOFOLLOW) < 0 ||
		    fchmodat(b->run, d->name, d->mode, 0) < 0)
			return err_set(e, ERR_IO, errno, "%s", d->name);
	}
	return ERR_NONE;
}

/* One broker for a run directory; one that was just killed may have left a
 * child that holds the lock for a moment. */
static enum err lock_run(struct broker *b, struct errinfo *e)
{
	int64_t deadline = clock_mono_ms() + LOCK_LIMIT_MS;

	while (flock(b->run, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || clock_left_ms(deadline) == 0)
			return err_set(e, ERR_STATE, errno,
				       "another warrend uses %s", b->conf.run);
		usleep(20000);
	}
	return ERR_NONE;
}

/* A crash inside would run such a handler as root of the machine. */
static void check_core_pattern(void)
{
	OWN(own_fd)
	int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
	char c = 0;

	if (fd >= 0 && read(fd, &c, 1) == 1 && (c == '|' || c == '@'))
		log_line(LOG_WARN, "kernel.core_pattern runs a program for "
				   "each crash, those in sandboxes too");
}

static enum err open_data(struct broker *b, struct errinfo *e)
{
	OWN(own_fd)
	int data = open(b->conf.data, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (data < 0)
		return err_set(e, ERR_IO, errno, "%s", b->conf.data);
	if (mkdirat(data, "sandboxes", 0700) < 0 && errno != EEXIST)
		return err_set(e, ERR_IO, errno, "sandboxes");
	b->sandboxes = openat(data, "sandboxes",
			      O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	b->images = openat(data, "images",
			   O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (b->sandboxes < 0 || b->images < 0)
		return err_set(e, ERR_IO, errno, "sandboxes or images");
	if (fstat(b->sandboxes, &st) < 0 || st.st_uid != 0 ||
	    (st.st_mode & 077) != 0 || fstat(b->images, &st) < 0 ||
	    st.st_uid != 0)
		return err_set(e, ERR_DENIED, 0,
			       "sandboxes and images must be root's own");
	return ERR_NONE;
}

static enum err open_programs(struct broker *b, int *dir, struct errinfo *e)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		return err_set(e, ERR_IO, errno, "own program");
	*slash = '\0';
	*dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	b->init_program = openat(*dir, "warren-init", O_RDONLY | O_CLOEXEC);
	b->keeper_program = openat(*dir, "warren-keeper", O_RDONLY | O_CLOEXEC);
	if (b->init_program < 0 || b->keeper_program < 0)
		return err_set(e, ERR_IO, errno, "warren-init, warren-keeper");
	return ERR_NONE;
}

/* Bound beside and renamed over, so that the path always leads somewhere. */
static enum err listen_at(struct broker *b, const char *name, int type,
			  gid_t gid, int *out, struct errinfo *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char path[sizeof(a.sun_path)];
	OWN(own_fd)
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s.new",
			 b->conf.run, name);

	if (fd < 0 || n < 0 || (size_t)n >= sizeof(a.sun_path))
		return err_set(e, ERR_IO, errno, "socket %s", name);
	snprintf(path, sizeof(path), "%.*s", n - 4, a.sun_path);
	unlink(a.sun_path);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    chown(a.sun_path, 0, gid) < 0 || chmod(a.sun_path, 0660) < 0 ||
	    listen(fd, 4096) < 0 || rename(a.sun_path, path) < 0)
		return err_set(e, ERR_IO, errno, "socket %s", name);
	*out = STEAL_FD(fd);
	return ERR_NONE;
}

static void on_refill(void *arg)
{
	struct broker *b = arg;
	bool more = net_refill(&b->net);

	disk_tick(&b->disks);
	maker_refill(b, MAKER_BERTHS);
	maker_refill(b, MAKER_DISKS);
	live_resume(b);
	loop_timer_set(&b->loop, &b->refill,
		       clock_mono_ms() + (more ? REFILL_MS : REFILL_IDLE_MS),
		       on_refill, b);
}

/* While enough is left, the start that took some goes first. */
void broker_poke(struct broker *b)
{
	int64_t later = clock_mono_ms() + REFILL_LATER_MS;

	if (b->stopping)
		return;
	if (b->berths.nready < BERTHS_READY / 2 ||
	    b->keepers.nready < SEATS_READY / 2)
		maker_refill(b, MAKER_BERTHS);
	if (b->disks.spares.nready < DISK_SPARES / 2)
		maker_refill(b, MAKER_DISKS);
	if (!b->refill.armed || b->refill.at_ms > later)
		loop_timer_set(&b->loop, &b->refill, later, on_refill, b);
}

static void on_signal(void *arg, uint32_t events)
{
	struct broker *b = arg;
	struct signalfd_siginfo si;

	(void)events;
	while (read(b->signals.fd, &si, sizeof(si)) == sizeof(si))
		if (si.ssi_signo != SIGCHLD)
			loop_stop(&b->loop);
}

static enum err watch_signals(struct broker *b, struct errinfo *e)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return err_set(e, ERR_IO, errno, "signalfd");
	return loop_add(&b->loop, &b->signals, fd, EPOLLIN, on_signal, b, e);
}

static enum err open_parts(struct broker *b, int *programs, struct errinfo *e)
{
	enum err r = find_users(b, e);

	if (r == ERR_NONE)
		r = open_data(b, e);
	if (r == ERR_NONE)
		r = make_run_dirs(b, e);
	if (r == ERR_NONE)
		r = lock_run(b, e);
	if (r == ERR_NONE)
		r = open_programs(b, programs, e);
	if (r == ERR_NONE)
		r = filter_compile(&b->filter, e);
	if (r == ERR_NONE)
		r = loop_open(&b->loop, e);
	if (r == ERR_NONE)
		r = watch_signals(b, e);
	return r;
}

enum err broker_open(struct broker *b, const struct broker_conf *conf,
		     struct errinfo *e)
{
	OWN(own_fd) int programs = -1;
	struct rlimit l;
	char mount_dir[512];
	const char *slash = strrchr(conf->run, '/');
	int listen_fd = -1;
	enum err r;

	*b = (struct broker){.conf = *conf,
			     .instance = slash != NULL ? slash + 1 : conf->run,
			     .listen = LOOP_WATCH_INIT,
			     .signals = LOOP_WATCH_INIT,
			     .berths = {.keep = BERTHS_READY}};
	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	snprintf(b->point, sizeof(b->point), "%s/mnt", conf->run);
	snprintf(b->empty, sizeof(b->empty), "%s/empty", conf->run);
	snprintf(mount_dir, sizeof(mount_dir), "%s/cgroup", conf->run);
	check_core_pattern();
	r = open_parts(b, &programs, e);
	if (r == ERR_NONE)
		r = cgroup_root_open(&b->cgroups, b->instance, mount_dir, e);
	if (r != ERR_NONE)
		return r;
	b->trash = (struct trash){.broker = b};
	maker_init(b);
	disk_root_open(&b->disks, b->sandboxes, b->images,
		       conf->disk_overcommit);
	r = net_open(&b->net, b, e);
	if (r != ERR_NONE)
		return r;
	live_adopt_all(b);
	trash_sweep(&b->trash);
	r = listen_at(b, "broker.sock", SOCK_SEQPACKET, b->warren_gid,
		      &listen_fd, e);
	if (r == ERR_NONE)
		r = loop_add(&b->loop, &b->listen, listen_fd, EPOLLIN,
			     on_listen, b, e);
	if (r == ERR_NONE)
		r = listen_at(b, "fcgi.sock", SOCK_STREAM, b->web_gid,
			      &b->fcgi_socket, e);
	if (r == ERR_NONE)
		r = role_start_all(b, programs, e);
	if (r == ERR_NONE)
		r = listen_at(b, "fork.sock", SOCK_SEQPACKET, b->warren_gid,
			      &listen_fd, e);
	if (r == ERR_NONE)
		r = zygotes_open(b, listen_fd, e);
	on_refill(b);
	return r;
}

void broker_run(struct broker *b)
{
	int64_t deadline;

	loop_run(&b->loop);
	log_line(LOG_INFO, "stopping");
	b->stopping = true;
	role_stop_all(b);
	zygotes_close(b);
	for (struct live *l = b->lives, *next; l != NULL; l = next) {
		next = l->next;
		live_end(l);
	}
	deadline = clock_mono_ms() + STOP_LIMIT_MS;
	while ((b->lives != NULL || trash_busy(&b->trash)) &&
	       clock_left_ms(deadline) > 0)
		loop_step(&b->loop, 50);
	loop_timer_del(&b->loop, &b->refill);
	net_close(&b->net);
	maker_stop(b);
	while (b->keepers.nready > 0)
		keeper_seat_end(&b->keepers.ready[--b->keepers.nready]);
	berth_pool_close(&b->berths);
	disk_root_close(&b->disks);
	cgroup_root_close(&b->cgroups, b->instance);
	filter_free(&b->filter);
	loop_close(&b->loop);
}

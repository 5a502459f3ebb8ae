#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/broker_place.h"
#include "sandbox/host.h"
#include "sandbox/inject.h"
#include "sandbox/live.h"
#include "sandbox/role.h"
#include "sandbox/zygote.h"

#define REFILL_MS 1
#define REFILL_LATER_MS 15
#define REFILL_IDLE_MS 100
#define BERTHS_READY 8
#define STOP_LIMIT_MS 10000

static void on_refill(void *arg)
{
	struct broker *b = arg;
	bool more = net_refill(&b->net);

	disk_tick(&b->disks);
	maker_refill(b, MAKER_BERTHS);
	maker_refill(b, MAKER_DISKS);
	maker_refill(b, MAKER_KEEPERS);
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
	if (b->berths.nready < BERTHS_READY / 2)
		maker_refill(b, MAKER_BERTHS);
	if (b->keepers.nready < SEATS_READY / 2)
		maker_refill(b, MAKER_KEEPERS);
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
	enum err r = host_prepare(b->conf.core_handler, e);

	if (r == ERR_NONE)
		r = broker_find_users(b, e);
	if (r == ERR_NONE)
		r = broker_open_data(b, e);
	if (r == ERR_NONE)
		r = broker_make_run(b, e);
	if (r == ERR_NONE)
		r = broker_lock_run(b, e);
	if (r == ERR_NONE)
		inject_open(b->run);
	if (r == ERR_NONE)
		r = broker_open_programs(b, programs, e);
	if (r == ERR_NONE)
		r = filter_compile(&b->filter, e);
	if (r == ERR_NONE)
		r = loop_open(&b->loop, e);
	if (r == ERR_NONE)
		r = watch_signals(b, e);
	return r;
}

/* That we may run on. */
static int processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return CPU_COUNT(&set);
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
	r = open_parts(b, &programs, e);
	if (r == ERR_NONE)
		r = cgroup_root_open(&b->cgroups, b->instance, mount_dir, e);
	if (r != ERR_NONE)
		return r;
	b->trash = (struct trash){.broker = b};
	maker_init(b);
	flows_init(&b->flows, processors());
	disk_root_open(&b->disks, b->sandboxes, b->images,
		       conf->disk_overcommit);
	r = net_open(&b->net, b, e);
	if (r != ERR_NONE)
		return r;
	live_adopt_all(b);
	trash_sweep(&b->trash);
	r = broker_listen(b, "broker.sock", SOCK_SEQPACKET, b->warren_gid,
			  &listen_fd, e);
	if (r == ERR_NONE)
		r = loop_add(&b->loop, &b->listen, listen_fd, EPOLLIN,
			     broker_peer_accept, b, e);
	if (r == ERR_NONE)
		r = broker_listen(b, "fcgi.sock", SOCK_STREAM, b->web_gid,
				  &b->fcgi_socket, e);
	if (r == ERR_NONE)
		r = broker_listen(b, "terminal.sock", SOCK_STREAM, b->web_gid,
				  &b->terminal_socket, e);
	if (r == ERR_NONE)
		r = role_start_all(b, programs, e);
	if (r == ERR_NONE)
		r = broker_listen(b, "fork.sock", SOCK_SEQPACKET, b->warren_gid,
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
	loop_timer_del(&b->loop, &b->turns);
	net_close(&b->net);
	maker_stop(b);
	while (b->keepers.nready > 0)
		keeper_seat_end(&b->keepers.ready[--b->keepers.nready]);
	berth_pool_close(&b->berths);
	disk_root_close(&b->disks);
	cgroup_root_close(&b->cgroups, b->instance);
	filter_free(&b->filter);
	flows_close(&b->flows);
	loop_close(&b->loop);
}

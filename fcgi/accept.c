#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/accept.h"
#include "fcgi/pool.h"

#define EVENTS_MAX 64
#define FDS_MAX 65536
#define LOOK_MS 100
#define QUIET_MS 1000

static struct {
	const struct worker *worker;
	int epoll_fd;
	int listen_fd;
	atomic_int open; /* connections there are */
	atomic_bool draining;
	bool orphan;      /* the broker ended */
	struct stat path; /* of our socket's name, when we began */
	/* By descriptor: since when it waits for a request; 0: it does not. */
	_Atomic int64_t *idle_ms;
	int fd_max;
} accept_state = {.epoll_fd = -1};

static int64_t accept_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static bool accept_watch(int op, int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.fd = fd};

	return epoll_ctl(accept_state.epoll_fd, op, fd, &ev) == 0;
}

/* Wait for the next request on a connection. */
static bool accept_idle(int op, int fd)
{
	if (fd >= accept_state.fd_max)
		return false;
	atomic_store(&accept_state.idle_ms[fd], clock_mono_ms());
	if (accept_watch(op, fd, EPOLLIN | EPOLLRDHUP | EPOLLONESHOT))
		return true;
	atomic_store(&accept_state.idle_ms[fd], 0);
	return false;
}

/*
 * Take one connection; false when none waits. libfcgi needs a blocking
 * socket; no client may block it for ever.
 */
static bool accept_new(void)
{
	struct timeval slow = {.tv_sec = ACCEPT_SLOW_MS / 1000};
	int fd = accept4(accept_state.listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM) {
			log_line(LOG_WARN, "accept: no descriptors left");
			usleep(50000);
		}
		return false;
	}
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &slow, sizeof(slow)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &slow, sizeof(slow)) < 0 ||
	    !accept_idle(EPOLL_CTL_ADD, fd)) {
		close(fd);
		return true;
	}
	atomic_fetch_add(&accept_state.open, 1);
	return true;
}

/* As FCGX_Finish_r does, but streams that body_end() took are gone. */
static void accept_finish(FCGX_Request *fcgi)
{
	bool close = fcgi->keepConnection == 0;

	if (fcgi->err != NULL && FCGX_FClose(fcgi->err) != 0)
		close = true;
	if (FCGX_FClose(fcgi->out) != 0)
		close = true;
	if (fcgi->in != NULL && FCGX_GetError(fcgi->in) != 0)
		close = true;
	FCGX_Free(fcgi, close);
}

/* Not on the stack, of which each thread that waits has whole pages. */
static bool accept_request(FCGX_Request *fcgi, int fd, int64_t came_us)
{
	struct request *rq = calloc(1, sizeof(*rq));
	bool broken;

	if (rq == NULL)
		return false;
	rq->worker = accept_state.worker;
	rq->fcgi = fcgi;
	rq->client_fd = fd;
	rq->came_us = came_us;
	route_serve(rq);
	broken = rq->broken;
	free(rq);
	return !broken;
}

void accept_serve(int fd, int64_t came_us)
{
	FCGX_Request fcgi;

	FCGX_InitRequest(&fcgi, -1, 0);
	fcgi.ipcFd = fd;
	fcgi.keepConnection = 1; /* or the call below closes it first */
	if (FCGX_Accept_r(&fcgi) < 0) {
		/* The peer closed; the library has closed our side. */
		atomic_fetch_sub(&accept_state.open, 1);
		return;
	}
	if (!accept_request(&fcgi, fd, came_us))
		fcgi.keepConnection = 0;
	accept_finish(&fcgi);
	if (fcgi.ipcFd < 0) {
		atomic_fetch_sub(&accept_state.open, 1);
	} else if (!accept_idle(EPOLL_CTL_MOD, fd)) {
		close(fd);
		atomic_fetch_sub(&accept_state.open, 1);
	}
}

static void accept_signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, ACCEPT_ORPHAN);
}

void accept_block_signals(void)
{
	sigset_t set;

	accept_signal_set(&set);
	sigaddset(&set, SIGUSR1);
	must(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}

static int accept_signals(void)
{
	sigset_t set;

	accept_signal_set(&set);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static enum err accept_open(int signal_fd, struct errinfo *e)
{
	int flags = fcntl(accept_state.listen_fd, F_GETFL);
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return err_set(e, ERR_IO, errno, "limit of descriptors");
	accept_state.fd_max = files.rlim_cur < FDS_MAX ? (int)files.rlim_cur
						       : FDS_MAX;
	accept_state.idle_ms = calloc((size_t)accept_state.fd_max,
				      sizeof(*accept_state.idle_ms));
	if (accept_state.idle_ms == NULL)
		return err_set(e, ERR_NOMEM, 0, "connections");
	accept_state.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (signal_fd < 0 || accept_state.epoll_fd < 0)
		return err_set(e, ERR_IO, errno, "epoll");
	if (flags < 0 ||
	    fcntl(accept_state.listen_fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(accept_state.listen_fd, F_SETFD, FD_CLOEXEC) < 0)
		return err_set(e, ERR_IO, errno, "listening socket");
	if (!accept_watch(EPOLL_CTL_ADD, accept_state.listen_fd,
			  EPOLLIN | EPOLLEXCLUSIVE) ||
	    !accept_watch(EPOLL_CTL_ADD, signal_fd, EPOLLIN))
		return err_set(e, ERR_IO, errno, "watch");
	return ERR_NONE;
}

/* The first call begins to drain, a second ends at once. */
static void accept_drain(int64_t *until_ms)
{
	if (atomic_exchange(&accept_state.draining, true)) {
		*until_ms = 0;
		return;
	}
	epoll_ctl(accept_state.epoll_fd, EPOLL_CTL_DEL, accept_state.listen_fd,
		  NULL);
	*until_ms = clock_mono_ms() + ACCEPT_DRAIN_MS;
	log_line(LOG_INFO, "finishing %d connections",
		 atomic_load(&accept_state.open));
}

static void accept_signal(int signal_fd, int64_t *until_ms)
{
	struct signalfd_siginfo info;

	while (read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == ACCEPT_ORPHAN)
			accept_state.orphan = true;
		else
			accept_drain(until_ms);
	}
}

static bool accept_path(struct stat *out)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/fcgi.sock",
			 accept_state.worker->run_dir);

	return n > 0 && (size_t)n < sizeof(path) && stat(path, out) == 0;
}

/*
 * Without a broker nobody restarts or ends us, but nginx still reaches us:
 * serve until the next broker's socket has taken the name, then take what
 * still waits on ours and leave.
 */
static void accept_orphan(int64_t *until_ms)
{
	struct stat now;

	if (accept_path(&now) && now.st_ino == accept_state.path.st_ino &&
	    now.st_dev == accept_state.path.st_dev)
		return;
	while (accept_new())
		;
	accept_drain(until_ms);
}

static void accept_ready(int fd, uint32_t events, int64_t now_us)
{
	atomic_store(&accept_state.idle_ms[fd], 0);
	if ((events & EPOLLIN) != 0) {
		pool_give(fd, now_us);
		return;
	}
	close(fd);
	atomic_fetch_sub(&accept_state.open, 1);
}

/*
 * While draining: nginx keeps connections for its next request, and one that
 * is closed right after an answer may meet that request. So end those that
 * have been quiet for a while.
 */
static void accept_end_idle(void)
{
	int64_t before = clock_mono_ms() - QUIET_MS;

	for (int fd = 0; fd < accept_state.fd_max; fd++) {
		int64_t since = atomic_load(&accept_state.idle_ms[fd]);

		if (since != 0 && since < before)
			shutdown(fd, SHUT_RDWR);
	}
}

static void accept_dispatch(const struct epoll_event *evs, int n, int signal_fd,
			    int64_t *until_ms)
{
	int64_t now = accept_now_us();

	for (int i = 0; i < n; i++) {
		int fd = evs[i].data.fd;

		if (fd == accept_state.listen_fd)
			(void)accept_new();
		else if (fd == signal_fd)
			accept_signal(signal_fd, until_ms);
		else
			accept_ready(fd, evs[i].events, now);
	}
}

enum err accept_run(const struct worker *w, int listen_fd, struct errinfo *e)
{
	OWN(own_fd) int signal_fd = accept_signals();
	struct epoll_event evs[EVENTS_MAX];
	int64_t until_ms = CLOCK_NEVER;
	enum err r;

	accept_state.worker = w;
	accept_state.listen_fd = listen_fd;
	if (!accept_path(&accept_state.path))
		log_line(LOG_WARN, "no socket of ours in the run directory");
	r = accept_open(signal_fd, e);
	if (r != ERR_NONE)
		return r;
	while (until_ms == CLOCK_NEVER || (clock_mono_ms() < until_ms &&
					   atomic_load(&accept_state.open))) {
		bool draining = until_ms != CLOCK_NEVER;
		bool look = draining || accept_state.orphan;
		int n = epoll_wait(accept_state.epoll_fd, evs, EVENTS_MAX,
				   look ? LOOK_MS : -1);

		if (n < 0 && errno != EINTR)
			return err_set(e, ERR_IO, errno, "epoll_wait");
		accept_dispatch(evs, n, signal_fd, &until_ms);
		if (draining)
			accept_end_idle();
		if (accept_state.orphan && until_ms == CLOCK_NEVER)
			accept_orphan(&until_ms);
	}
	return ERR_NONE;
}

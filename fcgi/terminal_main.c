/*
 * warren-terminal --data D --run R
 *
 * The WebSockets of terminals: see term.h. Unprivileged; has a listening
 * socket on descriptor 3, which the broker made, and reaches keepers.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/term.h"

#define LISTEN_FD 3
#define LEAVE_MS 2000

static bool main_args(int argc, char **argv, const char **run)
{
	static const struct option options[] = {
	    {"data", required_argument, NULL, 'd'},
	    {"run", required_argument, NULL, 'r'},
	    {NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'r')
			*run = optarg;
		else if (c != 'd') /* it needs nothing of it */
			return false;
	}
	return optind == argc;
}

static void on_listen(void *arg, uint32_t events)
{
	struct term_server *s = arg;
	OWN(own_fd)
	int fd = accept4(s->listen.fd, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd < 0 || s->nviews >= TERM_VIEWS_MAX)
		return;
	term_view_new(s, STEAL_FD(fd));
}

static void on_leave(void *arg)
{
	struct term_server *s = arg;

	loop_stop(&s->loop);
}

/* SIGTERM: viewers are told to come again; terminals go on. */
static void on_signal(void *arg, uint32_t events)
{
	struct term_server *s = arg;
	struct signalfd_siginfo si;

	(void)events;
	if (read(s->signals.fd, &si, sizeof(si)) != sizeof(si) || s->leaving)
		return;
	s->leaving = true;
	loop_del(&s->loop, &s->listen);
	for (struct term_view *v = s->views, *next; v != NULL; v = next) {
		next = v->next;
		term_view_leave(v);
	}
	loop_timer_set(&s->loop, &s->leave,
		       s->nviews == 0 ? 0 : clock_mono_ms() + LEAVE_MS,
		       on_leave, s);
}

static enum err main_open(struct term_server *s, struct errinfo *e)
{
	sigset_t set;
	int fd;
	enum err r = loop_open(&s->loop, e);

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r == ERR_NONE && fd < 0)
		r = err_set(e, ERR_IO, 0, "signalfd");
	if (r == ERR_NONE)
		r = loop_add(&s->loop, &s->signals, fd, EPOLLIN, on_signal, s,
			     e);
	if (r == ERR_NONE)
		r = loop_add(&s->loop, &s->listen, LISTEN_FD, EPOLLIN,
			     on_listen, s, e);
	return r;
}

static void main_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int main(int argc, char **argv)
{
	static struct term_server s = {.listen = LOOP_WATCH_INIT,
				       .signals = LOOP_WATCH_INIT,
				       .run_dir = "/run/warren"};
	struct errinfo e;
	int on = 0;
	socklen_t n = sizeof(on);

	log_open("warren-terminal", LOG_INFO);
	if (!main_args(argc, argv, &s.run_dir) ||
	    getsockopt(LISTEN_FD, SOL_SOCKET, SO_ACCEPTCONN, &on, &n) < 0 ||
	    on == 0) {
		fprintf(stderr, "usage: warren-terminal --data DIR --run DIR "
				"3<listening socket\n");
		return 2;
	}
	main_limits();
	if (main_open(&s, &e) != ERR_NONE) {
		log_err("terminals", &e);
		return 1;
	}
	loop_run(&s.loop);
	return 0;
}

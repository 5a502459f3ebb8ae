/*
 * warren-keeper ID UID WARREN_UID EMPTY_DIR LETTERS, or
 * warren-keeper SEAT_TEMPLATE EMPTY_DIR (keeper_template.h): see keeper.h.
 * Started by the broker as root. It has, at once or, as a copy, with its
 * seat: 3 its listening socket, 4 the socket to init, 5 init's pidfd, 6 the
 * sandbox's network namespace, from 7 on those of which LETTERS tells
 * (keeper_usage.h).
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_exec.h"
#include "sandbox/keeper_init.h"
#include "sandbox/keeper_seat.h"
#include "sandbox/keeper_template.h"
#include "sandbox/pages.h"

enum { FD_LISTEN = 3, FD_INIT, FD_PIDFD, FD_NET, FD_USAGE };

#define FD_HIGH 64

/* Into the sandbox's network, an empty root, an own uid; nothing else. */
static bool drop(uid_t uid, const char *empty)
{
	struct __user_cap_header_struct h = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}, {0}}, got[2];

	if (setns(FD_NET, CLONE_NEWNET) < 0 || close(FD_NET) < 0 ||
	    chdir(empty) < 0 || chroot(".") < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0 ||
	    syscall(SYS_capset, &h, none) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return false;
	return getuid() == uid && syscall(SYS_capget, &h, got) == 0 &&
	       memcmp(none, got, sizeof(none)) == 0;
}

static void on_listen(void *arg, uint32_t events)
{
	(void)events;
	client_accept(arg);
}

static void set_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
#ifndef __SANITIZE_ADDRESS__ /* which maps terabytes */
	struct rlimit data = {KEEPER_DATA_MAX, KEEPER_DATA_MAX};

	setrlimit(RLIMIT_DATA, &data);
#endif
}

/* Its memory is not counted as its sandbox's, but is bounded by that. */
static void bound_memory(const struct usage_fds *u)
{
#ifndef __SANITIZE_ADDRESS__
	uint64_t most = usage_memory_limit(u) / 2;

	if (most == 0 || most >= KEEPER_DATA_MAX)
		return;
	if (most < KEEPER_DATA_LEAST)
		most = KEEPER_DATA_LEAST;
	setrlimit(RLIMIT_DATA, &(struct rlimit){most, most});
#else
	(void)u;
#endif
}

/* Out of the way of what comes with the seat. */
static int open_null(void)
{
	OWN(own_fd) int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	return fcntl(fd, F_DUPFD_CLOEXEC, FD_HIGH);
}

static void cloexec_all(void)
{
	for (int fd = FD_LISTEN; fd < FD_USAGE + USAGE_COUNT; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static bool open_all(struct keeper *k)
{
	struct errinfo e;

	if (loop_open(&k->loop, &e) == ERR_NONE &&
	    loop_add(&k->loop, &k->listen, FD_LISTEN, EPOLLIN, on_listen, k,
		     &e) == ERR_NONE &&
	    init_link_open(k, FD_INIT, FD_PIDFD, &e) == ERR_NONE)
		return true;
	log_err("keeper", &e);
	return false;
}

/* By the command line, or by what it is told when its sandbox exists. */
static bool take_seat(struct keeper_seat *seat, int argc, char **argv,
		      const char **empty)
{
	if (argc == 3 && strcmp(argv[1], SEAT_WAITING) == 0) {
		*empty = argv[2];
		pages_map();
		if (!keeper_seat_wait(seat, FD_LISTEN))
			_exit(0); /* the broker has ended */
		memcpy(argv[1], seat->id, strlen(seat->id) + 1);
		return true;
	}
	if (argc != 6 || strlen(argv[1]) >= sizeof(seat->id) ||
	    strlen(argv[5]) >= sizeof(seat->letters))
		return false;
	*seat = (struct keeper_seat){
	    .uid = (uint32_t)strtoul(argv[2], NULL, 10),
	    .warren_uid = (uint32_t)strtoul(argv[3], NULL, 10)};
	memcpy(seat->id, argv[1], strlen(argv[1]) + 1);
	memcpy(seat->letters, argv[5], strlen(argv[5]) + 1);
	*empty = argv[4];
	cloexec_all();
	return true;
}

int main(int argc, char **argv)
{
	static struct keeper k = {.listen = LOOP_WATCH_INIT,
				  .init = LOOP_WATCH_INIT,
				  .init_end = LOOP_WATCH_INIT};
	static struct keeper_seat seat;
	const char *empty = "";

	signal(SIGPIPE, SIG_IGN);
	set_limits();
	if (argc == 3 && strcmp(argv[1], SEAT_TEMPLATE) == 0)
		keeper_template(argv);
	k.null_fd = open_null();
	if (!take_seat(&seat, argc, argv, &empty) ||
	    !usage_fds_named(&k.usage, seat.letters, FD_USAGE)) {
		fputs("warren-keeper is started by warrend\n", stderr);
		return 2;
	}
	bound_memory(&k.usage);
	log_open(seat.id, LOG_INFO);
	k.warren_uid = seat.warren_uid;
	k.since_ms = k.used_ms = clock_unix_ms();
	k.recorder_until_ms = clock_mono_ms() + KEEPER_RECORDER_COMES_MS;
	if (k.null_fd < 0 || !drop(seat.uid, empty)) {
		log_line(LOG_ERROR, "keeper cannot drop its powers");
		return 1;
	}
	if (!open_all(&k))
		return 1;
	loop_run(&k.loop);
	return 0;
}

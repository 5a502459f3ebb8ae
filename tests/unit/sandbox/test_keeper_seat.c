/* Parcels between our own processes, and keepers that wait for a seat. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/child.h"
#include "sandbox/keeper_seat.h"

struct pair {
	int fd[2];
};

static int pair_setup(void **state)
{
	static struct pair p;

	*state = &p;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p.fd);
}

static int pair_teardown(void **state)
{
	struct pair *p = *state;

	close(p->fd[0]);
	close(p->fd[1]);
	return 0;
}

#define PTEST(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)

static ino_t inode(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static void a_parcel_comes_whole_with_its_descriptors(void **state)
{
	struct pair *p = *state;
	struct parcel_fds out = {{p->fd[0], p->fd[1]}, 2}, in;
	char text[8] = "";

	assert_true(parcel_send(p->fd[0], "parcel!", 8, &out, 0));
	assert_true(parcel_receive(p->fd[1], text, sizeof(text), &in, 0));
	assert_string_equal(text, "parcel!");
	assert_int_equal(in.n, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(inode(in.at[i]), inode(p->fd[i]));
		assert_int_equal(fcntl(in.at[i], F_GETFD), FD_CLOEXEC);
	}
	parcel_close(&in);
}

static void a_parcel_of_another_size_is_refused_and_leaks_nothing(void **state)
{
	struct pair *p = *state;
	struct parcel_fds out = {{p->fd[0]}, 1}, in;
	int next = dup(0);
	char text[8];

	close(next);
	for (size_t size = 0; size < 12; size++) {
		if (size == sizeof(text))
			continue;
		assert_true(
		    parcel_send(p->fd[0], "twelve bytes", size, &out, 0));
		assert_false(
		    parcel_receive(p->fd[1], text, sizeof(text), &in, 0));
		assert_int_equal(errno, size == 0 ? ECONNRESET : EPROTO);
		assert_int_equal(in.n, 0);
		assert_int_equal(fcntl(next, F_GETFD), -1);
	}
}

static void nothing_there_is_told_from_nobody_there(void **state)
{
	struct pair *p = *state;
	struct parcel_fds in;
	char text[8];

	assert_false(
	    parcel_receive(p->fd[1], text, sizeof(text), &in, MSG_DONTWAIT));
	assert_int_equal(errno, EAGAIN);
	shutdown(p->fd[0], SHUT_WR);
	assert_false(parcel_receive(p->fd[1], text, sizeof(text), &in, 0));
	assert_int_equal(errno, ECONNRESET);
}

/* A child of ours that waits for nothing: any keeper that has died while it
 * waited for its seat. */
static void a_keeper_that_died_is_passed_over(void **state)
{
	struct keeper_pool pool = {.nready = 0};
	const struct keeper_seat seat = {.id = "s000000123456789abcdef"};
	const struct parcel_fds none = {.n = 0};
	struct keeper_waiting w;
	struct pair *p = *state;
	siginfo_t si;
	pid_t pid;
	int pidfd;

	w.pid = child_fork(&w.pidfd);
	if (w.pid == 0)
		_exit(0);
	w.socket = p->fd[0];
	p->fd[0] = -1; /* closed with it */
	shutdown(p->fd[1], SHUT_RDWR);
	assert_int_equal(waitid(P_PIDFD, (id_t)w.pidfd, &si, WEXITED | WNOWAIT),
			 0);
	keeper_seat_add(&pool, &w);
	assert_int_equal(pool.nready, 1);
	assert_false(keeper_seat_give(&pool, &seat, &none, &pid, &pidfd));
	assert_int_equal(pool.nready, 0);
	assert_int_equal(waitpid(w.pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void the_seat_goes_to_the_one_that_waits(void **state)
{
	struct pair *p = *state;
	struct keeper_pool pool = {
	    .ready = {{.pid = 4711, .pidfd = 4712, .socket = p->fd[0]}},
	    .nready = 1};
	const struct keeper_seat seat = {
	    .id = "s000000123456789abcdef", .uid = 7, .letters = "om"};
	const struct parcel_fds fds = {{p->fd[1]}, 1};
	struct keeper_seat got;
	struct parcel_fds in;
	int pidfd;
	pid_t pid;

	assert_true(keeper_seat_give(&pool, &seat, &fds, &pid, &pidfd));
	assert_int_equal(pid, 4711);
	assert_int_equal(pidfd, 4712);
	assert_true(parcel_receive(p->fd[1], &got, sizeof(got), &in, 0));
	assert_memory_equal(&got, &seat, sizeof(seat));
	assert_int_equal(in.n, 1);
	parcel_close(&in);
	assert_false(keeper_seat_give(&pool, &seat, &fds, &pid, &pidfd));
	p->fd[0] = dup(p->fd[1]); /* the other one was closed by giving */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    PTEST(a_parcel_comes_whole_with_its_descriptors),
	    PTEST(a_parcel_of_another_size_is_refused_and_leaks_nothing),
	    PTEST(nothing_there_is_told_from_nobody_there),
	    PTEST(the_seat_goes_to_the_one_that_waits),
	    PTEST(a_keeper_that_died_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

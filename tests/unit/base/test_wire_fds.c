/* wire: descriptors arrive in order with their frame, and none leaks. */
#include "tests/unit/base/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/wire.h"

struct pair {
	int a;
	int b;
};

static void pair_open(struct pair *p)
{
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s),
			 0);
	p->a = s[0];
	p->b = s[1];
}

static void pair_close(struct pair *p)
{
	own_fd(&p->a);
	own_fd(&p->b);
}

/* A descriptor that can be told from others: a file of ${n} bytes. */
static int marked_fd(int n)
{
	int fd = memfd_create("mark", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, n), 0);
	return fd;
}

static int mark_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (int)st.st_size;
}

static enum err take(struct wire_rx *rx, int fd, struct wire_msg **m)
{
	struct errinfo e;

	return wire_recv(rx, fd, -1, clock_mono_ms() + 2000, m, &e);
}

/* Bytes and descriptors as a hostile peer may send them. */
static void put_raw_fds(int fd, const void *p, size_t len, const int *fds,
			size_t n)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * 64)];
	} control;
	struct iovec v;
	struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
	struct cmsghdr *c;

	memcpy(&v.iov_base, &p, sizeof(p));
	v.iov_len = len;
	memset(&control, 0, sizeof(control));
	h.msg_control = &control;
	h.msg_controllen = CMSG_SPACE(sizeof(int) * n);
	c = CMSG_FIRSTHDR(&h);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
	assert_int_equal(sendmsg(fd, &h, MSG_NOSIGNAL), len);
}

static void descriptors_come_in_order_with_their_frames(void **state)
{
	OWN(pair_close) struct pair p = {-1, -1};
	OWN(wire_tx_free) struct wire_tx tx;
	OWN(wire_rx_free) struct wire_rx rx;
	struct errinfo e;
	int mark = 0;

	(void)state;
	pair_open(&p);
	wire_tx_init(&tx, 10000);
	wire_rx_init(&rx, 100);
	for (int i = 0; i < 10; i++) {
		OWN(buf_free) struct buf b = BUF_INIT(100);
		int fds[WIRE_FDS_MAX], n = i % (WIRE_FDS_MAX + 1);

		wire_str(&b, "payload");
		for (int j = 0; j < n; j++)
			fds[j] = marked_fd(++mark);
		assert_int_equal(
		    wire_tx_put_fds(&tx, (uint16_t)i, 1, &b, fds, n, &e),
		    ERR_NONE);
	}
	assert_int_equal(wire_tx_flush(&tx, p.a, &e), ERR_NONE);
	assert_int_equal(tx.nmarks, 0);
	mark = 0;
	for (int i = 0; i < 10; i++) {
		struct wire_msg *m;

		assert_int_equal(take(&rx, p.b, &m), ERR_NONE);
		assert_int_equal(m->type, i);
		assert_int_equal(m->nfds, i % (WIRE_FDS_MAX + 1));
		for (int j = 0; j < m->nfds; j++) {
			assert_int_equal(mark_of(m->fds[j]), ++mark);
			assert_int_equal(fcntl(m->fds[j], F_GETFD), FD_CLOEXEC);
		}
		for (int j = m->nfds; j < WIRE_FDS_MAX; j++)
			assert_int_equal(m->fds[j], -1);
	}
}

static void a_taken_descriptor_stays_open_and_others_are_closed(void **state)
{
	OWN(pair_close) struct pair p = {-1, -1};
	OWN(wire_rx_free) struct wire_rx rx;
	OWN(own_fd) int kept = -1;
	struct wire_msg *m;
	struct errinfo e;
	int fds[2], before;

	(void)state;
	pair_open(&p);
	wire_rx_init(&rx, 100);
	before = unit_fds();
	fds[0] = marked_fd(11);
	fds[1] = marked_fd(12);
	assert_int_equal(wire_send_fds(p.a, 1, 1, NULL,
				       (struct wire_fds){fds, 2},
				       clock_mono_ms() + 1000, &e),
			 ERR_NONE);
	own_fd(&fds[0]); /* wire_send_fds leaves them to the caller */
	own_fd(&fds[1]);
	assert_int_equal(take(&rx, p.b, &m), ERR_NONE);
	kept = STEAL_FD(m->fds[1]);
	assert_int_equal(wire_rx_next(&rx, &m, &e), ERR_NONE);
	assert_null(m);
	assert_int_equal(unit_fds(), before + 1);
	assert_int_equal(mark_of(kept), 12);
}

static void descriptors_nobody_took_do_not_outlive_the_reader(void **state)
{
	OWN(pair_close) struct pair p = {-1, -1};
	int before, fds[3];

	(void)state;
	pair_open(&p);
	before = unit_fds();
	for (int i = 0; i < 3; i++)
		fds[i] = marked_fd(i);
	{
		OWN(wire_rx_free) struct wire_rx rx;
		struct wire_msg *m;
		struct errinfo e;
		bool more;

		wire_rx_init(&rx, 100);
		/* One frame given out, one in the queue, half of a third. */
		for (int i = 0; i < 2; i++)
			assert_int_equal(
			    wire_send_fds(p.a, 1, 1, NULL,
					  (struct wire_fds){&fds[i], 1},
					  CLOCK_NEVER, &e),
			    ERR_NONE);
		put_raw_fds(p.a, "half", 4, &fds[2], 1);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(wire_rx_fill(&rx, p.b, &more, &e),
					 ERR_NONE);
			assert_true(more);
		}
		assert_int_equal(wire_rx_next(&rx, &m, &e), ERR_NONE);
		assert_int_equal(unit_fds(), before + 6);
	}
	for (int i = 0; i < 3; i++)
		own_fd(&fds[i]);
	assert_int_equal(unit_fds(), before);
}

static void descriptors_that_never_went_out_are_closed(void **state)
{
	int before = unit_fds();

	(void)state;
	{
		OWN(wire_tx_free) struct wire_tx tx;
		int fds[2] = {marked_fd(1), marked_fd(2)};
		struct errinfo e;

		wire_tx_init(&tx, 1000);
		assert_int_equal(wire_tx_put_fds(&tx, 1, 1, NULL, fds, 2, &e),
				 ERR_NONE);
	}
	assert_int_equal(unit_fds(), before);
}

static void after_a_failed_put_descriptors_are_still_the_caller_s(void **state)
{
	int before = unit_fds();

	(void)state;
	{
		OWN(wire_tx_free) struct wire_tx tx;
		OWN(buf_free) struct buf big = BUF_INIT(2000);
		OWN(buf_free) struct buf bad = BUF_INIT(0);
		OWN(own_fd) int fd = marked_fd(1);
		struct errinfo e;

		wire_tx_init(&tx, 1000);
		buf_addf(&big, "%*d", 1500, 1);
		wire_u8(&bad, 1);
		assert_int_equal(wire_tx_put_fds(&tx, 1, 1, &bad, &fd, 1, &e),
				 ERR_ARG);
		assert_int_equal(wire_tx_put_fds(&tx, 1, 1, &big, &fd, 1, &e),
				 ERR_LIMIT);
		assert_int_equal(tx.nmarks, 0);
		assert_int_equal(mark_of(fd), 1);
	}
	assert_int_equal(unit_fds(), before);
}

static void too_many_descriptors_in_the_queue_are_a_limit(void **state)
{
	OWN(wire_tx_free) struct wire_tx tx;
	struct errinfo e;

	(void)state;
	wire_tx_init(&tx, 10000);
	for (int i = 0; i < WIRE_FDS_QUEUE; i++) {
		int fd = marked_fd(i);

		assert_int_equal(wire_tx_put_fds(&tx, 1, 1, NULL, &fd, 1, &e),
				 ERR_NONE);
	}
	{
		OWN(own_fd) int fd = marked_fd(1);

		assert_int_equal(wire_tx_put_fds(&tx, 1, 1, NULL, &fd, 1, &e),
				 ERR_LIMIT);
	}
}

static void a_flood_of_descriptors_drops_the_peer_and_leaks_none(void **state)
{
	OWN(pair_close) struct pair p = {-1, -1};
	int before;

	(void)state;
	pair_open(&p);
	before = unit_fds();
	for (size_t n = WIRE_FDS_QUEUE - 1; n < 60; n++) {
		OWN(wire_rx_free) struct wire_rx rx;
		struct errinfo e;
		int fd = marked_fd(3), fds[64];
		enum err r = ERR_NONE;
		bool more = true;

		wire_rx_init(&rx, 100);
		for (size_t i = 0; i < n; i++)
			fds[i] = fd;
		put_raw_fds(p.a, "x", 1, fds, n);
		put_raw_fds(p.a, "x", 1, fds, 1);
		own_fd(&fd);
		while (r == ERR_NONE && more)
			r = wire_rx_fill(&rx, p.b, &more, &e);
		assert_int_equal(r,
				 n == WIRE_FDS_QUEUE - 1 ? ERR_NONE : ERR_PEER);
		wire_rx_free(&rx);
		while (recv(p.b, &fd, 1, MSG_DONTWAIT) > 0)
			continue;
		assert_int_equal(unit_fds(), before);
	}
}

static void one_descriptor_less_than_said_drops_the_peer(void **state)
{
	OWN(pair_close) struct pair p = {-1, -1};
	OWN(buf_free) struct buf b = BUF_INIT(100);
	int before;

	(void)state;
	pair_open(&p);
	before = unit_fds();
	wire_u32(&b, 0);
	wire_u16(&b, 1);
	wire_u16(&b, 2);
	wire_u32(&b, 0);
	wire_u32(&b, 0);
	{
		OWN(wire_rx_free) struct wire_rx rx;
		OWN(own_fd) int fd = marked_fd(1);
		struct wire_msg *m;

		wire_rx_init(&rx, 100);
		put_raw_fds(p.a, b.data, b.len, &fd, 1);
		assert_int_equal(take(&rx, p.b, &m), ERR_PEER);
	}
	assert_int_equal(unit_fds(), before);
}

static void a_full_queue_of_callers_is_waited_for_and_then_told(void **state)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	OWN(own_fd) int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fds[8], n = 0, before;
	struct errinfo e;
	enum err r;

	(void)state;
	snprintf(a.sun_path, sizeof(a.sun_path), "/tmp/unit-wire-%d.sock",
		 (int)getpid());
	assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(wire_connect(a.sun_path, &fds[0], &e),
			 ERR_NOT_FOUND); /* nobody listens yet */
	assert_int_equal(listen(s, 1), 0);
	before = unit_fds();
	while ((r = wire_connect(a.sun_path, &fds[n], &e)) == ERR_NONE) {
		assert_true(fcntl(fds[n], F_GETFL) & O_NONBLOCK);
		assert_int_equal(fcntl(fds[n], F_GETFD), FD_CLOEXEC);
		n++;
		assert_true(n < 8);
	}
	assert_int_equal(r, ERR_TIMEOUT);
	unlink(a.sun_path);
	assert_int_equal(unit_fds(), before + n);
	while (n > 0)
		own_fd(&fds[--n]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(descriptors_come_in_order_with_their_frames),
	    cmocka_unit_test(
		a_taken_descriptor_stays_open_and_others_are_closed),
	    cmocka_unit_test(descriptors_nobody_took_do_not_outlive_the_reader),
	    cmocka_unit_test(descriptors_that_never_went_out_are_closed),
	    cmocka_unit_test(
		after_a_failed_put_descriptors_are_still_the_caller_s),
	    cmocka_unit_test(too_many_descriptors_in_the_queue_are_a_limit),
	    cmocka_unit_test(
		a_flood_of_descriptors_drops_the_peer_and_leaks_none),
	    cmocka_unit_test(one_descriptor_less_than_said_drops_the_peer),
	    cmocka_unit_test(
		a_full_queue_of_callers_is_waited_for_and_then_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

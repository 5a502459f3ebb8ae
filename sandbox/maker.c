#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/maker.h"

#define WAIT_LIMIT_MS 1000
#define FDS_MAX 3

enum maker_kind { MAKER_BERTH = 1, MAKER_DISK };
enum { FD_SOCKET = 3, FD_IMAGES }; /* the child's */

/* An order, and the same with descriptors as its answer. */
struct order {
	uint32_t kind;       /* enum maker_kind */
	uint32_t slot;       /* MAKER_BERTH */
	uint32_t generation; /* MAKER_DISK: of what limits */
	uint32_t err;
};

struct parcel {
	struct order order;
	int fds[FDS_MAX];
	int nfds;
};

static bool parcel_send(int to, const struct parcel *p, int flags)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * FDS_MAX)];
	} control = {.room = {0}};
	struct order order = p->order;
	struct iovec io = {.iov_base = &order, .iov_len = sizeof(order)};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
	size_t bytes = sizeof(int) * (size_t)p->nfds;

	if (p->nfds > 0) {
		m.msg_control = control.room;
		m.msg_controllen = CMSG_SPACE(bytes);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(&control.head), p->fds, bytes);
	}
	return sendmsg(to, &m, MSG_NOSIGNAL | flags) == sizeof(order);
}

/* False: nothing there (errno EAGAIN), or the other end is gone. */
static bool parcel_receive(int from, struct parcel *p, int flags)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * FDS_MAX)];
	} control;
	struct iovec io = {.iov_base = &p->order, .iov_len = sizeof(p->order)};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control.room,
			   .msg_controllen = sizeof(control.room)};
	struct cmsghdr *c;
	ssize_t n;

	do {
		n = recvmsg(from, &m, MSG_CMSG_CLOEXEC | flags);
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		errno = ECONNRESET;
	if (n != sizeof(p->order))
		return false;
	p->nfds = 0;
	c = CMSG_FIRSTHDR(&m);
	if (c != NULL && c->cmsg_type == SCM_RIGHTS) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		memcpy(p->fds, CMSG_DATA(c), bytes);
		p->nfds = (int)(bytes / sizeof(int));
	}
	return true;
}

static void parcel_close(struct parcel *p)
{
	for (int i = 0; i < p->nfds; i++)
		own_fd(&p->fds[i]);
	p->nfds = 0;
}

/* ---- the child ---- */

static enum err make_berth(struct parcel *p, struct errinfo *e)
{
	struct berth b;
	enum err r = berth_make(p->order.slot, &b, e);

	if (r == ERR_NONE)
		*p = (struct parcel){.order = p->order,
				     .fds = {b.user_ns, b.disk_ns, b.net_ns},
				     .nfds = 3};
	return r;
}

/* The order has the template. */
static enum err make_disk(struct parcel *p, struct errinfo *e)
{
	struct disk_spare s;
	enum err r;

	if (p->nfds != 1)
		return err_set(e, ERR_ARG, 0, "no template");
	r = disk_spare_make(FD_IMAGES, p->fds[0], &s, e);
	parcel_close(p);
	if (r == ERR_NONE)
		*p = (struct parcel){
		    .order = p->order, .fds = {s.image, s.mount}, .nfds = 2};
	return r;
}

noreturn static void maker_main(int socket_fd, int images)
{
	struct parcel p;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "warrend-maker");
	/* Both above what they are put over. */
	if (dup2(socket_fd, FD_SOCKET) < 0 || dup2(images, FD_IMAGES) < 0 ||
	    close_range(FD_IMAGES + 1, ~0U, 0) < 0)
		_exit(1);
	while (parcel_receive(FD_SOCKET, &p, 0)) {
		struct errinfo e;
		enum err r = p.order.kind == MAKER_BERTH ? make_berth(&p, &e)
							 : make_disk(&p, &e);

		if (r != ERR_NONE)
			log_err("maker", &e);
		p.order.err = r;
		if (!parcel_send(FD_SOCKET, &p, 0))
			break;
		parcel_close(&p);
	}
	_exit(0);
}

/* ---- the broker's side ---- */

static void forget(struct maker *m)
{
	loop_del(&m->broker->loop, &m->watch);
	close(m->watch.fd);
	m->watch.fd = -1;
	for (int i = 0; i < m->nslots; i++)
		berth_free_slot(&m->broker->berths, m->slots[i]);
	m->nslots = m->ndisks = 0;
	waitpid(m->pid, NULL, 0);
	m->pid = 0;
}

void maker_stop(struct maker *m)
{
	if (m->pid == 0)
		return;
	kill(m->pid, SIGKILL);
	forget(m);
}

static void take_berth(struct maker *m, struct parcel *p)
{
	struct berth_pool *pool = &m->broker->berths;
	struct berth b = {.slot = p->order.slot};
	int i = 0;

	while (i < m->nslots && m->slots[i] != b.slot)
		i++;
	must(i < m->nslots);
	m->slots[i] = m->slots[--m->nslots];
	if (p->order.err != ERR_NONE || p->nfds != 3) {
		berth_free_slot(pool, b.slot);
		return;
	}
	b.user_ns = p->fds[0];
	b.disk_ns = p->fds[1];
	b.net_ns = p->fds[2];
	p->nfds = 0;
	berth_give(pool, &b);
}

static void take_disk(struct maker *m, struct parcel *p)
{
	struct disk_spares *spares = &m->broker->disks.spares;
	struct disk_spare s;

	m->ndisks--;
	if (p->order.err != ERR_NONE || p->nfds != 2)
		return;
	s = (struct disk_spare){.image = p->fds[0], .mount = p->fds[1]};
	p->nfds = 0;
	disk_spare_give(spares, &s, p->order.generation);
}

static bool take_one(struct maker *m)
{
	struct parcel p = {.nfds = 0};

	if (!parcel_receive(m->watch.fd, &p, MSG_DONTWAIT)) {
		if (errno != EAGAIN) {
			log_line(LOG_ERROR, "the maker ended");
			maker_stop(m);
		}
		return false;
	}
	if (p.order.kind == MAKER_BERTH)
		take_berth(m, &p);
	else
		take_disk(m, &p);
	parcel_close(&p);
	return true;
}

static void on_parcel(void *arg, uint32_t events)
{
	struct maker *m = arg;

	(void)events;
	while (m->pid != 0 && take_one(m))
		continue;
}

static void start(struct maker *m)
{
	int fds[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return;
	pid = fork();
	if (pid == 0)
		maker_main(fds[1], m->broker->sandboxes);
	close(fds[1]);
	m->watch.fd = -1;
	if (pid < 0 || loop_add(&m->broker->loop, &m->watch, fds[0], EPOLLIN,
				on_parcel, m, NULL) != ERR_NONE) {
		close(fds[0]);
		return;
	}
	m->pid = pid;
}

static bool ask(struct maker *m, const struct parcel *p)
{
	return parcel_send(m->watch.fd, p, MSG_DONTWAIT);
}

static void ask_berths(struct maker *m)
{
	struct berth_pool *pool = &m->broker->berths;

	while (pool->nready + m->nslots < pool->keep &&
	       m->nslots < MAKER_ASKED_MAX) {
		struct parcel p = {.order = {.kind = MAKER_BERTH}};

		if (!berth_claim(pool, &p.order.slot))
			return;
		if (!ask(m, &p)) {
			berth_free_slot(pool, p.order.slot);
			return;
		}
		m->slots[m->nslots++] = p.order.slot;
	}
}

static void ask_disks(struct maker *m)
{
	struct disk_spares *s = &m->broker->disks.spares;

	while (s->template_fd >= 0 && s->nready + m->ndisks < DISK_SPARES) {
		struct parcel p = {
		    .order = {.kind = MAKER_DISK, .generation = s->generation},
		    .fds = {s->template_fd},
		    .nfds = 1};

		if (!ask(m, &p))
			return;
		m->ndisks++;
	}
}

void maker_refill(struct maker *m)
{
	if (m->pid == 0)
		start(m);
	if (m->pid == 0) {
		(void)disk_spare_refill(&m->broker->disks.spares);
		return;
	}
	ask_berths(m);
	ask_disks(m);
}

static bool lacking(const struct maker *m, bool disk)
{
	const struct broker *b = m->broker;

	return (b->berths.nready == 0 && m->nslots > 0) ||
	       (disk && b->disks.spares.nready == 0 && m->ndisks > 0);
}

void maker_wait(struct maker *m, bool disk)
{
	int64_t deadline = clock_mono_ms() + WAIT_LIMIT_MS;

	while (m->pid != 0 && lacking(m, disk)) {
		struct pollfd p = {.fd = m->watch.fd, .events = POLLIN};

		if (poll(&p, 1, clock_left_ms(deadline)) == 0)
			return;
		take_one(m);
	}
}

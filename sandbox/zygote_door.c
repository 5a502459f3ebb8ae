/* R/fork.sock: workers' requests, each checked whole, to a zygote and back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/init_msg.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/inject.h"
#include "sandbox/live.h"
#include "sandbox/zygote.h"
#include "sandbox/zygote_line.h"

#define DOORS_MAX 256
#define ASK_LIMIT_MS 2000  /* to say what is wanted */
#define FORK_LIMIT_MS 3000 /* to get it */

/* One connection, and so one request. */
struct zygote_door {
	struct zygotes *all;
	struct loop_watch watch;
	struct loop_timer timer;
	struct zygote *zygote; /* NULL: nothing was asked yet */
	uint64_t serial;
	bool forked;
	bool entered;
	uint32_t pid;
	int listener;    /* of the child's filter, or -1 */
	id_sandbox_t id; /* whose sandbox */
	struct zygote_door *next;
};

static void door_close(struct zygote_door *d)
{
	struct zygote_door **p = &d->all->doors;
	struct loop *loop = &d->all->broker->loop;
	int fd = d->watch.fd;

	loop_del(loop, &d->watch);
	loop_timer_del(loop, &d->timer);
	close(fd);
	own_fd(&d->listener);
	while (*p != d)
		p = &(*p)->next;
	*p = d->next;
	d->all->ndoors--;
	free(d);
}

static void door_answer(struct zygote_door *d, enum err code, uint32_t step)
{
	struct fork_reply r = {.magic = FORK_MAGIC,
			       .err = code,
			       .pid = code == ERR_NONE ? d->pid : 0,
			       .step = step};

	fork_reply_send(d->watch.fd, &r, code == ERR_NONE ? d->listener : -1);
	door_close(d);
}

/* A child may be slow for its sandbox's sake, its zygote may not. */
static void on_limit(void *arg)
{
	struct zygote_door *d = arg;

	if (d->zygote != NULL && !d->forked)
		zygote_stuck(d->zygote);
	door_answer(d, ERR_TIMEOUT, 0);
}

/* Who asked for what ${z} answers; NULL: it was given up meanwhile. */
static struct zygote_door *door_of(const struct zygotes *all,
				   const struct zygote *z,
				   const struct zygote_say *s)
{
	struct zygote_door *d = all->doors;

	while (d != NULL && (d->zygote != z || d->serial != s->serial))
		d = d->next;
	return d;
}

bool zygote_door_lives(const struct zygotes *all, const struct zygote *z,
		       const struct zygote_say *s)
{
	const struct zygote_door *d = door_of(all, z, s);
	const struct live *l = d != NULL ? live_find(all->broker, d->id) : NULL;

	return l != NULL && l->state == LIVE_RUNNING;
}

void zygote_door_said(struct zygotes *all, const struct zygote *z,
		      const struct zygote_say *s, int *listener)
{
	struct zygote_door *d = door_of(all, z, s);

	if (d == NULL)
		return; /* given up meanwhile */
	if (s->what == ZYGOTE_FAILED) {
		door_answer(d, ERR_IO, s->step);
		return;
	}
	if (s->what == ZYGOTE_LISTENER) {
		own_fd(&d->listener);
		d->listener = STEAL_FD(*listener);
		return;
	}
	if (s->what == ZYGOTE_FORKED)
		d->forked = true;
	else
		d->entered = true;
	d->pid = s->pid;
	if (d->forked && d->entered)
		door_answer(d, ERR_NONE, 0);
}

void zygote_door_lost(struct zygotes *all, const struct zygote *z)
{
	for (struct zygote_door *d = all->doors, *next; d != NULL; d = next) {
		next = d->next;
		if (d->zygote == z)
			door_answer(d, ERR_IO, 0);
	}
}

/* ---- requests ---- */

static bool padded(const char *s, size_t size, const char *chars)
{
	size_t n = strnlen(s, size);

	if (n == 0 || n == size || strspn(s, chars) != n)
		return false;
	while (n < size)
		if (s[n++] != '\0')
			return false;
	return true;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyz"

static bool request_ok(const struct fork_req *r)
{
	return r->magic == FORK_MAGIC && r->user <= INIT_USER_SANDBOX &&
	       padded(r->id, sizeof(r->id), LETTERS "0123456789") &&
	       id_sandbox_ok(r->id) &&
	       padded(r->image, sizeof(r->image), LETTERS "0123456789-") &&
	       padded(r->language, sizeof(r->language), LETTERS);
}

/* stdin, two ends of pipes for output, a stream socket for control. */
static bool fds_ok(const int fds[FORK_FDS])
{
	struct stat st;
	int type = 0, domain = 0;
	socklen_t n = sizeof(int);

	for (int i = 0; i < 3; i++)
		if (fstat(fds[i], &st) < 0 ||
		    !(S_ISFIFO(st.st_mode) || (i == 0 && S_ISCHR(st.st_mode))))
			return false;
	return getsockopt(fds[3], SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 &&
	       getsockopt(fds[3], SOL_SOCKET, SO_TYPE, &type, &n) == 0 &&
	       domain == AF_UNIX && type == SOCK_STREAM;
}

static enum err ask(struct zygote *z, const struct zygote_req *req,
		    const int *fds, int nfds, struct errinfo *e)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(ZYGOTE_FDS_MAX * sizeof(int))];
	} control = {0};
	struct zygote_req copy = *req;
	struct iovec v = {.iov_base = &copy, .iov_len = sizeof(copy)};
	struct msghdr m = {
	    .msg_iov = &v,
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int))};

	must(nfds <= ZYGOTE_FDS_MAX);
	control.head = (struct cmsghdr){
	    .cmsg_level = SOL_SOCKET,
	    .cmsg_type = SCM_RIGHTS,
	    .cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int)),
	};
	memcpy(CMSG_DATA(&control.head), fds, (size_t)nfds * sizeof(int));
	if (sendmsg(z->say.fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof(copy))
		return err_set(e, ERR_IO, errno, "zygote");
	return ERR_NONE;
}

static enum err door_fork(struct zygote_door *d, const struct fork_req *req,
			  const int fds[FORK_FDS], struct errinfo *e)
{
	struct broker *b = d->all->broker;
	const struct live *l = live_find(b, req->id);
	struct zygote *z = zygote_find(d->all, req->image, req->language);
	struct zygote_req ask_for = {.magic = ZYGOTE_MAGIC, .user = req->user};
	int all[ZYGOTE_FDS_MAX], n = 0;
	enum err r;

	if (l == NULL || l->state != LIVE_RUNNING || z == NULL)
		return err_set(e, ERR_STATE, 0, "no zygote, or no sandbox");
	r = cgroup_enter_files(&b->cgroups, l->id, all + 1 + FORK_FDS, &n, e);
	if (r != ERR_NONE)
		return r;
	all[0] = l->init.pidfd;
	memcpy(all + 1, fds, FORK_FDS * sizeof(int));
	memcpy(ask_for.language, req->language, sizeof(ask_for.language));
	ask_for.serial = ++d->all->serial;
	ask_for.user |= inject_enter() << ZYGOTE_BROKEN_SHIFT;
	r = ask(z, &ask_for, all, 1 + FORK_FDS + n, e);
	for (int i = 0; i < n; i++)
		close(all[1 + FORK_FDS + i]);
	if (r != ERR_NONE)
		return r;
	d->zygote = z;
	d->serial = ask_for.serial;
	memcpy(d->id, l->id, sizeof(d->id));
	zygote_used(z);
	return ERR_NONE;
}

struct door_msg {
	struct fork_req req;
	int fds[FORK_FDS];
};

static void door_msg_close(struct door_msg *m)
{
	for (int i = 0; i < FORK_FDS; i++)
		own_fd(&m->fds[i]);
}

/* One datagram with exactly the agreed descriptors; else false. */
static bool door_receive(int fd, struct door_msg *out)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(FORK_FDS * sizeof(int))];
	} control;
	struct iovec v = {.iov_base = &out->req, .iov_len = sizeof(out->req)};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);
	size_t got = 0;

	if (c != NULL && c->cmsg_level == SOL_SOCKET &&
	    c->cmsg_type == SCM_RIGHTS) {
		got = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		must(got <= FORK_FDS);
		memcpy(out->fds, CMSG_DATA(c), got * sizeof(int));
	}
	return n == sizeof(out->req) && got == FORK_FDS &&
	       (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
	       request_ok(&out->req) && fds_ok(out->fds);
}

static void on_door(void *arg, uint32_t events)
{
	OWN(door_msg_close) struct door_msg m = {.fds = {-1, -1, -1, -1}};
	struct zygote_door *d = arg;
	struct errinfo e;
	enum err r;

	(void)events;
	if (d->zygote != NULL || !door_receive(d->watch.fd, &m)) {
		door_close(d); /* it left, or is none of ours */
		return;
	}
	r = door_fork(d, &m.req, m.fds, &e);
	if (r == ERR_NONE)
		loop_timer_set(&d->all->broker->loop, &d->timer,
			       clock_mono_ms() + FORK_LIMIT_MS, on_limit, d);
	else
		door_answer(d, r, 0);
}

static bool door_allowed(const struct broker *b, int fd)
{
	struct ucred c;
	socklen_t len = sizeof(c);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) == 0 &&
	       (c.uid == 0 || c.uid == b->warren_uid);
}

static void on_listen(void *arg, uint32_t events)
{
	struct zygotes *all = arg;
	OWN(own_fd)
	int fd = accept4(all->listen.fd, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct zygote_door *d;

	(void)events;
	if (fd < 0 || all->ndoors >= DOORS_MAX ||
	    !door_allowed(all->broker, fd))
		return;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return;
	d->all = all;
	d->listener = -1;
	d->watch.fd = -1;
	if (loop_add(&all->broker->loop, &d->watch, fd, EPOLLIN, on_door, d,
		     NULL) != ERR_NONE) {
		free(d);
		return;
	}
	STEAL_FD(fd);
	d->next = all->doors;
	all->doors = d;
	all->ndoors++;
	loop_timer_set(&all->broker->loop, &d->timer,
		       clock_mono_ms() + ASK_LIMIT_MS, on_limit, d);
}

enum err zygote_door_open(struct zygotes *all, int listen_fd, struct errinfo *e)
{
	enum err r;

	all->listen.fd = -1;
	r = loop_add(&all->broker->loop, &all->listen, listen_fd, EPOLLIN,
		     on_listen, all, e);
	if (r != ERR_NONE)
		own_fd(&listen_fd);
	return r;
}

void zygote_door_close(struct zygotes *all)
{
	int fd = all->listen.fd;

	while (all->doors != NULL)
		door_close(all->doors);
	loop_del(&all->broker->loop, &all->listen);
	own_fd(&fd);
}

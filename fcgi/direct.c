#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/direct.h"
#include "fcgi/launch.h"
#include "fcgi/pool.h"

#define RING_BYTES 16384U
#define END_WAIT_MS 5000
#define PIPE_USUAL (64U << 10)
#define PIPE_IN_MAX (256U << 10)
#define PIPE_OUT_MAX (1U << 20) /* of a file's own pages, mostly */
#define SOON_MS 200 /* who waits longer is none of the quick calls */

struct pipe {
	int r;
	int w;
};

static void pipe_close(struct pipe *p)
{
	own_fd(&p->r);
	own_fd(&p->w);
}

static enum err pipe_open(struct pipe *p, struct errinfo *e)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_set(e, ERR_IO, errno, "pipe");
	p->r = fd[0];
	p->w = fd[1];
	return ERR_NONE;
}

/* Our end only: each end of a pipe is an open file of its own. */
static enum err no_wait(int fd, struct errinfo *e)
{
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return err_set(e, ERR_IO, errno, "fcntl");
	return ERR_NONE;
}

enum err direct_start(struct request *rq, struct keeper_start *s,
		      struct direct *d, struct errinfo *e)
{
	OWN(pipe_close) struct pipe in = {-1, -1};
	OWN(pipe_close) struct pipe out = {-1, -1};
	id_text_t id;
	int fds[2];
	enum err r = pipe_open(&in, e);

	if (r == ERR_NONE)
		r = pipe_open(&out, e);
	if (r == ERR_NONE)
		r = no_wait(in.w, e);
	if (r == ERR_NONE)
		r = no_wait(out.r, e);
	if (r != ERR_NONE)
		return r;
	id_stamped(s->kind == EXEC_GIT ? "git" : "fs", id);
	s->id = s->id != NULL ? s->id : id;
	s->flags = KF_ATTACH | KF_STDIN_FD | KF_STDOUT_FD;
	if (!d->stays)
		s->flags |= KF_KILL_ON_CLOSE;
	s->ring_bytes = RING_BYTES;
	fds[0] = in.r;
	fds[1] = out.w;
	r = link_start(&d->link, s, fds, 2, NULL, e);
	if (r != ERR_NONE)
		return launch_full(rq, r, e);
	d->rq = rq;
	d->in = STEAL_FD(in.w);
	d->out = STEAL_FD(out.r);
	return ERR_NONE;
}

static void widen(int fd, size_t n, size_t most)
{
	if (n > PIPE_USUAL && fd >= 0 &&
	    fcntl(fd, F_SETPIPE_SZ, (int)(n < most ? n : most)) < 0)
		log_line(LOG_DEBUG, "small pipes");
}

void direct_widen_in(const struct direct *d, size_t n)
{
	widen(d->in, n, PIPE_IN_MAX);
}

void direct_widen_out(const struct direct *d, size_t n)
{
	widen(d->out, n, PIPE_OUT_MAX);
}

/* Wait until ${fd} is ready; the client may leave meanwhile. */
static enum err direct_wait(struct direct *d, int fd, short events,
			    struct errinfo *e)
{
	int64_t deadline = d->deadline_ms;
	int64_t idle = clock_mono_ms() + d->idle_ms;
	struct pollfd p[2] = {
	    {.fd = fd, .events = events},
	    {.fd = d->rq->client_fd, .events = POLLRDHUP},
	};
	int n = poll(p, 2, SOON_MS);

	if (d->idle_ms > 0 && idle < deadline)
		deadline = idle;
	if (n == 0) {
		enum err r = pool_long(d->rq, e);

		if (r != ERR_NONE)
			return r;
	}
	while (n == 0 || (n < 0 && errno == EINTR)) {
		n = poll(p, 2, clock_left_ms(deadline));
		if (n == 0)
			break;
	}
	if (n < 0)
		return err_set(e, ERR_IO, errno, "poll");
	if (n == 0)
		return err_set(e, ERR_TIMEOUT, 0, "executor");
	if (p[1].revents != 0) {
		d->rq->broken = true;
		return err_set(e, ERR_GONE, 0, "client");
	}
	return ERR_NONE;
}

enum err direct_put(struct direct *d, const void *p, size_t n,
		    struct errinfo *e)
{
	const char *at = p;
	enum err r;
	ssize_t w;

	while (n > 0 && !d->deaf) {
		w = write(d->in, at, n);
		if (w > 0) {
			at += w;
			n -= (size_t)w;
			continue;
		}
		if (w < 0 && errno == EPIPE) {
			d->deaf = true;
			break;
		}
		if (w < 0 && errno != EAGAIN && errno != EINTR)
			return err_set(e, ERR_IO, errno, "executor's stdin");
		r = direct_wait(d, d->in, POLLOUT, e);
		if (r != ERR_NONE)
			return r;
	}
	return ERR_NONE;
}

void direct_put_end(struct direct *d)
{
	own_fd(&d->in);
}

enum err direct_get(struct direct *d, void *p, size_t n, size_t *got,
		    struct errinfo *e)
{
	enum err r;
	ssize_t k;

	for (;;) {
		k = read(d->out, p, n);
		if (k >= 0) {
			*got = (size_t)k;
			return ERR_NONE;
		}
		if (errno != EAGAIN && errno != EINTR)
			return err_set(e, ERR_IO, errno, "executor's stdout");
		r = direct_wait(d, d->out, POLLIN, e);
		if (r != ERR_NONE)
			return r;
	}
}

enum err direct_get_all(struct direct *d, void *p, size_t n, struct errinfo *e)
{
	size_t have = 0;
	size_t got;
	enum err r;

	while (have < n) {
		r = direct_get(d, (char *)p + have, n - have, &got, e);
		if (r != ERR_NONE)
			return r;
		if (got == 0)
			return err_set(e, ERR_PEER, 0, "executor broke off");
		have += got;
	}
	return ERR_NONE;
}

enum err direct_end(struct direct *d, struct keeper_end *end, struct errinfo *e)
{
	int64_t deadline = clock_mono_ms() + END_WAIT_MS;
	struct link_event le;
	enum err r;

	for (;;) {
		r = link_next(&d->link, deadline, &le, e);
		if (r != ERR_NONE)
			return r;
		if (le.got == LINK_TICK)
			return err_set(e, ERR_TIMEOUT, 0, "executor's end");
		if (le.got == LINK_EVENT && le.ev.kind == EVENT_END) {
			*end = le.ev.end;
			return ERR_NONE;
		}
	}
}

void direct_close(struct direct *d)
{
	own_fd(&d->in);
	own_fd(&d->out);
	link_close(&d->link);
}

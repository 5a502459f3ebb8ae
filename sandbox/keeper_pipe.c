#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "sandbox/keeper_exec.h"
#include "sandbox/keeper_kernel.h"
#include "sandbox/keeper_pipe.h"

#define READ_BYTES 65536 /* what a pipe holds */

/*
 * A program that writes many small pieces in quick succession is read every
 * other millisecond: an event for each of them would cost more than all the
 * rest. One that does not, is read at once.
 */
#define SMALL_BYTES 1024
#define HOT_READS 16
#define HOT_WINDOW_MS 16
#define HOT_GAP_MS 4
#define COOL_MS 1
#define STDIN_WAIT_MAX (64U << 20)

static void pipe_end(struct exec_pipe *p)
{
	int fd = p->watch.fd;

	loop_timer_del(&p->exec->keeper->loop, &p->cool);
	loop_del(&p->exec->keeper->loop, &p->watch);
	own_fd(&fd);
}

/* Of ${n} bytes more, how many it may still print; the rest is dropped. */
static size_t pipe_room(struct exec *x, size_t n)
{
	uint64_t all = x->out.bytes + x->err.bytes, over;

	if ((x->flags & KF_OUTPUT_MAX) == 0 || all <= x->output_max)
		return n;
	over = all - x->output_max < n ? all - x->output_max : n;
	x->ring.dropped_bytes += over;
	exec_output_over(x);
	return n - (size_t)over;
}

bool pipe_read(struct exec_pipe *p)
{
	/* Not on the stack: with a canary against clashes each page of it is
	 * touched, and that takes longer than all else of a small command. */
	static char data[READ_BYTES];
	struct exec *x = p->exec, *to;
	ssize_t n;

	if (p->watch.fd < 0)
		return false;
	n = read(p->watch.fd, data, sizeof(data));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n <= 0) {
		pipe_end(p);
		return false;
	}
	if (x->state == EXEC_ENDED)
		return true; /* a survivor talks; nobody is meant to hear */
	p->bytes += (uint64_t)n;
	to = kernel_target(x);
	if (to != x) {
		struct exec_pipe *tp = p->kind == EVENT_OUT ? &to->out
							    : &to->err;

		tp->bytes += (uint64_t)n;
	}
	if (to == x)
		n = (ssize_t)pipe_room(x, (size_t)n);
	if (n > 0)
		exec_event(to, p->kind, data, (size_t)n);
	return true;
}

static void pipe_look(struct exec_pipe *p)
{
	bool look = !p->paused && !p->cool.armed;

	loop_mod(&p->exec->keeper->loop, &p->watch, look ? EPOLLIN : 0);
}

static void on_cool(void *arg)
{
	pipe_look(arg);
}

/* ${n} bytes more were read. */
static void pipe_cool(struct exec_pipe *p, uint64_t n)
{
	int64_t now = clock_mono_ms();

	if (n >= SMALL_BYTES || now - p->read_ms > HOT_GAP_MS ||
	    (p->reads < HOT_READS && now - p->window_ms > HOT_WINDOW_MS)) {
		p->reads = 0;
		p->window_ms = now;
	}
	p->read_ms = now;
	if (p->reads < HOT_READS) {
		p->reads++;
		return;
	}
	loop_timer_set(&p->exec->keeper->loop, &p->cool, now + COOL_MS, on_cool,
		       p);
	pipe_look(p);
}

static void on_readable(void *arg, uint32_t events)
{
	struct exec_pipe *p = arg;
	uint64_t had = p->bytes;

	(void)events;
	if (pipe_read(p) && p->watch.fd >= 0)
		pipe_cool(p, p->bytes - had);
}

enum err pipe_watch(struct exec *x, struct exec_pipe *p, int fd,
		    enum event_kind kind, struct errinfo *e)
{
	enum err r;

	p->exec = x;
	p->kind = kind;
	r = loop_add(&x->keeper->loop, &p->watch, fd, EPOLLIN, on_readable, p,
		     e);
	if (r != ERR_NONE)
		own_fd(&fd);
	return r;
}

void pipe_pause(struct exec *x, bool paused)
{
	x->out.paused = x->err.paused = paused;
	if (x->out.watch.fd >= 0)
		pipe_look(&x->out);
	if (x->err.watch.fd >= 0)
		pipe_look(&x->err);
}

static void stdin_close(struct exec *x)
{
	loop_del(&x->keeper->loop, &x->in);
	own_fd(&x->in_fd);
	buf_free(&x->in_data);
}

void pipe_close(struct exec *x)
{
	stdin_close(x);
	if (x->out.watch.fd >= 0)
		pipe_end(&x->out);
	if (x->err.watch.fd >= 0)
		pipe_end(&x->err);
}

static void on_writable(void *arg, uint32_t events)
{
	(void)events;
	pipe_write(arg);
}

void pipe_write(struct exec *x)
{
	while (x->in_fd >= 0 && x->in_data.len > 0) {
		ssize_t n = write(x->in_fd, x->in_data.data, x->in_data.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			if (x->in.fd < 0 &&
			    loop_add(&x->keeper->loop, &x->in, x->in_fd,
				     EPOLLOUT, on_writable, x,
				     NULL) != ERR_NONE)
				stdin_close(x);
			return;
		}
		if (n < 0) { /* the program does not read any more */
			stdin_close(x);
			return;
		}
		buf_drop(&x->in_data, (size_t)n);
	}
	loop_del(&x->keeper->loop, &x->in);
	if (x->in_eof)
		stdin_close(x);
}

enum err exec_stdin(struct exec *x, const void *data, size_t len, bool eof,
		    struct errinfo *e)
{
	if (x->in_fd < 0 || x->in_eof || x->state == EXEC_ENDED)
		return err_set(e, ERR_STATE, 0, "stdin is not open");
	if (len > STDIN_WAIT_MAX - x->in_data.len)
		return err_set(e, ERR_LIMIT, 0, "too much waits for stdin");
	x->in_data.max_bytes = STDIN_WAIT_MAX;
	buf_add(&x->in_data, data, len);
	if (!buf_ok(&x->in_data))
		return err_set(e, ERR_NOMEM, 0, "stdin");
	x->in_eof = eof;
	pipe_write(x);
	return ERR_NONE;
}

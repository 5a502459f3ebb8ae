#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/zygote.h"
#include "sandbox/zygote_line.h"

#define WARM_LIMIT_MS 60000
#define RETRY_MIN_MS 200
#define RETRY_MAX_MS (10 * 60 * 1000)
#define LIVED_LONG_MS 30000
#define RENEW_MS (3600 * 1000)
#define FORKS_MAX 1000
#define FAILURES_MAX 5
#define HEAR_FDS 2 /* there is room for two where one has room */

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct zygote_row {
	const char *name;
	const char *languages;
	const char *const *argv;
} rows[] = {
#define ZYGOTE(name, languages, ...) {#name, languages, ARGV(__VA_ARGS__)},
#include "sandbox/zygotes.def"
#undef ZYGOTE
};

_Static_assert(sizeof(rows) / sizeof(rows[0]) == ZYGOTE_LINES, "lines");

static void line_start(void *arg);

static void line_retry(struct zygote_line *l)
{
	struct loop *loop = &l->all->broker->loop;

	if (l->all->broker->stopping)
		return;
	loop_timer_set(loop, &l->timer, clock_mono_ms() + l->delay_ms,
		       line_start, l);
	l->delay_ms *= 2;
	if (l->delay_ms > RETRY_MAX_MS)
		l->delay_ms = RETRY_MAX_MS;
}

/* One that never gets ready is told once: an image may lack the program, and
 * then it is tried for ever. */
static void tell_end(const struct zygote *z, unsigned status)
{
	struct zygote_line *l = z->line;

	if (z->state != ZYGOTE_WARMING)
		log_line(LOG_WARN, "zygote %s (pid %d) ended with status %#x",
			 l->row->name, (int)z->pid, status);
	else if (!l->told)
		log_line(LOG_WARN,
			 "zygote %s cannot be started (status %#x): tried "
			 "again, less and less often",
			 l->row->name, status);
	l->told = z->state == ZYGOTE_WARMING;
}

/* Its last words were read: reap it, answer who waits for it. */
static void zygote_end(struct zygote *z)
{
	struct zygote_line *l = z->line;
	struct zygote **p = &l->zygotes;
	struct loop *loop = &l->all->broker->loop;
	int fd = z->say.fd, pidfd = z->end.fd, status;

	child_reap(pidfd, &status);
	loop_del(loop, &z->say);
	loop_del(loop, &z->end);
	loop_timer_del(loop, &z->timer);
	own_fd(&fd);
	own_fd(&pidfd);
	zygote_door_lost(l->all, z);
	while (*p != z)
		p = &(*p)->next;
	*p = z->next;
	if (z->state != ZYGOTE_LEAVING) {
		tell_end(z, (unsigned)status);
		if (clock_mono_ms() - z->started_ms > LIVED_LONG_MS)
			l->delay_ms = RETRY_MIN_MS;
		line_retry(l);
	}
	free(z);
}

static void on_end(void *arg, uint32_t events)
{
	(void)events;
	zygote_end(arg);
}

static void on_warm_limit(void *arg)
{
	struct zygote *z = arg;

	log_line(LOG_WARN, "zygote %s is not ready in time",
		 z->line->row->name);
	child_signal(z->end.fd, SIGKILL);
}

/* It gets no more requests: it serves those it has, then ends. */
static void zygote_retire(struct zygote *z)
{
	z->state = ZYGOTE_LEAVING;
	shutdown(z->say.fd, SHUT_WR);
	loop_timer_set(&z->line->all->broker->loop, &z->timer,
		       clock_mono_ms() + WARM_LIMIT_MS, on_warm_limit, z);
}

static void on_renew(void *arg)
{
	struct zygote *z = arg;

	line_start(z->line);
}

static void zygote_ready(struct zygote *z)
{
	struct zygote_line *l = z->line;

	if (z->state != ZYGOTE_WARMING)
		return;
	for (struct zygote *o = l->zygotes; o != NULL; o = o->next)
		if (o->state == ZYGOTE_SERVING)
			zygote_retire(o);
	z->state = ZYGOTE_SERVING;
	log_line(LOG_INFO, "zygote %s (pid %d) is ready after %lld ms",
		 l->row->name, (int)z->pid,
		 (long long)(clock_mono_ms() - z->started_ms));
	loop_timer_set(&l->all->broker->loop, &z->timer,
		       clock_mono_ms() + RENEW_MS, on_renew, z);
}

/* Several in a row: it is not what it should be. */
static void zygote_failed(struct zygote *z, const struct zygote_say *s)
{
	log_line(LOG_WARN, "zygote %s: fork failed at step %u: %s",
		 z->line->row->name, s->step, strerrordesc_np((int)s->sys));
	if (++z->failures == FAILURES_MAX)
		child_signal(z->end.fd, SIGKILL);
}

/* As recv(2), with the descriptor that may come along. */
static ssize_t hear(int fd, struct zygote_say *s, int *listener)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(HEAR_FDS * sizeof(int))];
	} control;
	size_t nfds = 0;
	int fds[HEAR_FDS];
	struct iovec v = {.iov_base = s, .iov_len = sizeof(*s)};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);

	if (c != NULL && c->cmsg_level == SOL_SOCKET &&
	    c->cmsg_type == SCM_RIGHTS)
		nfds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	must(nfds <= HEAR_FDS);
	if (nfds > 0)
		memcpy(fds, CMSG_DATA(c), nfds * sizeof(int));
	if (nfds > 0)
		*listener = fds[0];
	for (size_t i = 1; i < nfds; i++)
		close(fds[i]);
	/* Of another size, as it were. */
	return n > 0 && (nfds > 1 || (m.msg_flags & MSG_TRUNC) != 0) ? n + 1
								     : n;
}

static void on_say(void *arg, uint32_t events)
{
	struct zygote *z = arg;
	struct zygote_say s;
	OWN(own_fd) int listener = -1;
	ssize_t n = hear(z->say.fd, &s, &listener);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* its end comes by its pidfd */
		loop_mod(&z->line->all->broker->loop, &z->say, 0);
		if (z->state != ZYGOTE_LEAVING)
			child_signal(z->end.fd, SIGKILL);
		return;
	}
	if (n != sizeof(s) || s.magic != ZYGOTE_MAGIC ||
	    s.what < ZYGOTE_READY || s.what > ZYGOTE_FAILED || s.sys > 4096) {
		log_line(LOG_WARN, "zygote talks nonsense: killed");
		child_signal(z->end.fd, SIGKILL);
		return;
	}
	if (s.what == ZYGOTE_READY)
		zygote_ready(z);
	else if (s.what != ZYGOTE_FAILED)
		z->failures = 0;
	else if (zygote_door_lives(z->line->all, z, &s))
		zygote_failed(z, &s);
	if (s.what != ZYGOTE_READY)
		zygote_door_said(z->line->all, z, &s, &listener);
}

static enum err zygote_new(struct zygote_line *l, struct errinfo *e)
{
	struct broker *b = l->all->broker;
	struct zygote_child c = {0};
	struct zygote *z = calloc(1, sizeof(*z));
	enum err r;

	if (z == NULL)
		return err_set(e, ERR_NOMEM, 0, "zygote");
	r = zygote_start(b, l->image, l->row->argv, &c, e);
	if (r != ERR_NONE) {
		free(z);
		return r;
	}
	*z = (struct zygote){.line = l,
			     .pid = c.pid,
			     .state = ZYGOTE_WARMING,
			     .started_ms = clock_mono_ms(),
			     .say = LOOP_WATCH_INIT,
			     .end = LOOP_WATCH_INIT,
			     .next = l->zygotes};
	l->zygotes = z;
	must(loop_add(&b->loop, &z->say, c.socket, EPOLLIN, on_say, z, NULL) ==
	     ERR_NONE);
	must(loop_add(&b->loop, &z->end, c.pidfd, EPOLLIN, on_end, z, NULL) ==
	     ERR_NONE);
	loop_timer_set(&b->loop, &z->timer, z->started_ms + WARM_LIMIT_MS,
		       on_warm_limit, z);
	return ERR_NONE;
}

/* Start one, if none warms up. */
static void line_start(void *arg)
{
	struct zygote_line *l = arg;
	struct errinfo e;

	for (struct zygote *z = l->zygotes; z != NULL; z = z->next)
		if (z->state == ZYGOTE_WARMING)
			return;
	if (zygote_new(l, &e) == ERR_NONE)
		return;
	log_err(l->row->name, &e);
	line_retry(l);
}

static bool row_speaks(const struct zygote_row *row, const char *language)
{
	size_t n = strlen(language);

	for (const char *at = row->languages; *at != '\0';) {
		size_t m = strcspn(at, ",");

		if (m == n && memcmp(at, language, n) == 0)
			return true;
		at += m;
		at += *at == ',';
	}
	return false;
}

struct zygote *zygote_find(struct zygotes *all, const char *image,
			   const char *language)
{
	for (int i = 0; i < ZYGOTE_LINES; i++) {
		struct zygote_line *l = &all->lines[i];

		if (strcmp(l->image, image) != 0 ||
		    !row_speaks(l->row, language))
			continue;
		for (struct zygote *z = l->zygotes; z != NULL; z = z->next)
			if (z->state == ZYGOTE_SERVING)
				return z;
	}
	return NULL;
}

void zygote_stuck(struct zygote *z)
{
	log_line(LOG_WARN, "zygote %s does not answer: killed",
		 z->line->row->name);
	child_signal(z->end.fd, SIGKILL);
}

void zygote_used(struct zygote *z)
{
	if (++z->forks == FORKS_MAX)
		line_start(z->line);
}

enum err zygotes_open(struct broker *b, int listen_fd, struct errinfo *e)
{
	struct zygotes *all = calloc(1, sizeof(*all));
	enum err r;

	if (all == NULL) {
		own_fd(&listen_fd);
		return err_set(e, ERR_NOMEM, 0, "zygotes");
	}
	all->broker = b;
	r = zygote_door_open(all, listen_fd, e);
	if (r != ERR_NONE) {
		free(all);
		return r;
	}
	b->zygotes = all;
	for (int i = 0; i < ZYGOTE_LINES; i++) {
		all->lines[i] = (struct zygote_line){.all = all,
						     .row = &rows[i],
						     .image = "host",
						     .delay_ms = RETRY_MIN_MS};
		line_start(&all->lines[i]);
	}
	return ERR_NONE;
}

void zygotes_close(struct broker *b)
{
	struct zygotes *all = b->zygotes;

	if (all == NULL)
		return;
	for (int i = 0; i < ZYGOTE_LINES; i++) {
		struct zygote_line *l = &all->lines[i];

		loop_timer_del(&b->loop, &l->timer);
		while (l->zygotes != NULL) {
			struct zygote *z = l->zygotes;

			z->state = ZYGOTE_LEAVING;
			child_signal(z->end.fd, SIGKILL);
			poll(
			    &(struct pollfd){.fd = z->end.fd, .events = POLLIN},
			    1, -1);
			zygote_end(z);
		}
	}
	zygote_door_close(all);
	free(all);
	b->zygotes = NULL;
}

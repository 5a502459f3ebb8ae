#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "sandbox/init_calls.h"

#define TELL_MS 100

/* Those that init started have one filter; each forked context has its own. */
struct init_listener {
	struct init_calls *all;
	struct loop_watch watch;
	struct init_listener *next;
};

static void listener_end(struct init_listener *l)
{
	struct init_listener **p = &l->all->listeners;
	int fd = l->watch.fd;

	loop_del(l->all->loop, &l->watch);
	close(fd);
	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
	free(l);
}

static void on_timer(void *arg);

static void tell(struct init_calls *c)
{
	c->news = false;
	loop_timer_set(c->loop, &c->timer, clock_mono_ms() + TELL_MS, on_timer,
		       c);
	c->tell(c->arg);
}

static void on_timer(void *arg)
{
	struct init_calls *c = arg;

	if (c->news)
		tell(c);
}

static void count(struct init_calls *c, int nr)
{
	enum call_denial which = call_denial_find(nr);
	struct call_count *one = &c->counts.of[which];

	if (which == CALL_COUNT)
		return;
	if (one->count < UINT32_MAX)
		one->count++;
	one->last_ms = clock_unix_ms();
	c->news = true;
	if (!c->timer.armed)
		tell(c);
}

/* One at a time: whoever makes many does not keep us from the rest. */
static void on_call(void *arg, uint32_t events)
{
	struct init_listener *l = arg;
	struct seccomp_notif n = {0};
	struct seccomp_notif_resp r = {.error = -EPERM};

	if ((events & EPOLLIN) == 0) {
		listener_end(l);
		return;
	}
	if (ioctl(l->watch.fd, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0) {
		/* Who made it was killed meanwhile. */
		if (errno != ENOENT && errno != EINTR)
			listener_end(l);
		return;
	}
	r.id = n.id;
	(void)ioctl(l->watch.fd, SECCOMP_IOCTL_NOTIF_SEND, &r);
	count(l->all, n.data.nr);
}

void init_calls_listen(struct init_calls *c, int fd)
{
	OWN(own_fd) int own = fd;
	struct init_listener *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return;
	*l = (struct init_listener){
	    .all = c, .watch = LOOP_WATCH_INIT, .next = c->listeners};
	if (loop_add(c->loop, &l->watch, own, EPOLLIN, on_call, l, NULL) !=
	    ERR_NONE) {
		free(l);
		return;
	}
	STEAL_FD(own);
	c->listeners = l;
}

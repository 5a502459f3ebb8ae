#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"

enum err loop_open(struct loop *l, struct errinfo *e)
{
	*l = (struct loop){.epfd = epoll_create1(EPOLL_CLOEXEC)};
	if (l->epfd < 0)
		return err_set(e, ERR_IO, errno, "epoll_create1");
	return ERR_NONE;
}

void loop_close(struct loop *l)
{
	if (l->epfd >= 0)
		close(l->epfd);
	l->epfd = -1;
	l->timers = NULL;
}

enum err loop_add(struct loop *l, struct loop_watch *w, int fd, uint32_t events,
		  loop_fn *fn, void *arg, struct errinfo *e)
{
	struct epoll_event ev = {.events = events, .data.ptr = w};

	if (epoll_ctl(l->epfd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return err_set(e, ERR_IO, errno, "epoll_ctl");
	*w = (struct loop_watch){
	    .fd = fd, .events = events, .fn = fn, .arg = arg};
	return ERR_NONE;
}

void loop_mod(struct loop *l, struct loop_watch *w, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = w};

	if (w->fd < 0 || w->events == events)
		return;
	must(epoll_ctl(l->epfd, EPOLL_CTL_MOD, w->fd, &ev) == 0);
	w->events = events;
}

void loop_del(struct loop *l, struct loop_watch *w)
{
	if (w->fd < 0)
		return;
	epoll_ctl(l->epfd, EPOLL_CTL_DEL, w->fd, NULL);
	w->fd = -1;
	for (int i = 0; i < l->nbatch; i++)
		if (l->batch[i].data.ptr == w)
			l->batch[i].data.ptr = NULL;
}

void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at_ms,
		    loop_timer_fn *fn, void *arg)
{
	struct loop_timer *prev = NULL, *next;

	loop_timer_del(l, t);
	next = l->timers;
	while (next != NULL && next->at_ms <= at_ms) {
		prev = next;
		next = next->next;
	}
	*t = (struct loop_timer){.at_ms = at_ms,
				 .armed = true,
				 .fn = fn,
				 .arg = arg,
				 .prev = prev,
				 .next = next};
	if (next != NULL)
		next->prev = t;
	if (prev != NULL)
		prev->next = t;
	else
		l->timers = t;
}

void loop_timer_del(struct loop *l, struct loop_timer *t)
{
	if (!t->armed)
		return;
	if (t->next != NULL)
		t->next->prev = t->prev;
	if (t->prev != NULL)
		t->prev->next = t->next;
	else
		l->timers = t->next;
	t->armed = false;
	t->prev = t->next = NULL;
}

static void loop_fire_timers(struct loop *l)
{
	int64_t now = clock_mono_ms();

	while (l->timers != NULL && l->timers->at_ms <= now) {
		struct loop_timer *t = l->timers;

		loop_timer_del(l, t);
		t->fn(t->arg);
	}
}

void loop_step(struct loop *l, int timeout_ms)
{
	int wait = timeout_ms;

	if (l->timers != NULL) {
		int left = clock_left_ms(l->timers->at_ms);

		if (wait < 0 || left < wait)
			wait = left;
	}
	l->nbatch = epoll_wait(l->epfd, l->batch, LOOP_BATCH, wait);
	if (l->nbatch < 0)
		must(errno == EINTR);
	for (int i = 0; i < l->nbatch; i++) {
		struct loop_watch *w = l->batch[i].data.ptr;

		if (w != NULL)
			w->fn(w->arg, l->batch[i].events);
	}
	l->nbatch = 0;
	loop_fire_timers(l);
}

void loop_run(struct loop *l)
{
	l->stop = false;
	while (!l->stop)
		loop_step(l, -1);
}

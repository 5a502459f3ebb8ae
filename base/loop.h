/*
 * A small event loop on epoll for programs without threads: descriptors
 * (sockets, pipes, pidfds, signalfds) and timers. Watches and timers are
 * members of their owners' structs; the loop allocates nothing.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/err.h"

#define LOOP_BATCH 64

/* Called with the EPOLL* bits that are set. May delete any watch or timer. */
typedef void loop_fn(void *arg, uint32_t events);
typedef void loop_timer_fn(void *arg);

struct loop_watch {
	int fd; /* -1: not watched */
	uint32_t events;
	loop_fn *fn;
	void *arg;
};

struct loop_timer {
	int64_t at_ms; /* monotonic */
	bool armed;
	loop_timer_fn *fn;
	void *arg;
	struct loop_timer *prev, *next;
};

struct loop {
	int epfd;
	bool stop;
	struct loop_timer *timers; /* the soonest first */
	struct epoll_event batch[LOOP_BATCH];
	int nbatch;
};

#define LOOP_WATCH_INIT                                                        \
	{                                                                      \
		.fd = -1                                                       \
	}

/** loop_open(l, e): Make an empty loop. Errors: ERR_IO. */
FALLIBLE enum err loop_open(struct loop *l, struct errinfo *e);

/** loop_close(l): Watches and timers are just forgotten. */
void loop_close(struct loop *l);

/**
 * loop_add(l, w, fd, events, fn, arg, e):
 * Call fn(arg, events) whenever ${fd} has one of ${events} (level
 * triggered). Owns: nothing; ${w} and ${fd} must outlive the watch.
 * Errors: ERR_IO.
 */
FALLIBLE enum err loop_add(struct loop *l, struct loop_watch *w, int fd,
			   uint32_t events, loop_fn *fn, void *arg,
			   struct errinfo *e);

/** loop_mod(l, w, events): Watch for other events; cheap if they are equal. */
void loop_mod(struct loop *l, struct loop_watch *w, uint32_t events);

/** loop_del(l, w): Stop watching; fine when it is not watched. The caller
 * closes the descriptor afterwards. */
void loop_del(struct loop *l, struct loop_watch *w);

/** loop_timer_set(l, t, at_ms, fn, arg): Arm, or arm anew. */
void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at_ms,
		    loop_timer_fn *fn, void *arg);

/** loop_timer_del(l, t): Disarm; fine when it is not armed. */
void loop_timer_del(struct loop *l, struct loop_timer *t);

/** loop_run(l): Serve until loop_stop() was called. */
void loop_run(struct loop *l);

/** loop_step(l, timeout_ms): Serve what happens within ${timeout_ms}. */
void loop_step(struct loop *l, int timeout_ms);

static inline void loop_stop(struct loop *l)
{
	l->stop = true;
}

#endif

/*
 * An execution whose stdin and stdout are pipes of ours (direct mode): bulk
 * bytes go between this thread and the executor and touch no keeper. What
 * comes out of the pipe is a sandbox's word: check it whole.
 */
#ifndef FCGI_DIRECT_H
#define FCGI_DIRECT_H

#include "fcgi/sandbox_link.h"

struct direct {
	struct request *rq;
	struct link link;
	int in;     /* to its stdin; -1: closed */
	int out;    /* from its stdout */
	bool deaf;  /* it reads no more: what is put is dropped */
	bool stays; /* it sees for itself that we are gone, and is not killed */
	int64_t deadline_ms;
	uint32_t idle_ms; /* 0: only the deadline counts */
};

#define DIRECT_INIT                                                            \
	{                                                                      \
		.link = LINK_INIT, .in = -1, .out = -1                         \
	}

/**
 * direct_start(rq, s, d, e):
 * START ${s} on d->link, which is open, with pipes; id and flags are set
 * here. It is killed when ${d} is closed, unless d->stays is set before, as
 * d->deadline_ms (CLOCK_NEVER: none) and d->idle_ms are.
 */
FALLIBLE enum err direct_start(struct request *rq, struct keeper_start *s,
			       struct direct *d, struct errinfo *e);

/**
 * direct_widen_in(d, n), direct_widen_out(d, n):
 * ${n} bytes are to go to it, or to come: make that pipe hold more at once, if
 * the system lets us; it only saves turns. (All of ours together hold 64 MiB;
 * then new ones hold very little.)
 */
void direct_widen_in(const struct direct *d, size_t n);
void direct_widen_out(const struct direct *d, size_t n);

/**
 * direct_put(d, p, n, e):
 * All ${n} bytes to its stdin. One that reads no more is no error: its answer
 * says why. Errors: ERR_GONE (client), ERR_TIMEOUT. Blocks: until d's times.
 */
FALLIBLE enum err direct_put(struct direct *d, const void *p, size_t n,
			     struct errinfo *e);

/** direct_put_end(d): The end of its stdin. */
void direct_put_end(struct direct *d);

/**
 * direct_get(d, p, n, got, e):
 * Up to ${n} bytes of its stdout; ${got} is 0 at the end.
 * Errors: ERR_GONE (client), ERR_TIMEOUT. Blocks: until d's times.
 */
FALLIBLE enum err direct_get(struct direct *d, void *p, size_t n, size_t *got,
			     struct errinfo *e);

/** direct_get_all(d, p, n, e): Exactly ${n}; ERR_PEER when fewer come. */
FALLIBLE enum err direct_get_all(struct direct *d, void *p, size_t n,
				 struct errinfo *e);

/**
 * direct_end(d, end, e):
 * Its output ended without a word: wait for what the keeper says of it.
 * Errors: as link_next; ERR_TIMEOUT after a while.
 */
FALLIBLE enum err direct_end(struct direct *d, struct keeper_end *end,
			     struct errinfo *e);

void direct_close(struct direct *d);

#endif

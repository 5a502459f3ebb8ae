#include <errno.h>
#include <fcgiapp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "fcgi/accept.h"
#include "fcgi/bulk.h"
#include "fcgi/pool.h"
#include "fcgi/share.h"
#include "fcgi/store_pool.h"

#define POOL_STACK_BYTES (256U * KIB)
#define POOL_PAGE 4096U
#define POOL_FRAME 1024U
#define POOL_TRIM_MS 3000
#define POOL_TRIM_RESTS 16 /* fewer are not worth it */

/* The lowest address of this thread's stack; 0: not known. */
static __thread uintptr_t pool_stack;

struct pool_job {
	struct pool_job *next;
	int fd;
	int64_t came_us;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct pool_job *first, **last;
	unsigned waiting; /* jobs */
	unsigned spare;   /* threads without a job */
	unsigned calls;   /* threads, spare ones too, but not the long ones */
	unsigned longs;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &pool.first};

static pthread_once_t pool_once = PTHREAD_ONCE_INIT;

static void pool_init(void)
{
	pthread_condattr_t a;

	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	must(pthread_cond_init(&pool.more, &a) == 0);
	pthread_condattr_destroy(&a);
}

/* Wait for a job; NULL when this thread is one too many. Lock held. */
static struct pool_job *pool_take(void)
{
	struct pool_job *job;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += POOL_SPARE_MS / 1000;
	pool.spare++;
	while (pool.first == NULL) {
		int r = pthread_cond_timedwait(&pool.more, &pool.lock, &until);

		if (r == ETIMEDOUT && pool.first == NULL &&
		    pool.spare > POOL_SPARE_MIN) {
			pool.spare--;
			return NULL;
		}
		if (r == ETIMEDOUT)
			until.tv_sec += POOL_SPARE_MS / 1000;
	}
	pool.spare--;
	job = pool.first;
	pool.first = job->next;
	if (pool.first == NULL)
		pool.last = &pool.first;
	pool.waiting--;
	return job;
}

static void pool_stack_find(void)
{
#ifndef __SANITIZE_ADDRESS__ /* which has a view of its own on stacks */
	pthread_attr_t a;
	void *low = NULL;
	size_t size;

	if (pthread_getattr_np(pthread_self(), &a) != 0)
		return;
	if (pthread_attr_getstack(&a, &low, &size) == 0)
		pool_stack = (uintptr_t)low;
	pthread_attr_destroy(&a);
#endif
}

/* The pages within; what they hold is lost. */
static void pool_give_back(uintptr_t from, uintptr_t to)
{
	from = (from + POOL_PAGE - 1) & ~(uintptr_t)(POOL_PAGE - 1);
	to &= ~(uintptr_t)(POOL_PAGE - 1);
	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
}

/* Below the frames of our callers and the next call's. */
static void pool_stack_rest(void)
{
	char here = 0;

	if (pool_stack != 0)
		pool_give_back(pool_stack, (uintptr_t)&here - POOL_FRAME);
}

/* Where the library would write next, once all was sent. */
static void pool_out_rest(const struct request *rq)
{
	const FCGX_Stream *out = rq->fcgi->out;

	if (out != NULL && !rq->broken)
		pool_give_back((uintptr_t)out->wrNext, (uintptr_t)out->stop);
}

void pool_rest(struct request *rq)
{
	static _Atomic int64_t trimmed_ms;
	static atomic_uint rests;
	int64_t now = clock_mono_ms();
	int64_t last = atomic_load(&trimmed_ms);

	if (atomic_fetch_add(&rests, 1) >= POOL_TRIM_RESTS &&
	    now - last >= POOL_TRIM_MS &&
	    atomic_compare_exchange_strong(&trimmed_ms, &last, now)) {
		atomic_store(&rests, 0);
		store_pool_rest();
		bulk_rest();
		malloc_trim(0);
	}
	pool_out_rest(rq);
	pool_stack_rest();
}

static void *pool_thread(void *arg)
{
	struct pool_job *job;
	bool quiet;

	(void)arg;
	pool_stack_find();
	pthread_mutex_lock(&pool.lock);
	while ((job = pool_take()) != NULL) {
		pthread_mutex_unlock(&pool.lock);
		accept_serve(job->fd, job->came_us);
		free(job);
		pthread_mutex_lock(&pool.lock);
	}
	quiet = --pool.calls <= POOL_SPARE_MIN;
	pthread_mutex_unlock(&pool.lock);
	if (quiet) { /* what a burst has left behind */
		store_pool_rest();
		bulk_rest();
		malloc_trim(0);
	}
	return NULL;
}

/* One thread more, if it may be; lock held. */
static void pool_grow(void)
{
	pthread_attr_t a;
	pthread_t t;

	if (pool.calls >= POOL_CALLS_MAX)
		return;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, POOL_STACK_BYTES);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&t, &a, pool_thread, NULL) == 0)
		pool.calls++;
	else
		log_line(LOG_WARN, "no further thread: %u calls, %u streams",
			 pool.calls, pool.longs);
	pthread_attr_destroy(&a);
}

void pool_give(int fd, int64_t came_us)
{
	struct pool_job *job = malloc(sizeof(*job));

	must(job != NULL);
	*job = (struct pool_job){.fd = fd, .came_us = came_us};
	pthread_once(&pool_once, pool_init);
	pthread_mutex_lock(&pool.lock);
	*pool.last = job;
	pool.last = &job->next;
	pool.waiting++;
	if (pool.spare < pool.waiting)
		pool_grow();
	pthread_cond_signal(&pool.more);
	pthread_mutex_unlock(&pool.lock);
}

enum err pool_long(struct request *rq, struct errinfo *e)
{
	bool ok;

	if (rq->is_long)
		return ERR_NONE;
	if (!share_long(rq))
		return err_http_fail(rq, e, HTTP_LIMIT_EXCEEDED,
				     "%u calls of this tenant wait already",
				     (unsigned)SHARE_LONG_MAX);
	pthread_mutex_lock(&pool.lock);
	ok = pool.longs < POOL_LONG_MAX;
	if (ok) {
		pool.longs++;
		pool.calls--;
		if (pool.waiting > pool.spare)
			pool_grow();
	}
	pthread_mutex_unlock(&pool.lock);
	if (!ok) {
		share_long_end(rq);
		return err_http_fail(rq, e, HTTP_OVERLOADED,
				     "Too many streams are open");
	}
	rq->is_long = true;
	return ERR_NONE;
}

void pool_long_end(struct request *rq)
{
	if (!rq->is_long)
		return;
	rq->is_long = false;
	share_long_end(rq);
	pthread_mutex_lock(&pool.lock);
	pool.longs--;
	pool.calls++;
	pthread_mutex_unlock(&pool.lock);
}

unsigned pool_busy(void)
{
	unsigned n;

	pthread_mutex_lock(&pool.lock);
	n = pool.waiting + pool.calls + pool.longs - pool.spare;
	pthread_mutex_unlock(&pool.lock);
	return n;
}

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "fcgi/accept.h"
#include "fcgi/pool.h"
#include "fcgi/share.h"

#define POOL_STACK_BYTES (256U * KIB)

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

static void *pool_thread(void *arg)
{
	struct pool_job *job;
	bool quiet;

	(void)arg;
	pthread_mutex_lock(&pool.lock);
	while ((job = pool_take()) != NULL) {
		pthread_mutex_unlock(&pool.lock);
		accept_serve(job->fd, job->came_us);
		free(job);
		pthread_mutex_lock(&pool.lock);
	}
	quiet = --pool.calls <= POOL_SPARE_MIN;
	pthread_mutex_unlock(&pool.lock);
	if (quiet)
		malloc_trim(0); /* what a burst has left behind */
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

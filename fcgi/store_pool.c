#include <pthread.h>
#include <string.h>
#include <time.h>

#include "fcgi/store_pool.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t back;
	const char *data_dir;
	struct store_conn *kept[STORE_POOL_KEEP];
	int n;
	int lent;
} store_pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
		.back = PTHREAD_COND_INITIALIZER};

void store_pool_init(const char *data_dir)
{
	store_pool.data_dir = data_dir;
}

/* Wait while many are lent; lock held. */
static void store_pool_wait(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += STORE_POOL_WAIT_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	while (store_pool.n == 0 && store_pool.lent >= STORE_POOL_MANY)
		if (pthread_cond_clockwait(&store_pool.back, &store_pool.lock,
					   CLOCK_MONOTONIC, &until) != 0)
			return;
}

static void store_pool_lent(int change)
{
	pthread_mutex_lock(&store_pool.lock);
	store_pool.lent += change;
	pthread_cond_signal(&store_pool.back);
	pthread_mutex_unlock(&store_pool.lock);
}

enum err store_pool_take(struct store_conn **c, struct errinfo *e)
{
	struct store_conn *got = NULL;
	enum err r;

	pthread_mutex_lock(&store_pool.lock);
	store_pool_wait();
	if (store_pool.n > 0)
		got = store_pool.kept[--store_pool.n];
	store_pool.lent++;
	pthread_mutex_unlock(&store_pool.lock);
	if (got != NULL) {
		*c = got;
		return ERR_NONE;
	}
	r = store_open(store_pool.data_dir, c, e);
	if (r != ERR_NONE)
		store_pool_lent(-1);
	return r;
}

void store_pool_give(struct store_conn **c)
{
	struct store_conn *mine = STEAL(*c);

	if (mine == NULL)
		return;
	pthread_mutex_lock(&store_pool.lock);
	if (store_pool.n < STORE_POOL_KEEP)
		store_pool.kept[store_pool.n++] = STEAL(mine);
	store_pool.lent--;
	pthread_cond_signal(&store_pool.back);
	pthread_mutex_unlock(&store_pool.lock);
	store_close(&mine);
}

/* The one that was not used for longest, if there are more than enough. */
static struct store_conn *store_pool_spare(void)
{
	struct store_conn *c = NULL;

	pthread_mutex_lock(&store_pool.lock);
	if (store_pool.n > STORE_POOL_QUIET) {
		c = store_pool.kept[0];
		memmove(&store_pool.kept[0], &store_pool.kept[1],
			sizeof(c) * (size_t)--store_pool.n);
	}
	pthread_mutex_unlock(&store_pool.lock);
	return c;
}

void store_pool_rest(void)
{
	struct store_conn *c;

	while ((c = store_pool_spare()) != NULL)
		store_close(&c);
}

void store_pool_close(void)
{
	pthread_mutex_lock(&store_pool.lock);
	while (store_pool.n > 0)
		store_close(&store_pool.kept[--store_pool.n]);
	pthread_mutex_unlock(&store_pool.lock);
}

#include <pthread.h>

#include "fcgi/store_pool.h"

static struct {
	pthread_mutex_t lock;
	const char *data_dir;
	struct store_conn *kept[STORE_POOL_KEEP];
	int n;
} store_pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

void store_pool_init(const char *data_dir)
{
	store_pool.data_dir = data_dir;
}

enum err store_pool_take(struct store_conn **c, struct errinfo *e)
{
	struct store_conn *got = NULL;

	pthread_mutex_lock(&store_pool.lock);
	if (store_pool.n > 0)
		got = store_pool.kept[--store_pool.n];
	pthread_mutex_unlock(&store_pool.lock);
	if (got == NULL)
		return store_open(store_pool.data_dir, c, e);
	*c = got;
	return ERR_NONE;
}

void store_pool_give(struct store_conn **c)
{
	struct store_conn *mine = STEAL(*c);

	if (mine == NULL)
		return;
	pthread_mutex_lock(&store_pool.lock);
	if (store_pool.n < STORE_POOL_KEEP)
		store_pool.kept[store_pool.n++] = STEAL(mine);
	pthread_mutex_unlock(&store_pool.lock);
	store_close(&mine);
}

void store_pool_close(void)
{
	pthread_mutex_lock(&store_pool.lock);
	while (store_pool.n > 0)
		store_close(&store_pool.kept[--store_pool.n]);
	pthread_mutex_unlock(&store_pool.lock);
}

#include <pthread.h>
#include <stdlib.h>

#include "fcgi/bulk.h"
#include "fcgi/route.h"

/* What holds a file of 1 MiB; more than a few of them is a burst. */
#define KEPT 2
#define KEPT_MIN_BYTES (1 * MIB)
#define KEPT_MAX_BYTES (4 * MIB)

static struct {
	pthread_mutex_t lock;
	struct {
		char *data;
		size_t cap;
	} kept[KEPT];
} bulk = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bulk_take(struct buf *b, size_t n)
{
	if (n < KEPT_MIN_BYTES / 4 || n > KEPT_MAX_BYTES || b->data != NULL)
		return;
	pthread_mutex_lock(&bulk.lock);
	for (int i = 0; i < KEPT && b->data == NULL; i++) {
		size_t cap = bulk.kept[i].cap;

		/* No more than ${b} may ever hold. */
		if (bulk.kept[i].data == NULL || cap > b->max_bytes + 1)
			continue;
		b->data = bulk.kept[i].data;
		b->cap = cap;
		b->data[0] = '\0';
		bulk.kept[i].data = NULL;
	}
	pthread_mutex_unlock(&bulk.lock);
}

void bulk_give(struct buf *b)
{
	if (b->cap >= KEPT_MIN_BYTES && b->cap <= KEPT_MAX_BYTES) {
		pthread_mutex_lock(&bulk.lock);
		for (int i = 0; i < KEPT && b->data != NULL; i++) {
			if (bulk.kept[i].data != NULL)
				continue;
			bulk.kept[i].data = b->data;
			bulk.kept[i].cap = b->cap;
			b->data = NULL;
		}
		pthread_mutex_unlock(&bulk.lock);
	}
	buf_free(b);
}

void bulk_rest(void)
{
	pthread_mutex_lock(&bulk.lock);
	for (int i = 0; i < KEPT; i++) {
		free(bulk.kept[i].data);
		bulk.kept[i].data = NULL;
	}
	pthread_mutex_unlock(&bulk.lock);
}

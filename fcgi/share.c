#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

#include "base/clock.h"
#include "fcgi/answer.h"
#include "fcgi/share.h"

#define STEP_MS 20

/* One for each tenant of whom a request is being served that holds a part. */
struct share {
	ctl_tenant_id_t tenant;
	unsigned requests;
	unsigned longs;
	size_t bytes;
	UT_hash_handle hh;
};

static struct {
	pthread_mutex_t lock;
	struct share *all;
	size_t bytes;
} shares = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The request's; NULL: no memory for it. Lock held. */
static struct share *share_of(struct request *rq)
{
	struct share *s = rq->share;

	if (s != NULL)
		return s;
	HASH_FIND_STR(shares.all, rq->auth.tenant, s);
	if (s == NULL) {
		s = calloc(1, sizeof(*s));
		if (s == NULL)
			return NULL;
		memcpy(s->tenant, rq->auth.tenant, sizeof(s->tenant));
		HASH_ADD_STR(shares.all, tenant, s);
	}
	s->requests++;
	rq->share = s;
	return s;
}

bool share_long(struct request *rq)
{
	struct share *s;
	bool ok;

	pthread_mutex_lock(&shares.lock);
	s = share_of(rq);
	ok = s != NULL && s->longs < SHARE_LONG_MAX;
	if (ok)
		s->longs++;
	pthread_mutex_unlock(&shares.lock);
	return ok;
}

void share_long_end(struct request *rq)
{
	pthread_mutex_lock(&shares.lock);
	rq->share->longs--;
	pthread_mutex_unlock(&shares.lock);
}

/* One that is larger than its tenant's part goes alone. */
static bool share_fits(const struct share *s, size_t n)
{
	if (shares.bytes > 0 && shares.bytes + n > SHARE_BYTES_MAX)
		return false;
	return s->bytes == 0 || s->bytes + n <= SHARE_BYTES_TENANT_MAX;
}

bool share_room(struct request *rq, size_t total)
{
	struct share *s;
	size_t n;
	bool ok;

	if (total <= rq->held_bytes + SHARE_STEP)
		return true;
	n = total - rq->held_bytes;
	pthread_mutex_lock(&shares.lock);
	s = share_of(rq);
	ok = s != NULL && share_fits(s, n);
	if (ok) {
		s->bytes += n;
		shares.bytes += n;
		rq->held_bytes += n;
	}
	pthread_mutex_unlock(&shares.lock);
	return ok;
}

enum err share_wait(struct request *rq, size_t total, struct errinfo *e)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	int64_t until = clock_mono_ms() + SHARE_WAIT_MS;
	enum err r;

	if (share_room(rq, total))
		return ERR_NONE;
	r = pool_long(rq, e);
	while (r == ERR_NONE && !share_room(rq, total)) {
		if (answer_gone(rq))
			return err_set(e, ERR_GONE, 0, "client");
		if (clock_mono_ms() > until)
			return err_http_fail(
			    rq, e, HTTP_OVERLOADED,
			    "Too many large calls are being served");
		nanosleep(&step, NULL);
	}
	return r;
}

void share_back(struct request *rq, size_t total)
{
	size_t n;

	if (rq->held_bytes <= total)
		return;
	n = rq->held_bytes - total;
	pthread_mutex_lock(&shares.lock);
	rq->share->bytes -= n;
	shares.bytes -= n;
	rq->held_bytes = total;
	pthread_mutex_unlock(&shares.lock);
}

void share_end(struct request *rq)
{
	struct share *s = rq->share;

	if (s == NULL)
		return;
	share_back(rq, 0);
	pthread_mutex_lock(&shares.lock);
	rq->share = NULL;
	if (--s->requests == 0) {
		HASH_DELETE(hh, shares.all, s);
		free(s);
	}
	pthread_mutex_unlock(&shares.lock);
}

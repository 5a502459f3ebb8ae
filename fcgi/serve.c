/* From a request that libfcgi has read to its answer. */
#include <fcgiapp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/accept.h"
#include "fcgi/answer.h"
#include "fcgi/auth.h"
#include "fcgi/body.h"
#include "fcgi/cors.h"
#include "fcgi/pool.h"
#include "fcgi/preview.h"
#include "fcgi/share.h"
#include "fcgi/store_pool.h"

/*
 * What is read and thrown away of a body that no handler wanted, if it is
 * there: whoever sends it slowly, who may have no key, gets no thread for it.
 */
#define DRAIN_MAX (1U * MIB)
#define DRAIN_STEP_MS 20
#define DRAIN_MS 100

void route_park(struct request *rq)
{
	store_pool_give(&rq->store);
}

enum err route_unpark(struct request *rq, struct errinfo *e)
{
	if (rq->store != NULL)
		return ERR_NONE;
	return store_pool_take(&rq->store, e);
}

static void serve_begin(struct request *rq)
{
	unsigned char raw[8];
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	rq->begun_us = (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
	if (rq->came_us == 0 || rq->came_us > rq->begun_us)
		rq->came_us = rq->begun_us;
	randombytes_buf(raw, sizeof(raw));
	sodium_bin2hex(rq->id, sizeof(rq->id), raw, sizeof(raw));
}

static void serve_patience(const struct request *rq, int64_t ms)
{
	const struct timeval t = {.tv_sec = ms / 1000,
				  .tv_usec = ms % 1000 * 1000};

	if (rq->client_fd >= 0)
		setsockopt(rq->client_fd, SOL_SOCKET, SO_RCVTIMEO, &t,
			   sizeof(t));
}

/* False: there is more, or it did not come in time. */
static bool serve_drained(const struct request *rq)
{
	FCGX_Stream *in = rq->fcgi->in;
	int64_t deadline = clock_mono_ms() + DRAIN_MS;
	char waste[4096];
	int left = (int)DRAIN_MAX;

	while (left > 0 && clock_left_ms(deadline) > 0) {
		int want = (int)(in->stop - in->rdNext), n; /* it has */

		if (want > (int)sizeof(waste))
			want = (int)sizeof(waste);
		if (want < 1)
			want = 1;
		n = FCGX_GetStr(waste, want, in);
		if (n < want)
			return FCGX_GetError(in) == 0;
		left -= n;
	}
	return false;
}

static void serve_drain(struct request *rq)
{
	if (rq->broken || FCGX_HasSeenEOF(rq->fcgi->in) != 0)
		return;
	serve_patience(rq, DRAIN_STEP_MS);
	if (serve_drained(rq))
		serve_patience(rq, ACCEPT_SLOW_MS);
	else
		rq->fcgi->keepConnection = 0;
}

static void serve_end(struct request *rq)
{
	pool_long_end(rq);
	share_end(rq);
	store_pool_give(&rq->store);
	for (int i = 0; i < rq->nparams; i++)
		free(rq->params[i].value);
	json_in_free(&rq->body);
	json_out_free(&rq->failure.context);
	ctl_sandbox_free(&rq->sandbox);
	buf_free(&rq->headers);
}

static enum err serve_call(struct request *rq, struct errinfo *e)
{
	const char *method = route_header(rq, "REQUEST_METHOD");
	const char *path = route_header(rq, "REQUEST_URI");
	enum err r;

	if (method == NULL || path == NULL)
		return err_set(e, ERR_ARG, 0, "FastCGI parameters missing");
	if (preview_key(rq) != NULL)
		return preview_serve(rq, e);
	cors_begin(rq);
	r = route_find(rq, method, path, e);
	if (r != ERR_NONE)
		return r;
	if (rq->route->scope != SCOPE_OPEN)
		r = route_unpark(rq, e);
	if (r == ERR_NONE)
		r = auth_check(rq, e);
	if (r == ERR_NONE)
		r = rq->route->fn(rq, e);
	return r;
}

void route_serve(struct request *rq)
{
	struct errinfo e = {0};
	enum err r;

	serve_begin(rq);
	r = serve_call(rq, &e);
	if (r != ERR_NONE)
		err_http_answer(rq, r, &e);
	else if (!rq->answering && !rq->broken)
		log_line(LOG_ERROR, "%s: a handler did not answer", rq->id);
	serve_drain(rq);
	serve_end(rq);
}

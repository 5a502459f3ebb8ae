/* From a request that libfcgi has read to its answer. */
#include <fcgiapp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#include "fcgi/sse.h"
#include "fcgi/store_pool.h"

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
	else if (rq->answering)
		sse_end(rq);
	else if (!rq->broken)
		log_line(LOG_ERROR, "%s: a handler did not answer", rq->id);
	body_drain(rq);
	serve_end(rq);
}

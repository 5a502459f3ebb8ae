#include <sodium.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/pool.h"
#include "fcgi/retry.h"
#include "store/log_chunk.h"
#include "store/node_execution.h"

#define STEP_MS 20
#define PATIENCE_MS 3000

static const char *retry_key(const struct request *rq)
{
	return route_header(rq, "HTTP_IDEMPOTENCY_KEY");
}

bool retry_asked(const struct request *rq)
{
	return retry_key(rq) != NULL;
}

void retry_free(struct retry *x)
{
	node_retry_free(&x->row);
}

static bool retry_key_ok(const char *key)
{
	size_t n = strlen(key);

	if (n == 0 || n > RETRY_KEY_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (key[i] <= ' ' || key[i] > '~')
			return false;
	return true;
}

/* The same route and the same bytes. */
static void retry_hash(const struct request *rq, uint8_t out[NODE_RETRY_HASH])
{
	crypto_generichash_state s;
	const char *route = rq->route->pattern;

	crypto_generichash_init(&s, NULL, 0, NODE_RETRY_HASH);
	crypto_generichash_update(&s, (const unsigned char *)route,
				  strlen(route) + 1);
	crypto_generichash_update(&s, rq->body_hash, sizeof(rq->body_hash));
	crypto_generichash_final(&s, out, NODE_RETRY_HASH);
}

enum err retry_begin(struct request *rq, const char *scope, struct retry *x,
		     struct errinfo *e)
{
	const char *key = retry_key(rq);
	uint8_t hash[NODE_RETRY_HASH];
	enum err r;

	if (key == NULL)
		return ERR_NONE;
	if (!retry_key_ok(key))
		return err_http_field(rq, e, "Idempotency-Key",
				      "must be 1 to 255 visible characters");
	retry_hash(rq, hash);
	memcpy(x->row.hash, hash, sizeof(hash));
	x->scope = scope;
	r = node_retry_begin(rq->store, scope, key, &x->row, &x->first, e);
	if (r != ERR_NONE)
		return r;
	x->key = key;
	if (memcmp(x->row.hash, hash, sizeof(hash)) == 0)
		return ERR_NONE;
	return err_http_fail(rq, e, HTTP_IDEMPOTENCY_KEY_REUSED,
			     "This Idempotency-Key came with another request");
}

enum err retry_wait(struct request *rq, struct retry *x, struct errinfo *e)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	int64_t until = clock_mono_ms() + PATIENCE_MS;
	enum err r = ERR_NONE;

	while (r == ERR_NONE && x->key != NULL && !x->first &&
	       !retry_answered(x) && clock_mono_ms() < until &&
	       !answer_gone(rq)) {
		r = pool_long(rq, e);
		if (r != ERR_NONE)
			return r;
		nanosleep(&step, NULL);
		node_retry_free(&x->row);
		r = node_retry_begin(rq->store, x->scope, x->key, &x->row,
				     &x->first, e);
	}
	return r;
}

bool retry_answered(const struct retry *x)
{
	return x->key != NULL && !x->first && x->row.answer[0] != '\0';
}

enum err retry_replay(struct request *rq, const struct retry *x,
		      struct errinfo *e)
{
	size_t n = strlen(x->row.answer);
	enum err r;

	answer_header(rq, "Idempotent-Replayed", "true");
	answer_begin(rq, 200, "application/json", (int64_t)n);
	r = answer_write(rq, x->row.answer, n, e);
	return r == ERR_GONE ? ERR_NONE : r;
}

void retry_done(struct request *rq, const struct retry *x,
		const struct json_out *o)
{
	struct errinfo e;

	if (x->key == NULL || !json_out_ok(o) ||
	    o->b.len > NODE_RETRY_ANSWER_MAX)
		return;
	if (route_unpark(rq, &e) != ERR_NONE ||
	    node_retry_answer(rq->store, x->scope, x->key, o->b.data, &e) !=
		ERR_NONE)
		log_err("keep an answer for retries", &e);
}

void retry_drop(struct request *rq, const struct retry *x)
{
	struct errinfo e;

	if (x->key == NULL)
		return;
	if (route_unpark(rq, &e) != ERR_NONE ||
	    node_retry_remove(rq->store, x->scope, x->key, x->row.made, &e) !=
		ERR_NONE)
		log_err("forget a call that made nothing", &e);
}

enum err retry_open(struct request *rq, const char *id, bool *open,
		    struct errinfo *e)
{
	OWN(node_execution_free) struct node_execution row = {0};
	struct log_state log = {.last = 0};
	enum err r = node_execution_get(rq->store, rq->sandbox.id, id, &row, e);

	if (r == ERR_NONE)
		r = log_chunk_state(rq->store, rq->sandbox.id, id, &log, e);
	*open = row.state == NODE_RUNNING && log.last == 0;
	if (r == ERR_NOT_FOUND)
		return err_http_fail(rq, e, HTTP_OPERATION_INTERRUPTED,
				     "The first call with this "
				     "Idempotency-Key did not start");
	return r;
}

#include <sodium.h>
#include <string.h>
#include <time.h>

#include "base/broker_msg.h"
#include "base/clock.h"
#include "base/log.h"
#include "fcgi/answer.h"
#include "fcgi/link_boot.h"
#include "fcgi/pool.h"
#include "fcgi/sandbox_limit.h"
#include "fcgi/sandbox_link.h"

/* A start that cannot be just now is asked for again so often, so long. */
#define START_AGAIN_MS 20
#define START_PATIENCE_MS 3000

/* The row was deleted while its sandbox started: it must not go on. */
static enum err link_undo(struct request *rq, struct errinfo *e)
{
	struct broker_req req = {.type = BROKER_DESTROY};
	struct errinfo why;

	memcpy(req.id, rq->sandbox.id, sizeof(rq->sandbox.id));
	if (broker_call(rq->worker->run_dir, &req,
			clock_mono_ms() + LINK_START_MS, &why) != ERR_NONE)
		log_err("destroy a sandbox deleted at its start", &why);
	return link_no_sandbox(rq, rq->sandbox.name, e);
}

/* There is no such image, as opposed to: there is no broker. */
static bool link_no_image(enum err r, const struct errinfo *e)
{
	return r == ERR_NOT_FOUND && e->sys == 0;
}

/* A number of the tenant: its sandboxes take turns with others'. */
static uint64_t link_flow(const char *tenant)
{
	unsigned char hash[crypto_generichash_BYTES_MIN];
	uint64_t n;

	crypto_generichash(hash, sizeof(hash), (const unsigned char *)tenant,
			   strlen(tenant), NULL, 0);
	memcpy(&n, hash, sizeof(n));
	return n;
}

/* One that is just ending, or a broker that is: a moment later it can be. */
static enum err link_ask_start(struct request *rq, struct errinfo *e)
{
	const struct timespec step = {.tv_nsec = START_AGAIN_MS * 1000000L};
	const struct ctl_sandbox *s = &rq->sandbox;
	int64_t again_until = clock_mono_ms() + START_PATIENCE_MS;
	int64_t deadline = clock_mono_ms() + LINK_START_MS;

	for (;;) {
		struct broker_req req = {.type = BROKER_START};
		enum err r;

		memcpy(req.id, s->id, sizeof(s->id));
		memcpy(req.image, s->image, strnlen(s->image, BROKER_NAME_MAX));
		sandbox_limit_start(s, &req);
		req.flow = link_flow(rq->auth.tenant);
		r = broker_call(rq->worker->run_dir, &req, deadline, e);
		if ((r != ERR_STATE && r != ERR_NOT_FOUND && r != ERR_PEER) ||
		    link_no_image(r, e) || clock_mono_ms() > again_until ||
		    answer_gone(rq))
			return r;
		nanosleep(&step, NULL);
	}
}

static const char *link_start_text(enum err r, const struct errinfo *why)
{
	if (r == ERR_LIMIT)
		return "This machine has no room for the sandbox' disk";
	if (strcmp(why->text, BROKER_NO_INTERNET) == 0)
		return "The sandbox could not be started with network "
		       "internet";
	return "The sandbox could not be started";
}

enum err link_boot(struct request *rq, struct errinfo *e)
{
	const struct ctl_sandbox *s = &rq->sandbox;
	int64_t from = clock_mono_us();
	struct errinfo why = {0};
	enum err r = pool_long(rq, e); /* a burst of starts has to queue */

	if (r != ERR_NONE)
		return r;
	r = link_ask_start(rq, &why);
	rq->start_us += clock_mono_us() - from;
	if (link_no_image(r, &why))
		return err_http_fail(rq, e, HTTP_IMAGE_NOT_FOUND,
				     "The sandbox' image %s is not there any "
				     "more",
				     s->image);
	if (r != ERR_NONE) {
		log_line(LOG_ERROR, "%s: start of %s: %s: %s", rq->id, s->id,
			 err_name(r), why.text);
		return err_http_fail(rq, e, HTTP_SANDBOX_UNAVAILABLE, "%s",
				     link_start_text(r, &why));
	}
	r = ctl_sandbox_confirm(rq->store, s->id, e);
	if (r == ERR_NOT_FOUND)
		return link_undo(rq, e);
	if (r != ERR_NONE)
		return r;
	rq->sandbox.state = SANDBOX_RUNNING;
	return ERR_NONE;
}

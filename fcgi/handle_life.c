/* What becomes of a sandbox: sleep, wake, stop, start, touch, its settings. */
#include <stddef.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/life.h"
#include "fcgi/pool.h"
#include "fcgi/sandbox_link.h"
#include "fcgi/sandbox_row.h"

#define SLEEP_PATIENCE_MS 5000
#define SLEEP_STEP_MS 10

/* The body of a call that needs none. */
static enum err life_find(struct request *rq, struct errinfo *e)
{
	enum err r = body_json(rq, NULL, 0, NULL, e);

	return r == ERR_NONE ? link_find(rq, e) : r;
}

static enum err life_told(struct request *rq, const char *action,
			  struct errinfo *e)
{
	sandbox_audit(rq, action, rq->sandbox.id, rq->sandbox.name);
	return sandbox_row_answer(rq, 200, e);
}

struct sleep_body {
	bool force;
};

static const struct json_field sleep_fields[] = {
    {"force", NULL, JSON_BOOL, offsetof(struct sleep_body, force), false, 0, 0},
};

/* Calls that are about to end are let end. */
static enum err life_sleep_soon(struct request *rq, struct errinfo *e)
{
	const struct timespec step = {.tv_nsec = SLEEP_STEP_MS * 1000000L};
	int64_t until = clock_mono_ms() + SLEEP_PATIENCE_MS;
	enum err r = life_sleep(rq, KEEPER_SLEEP_QUIET, e);

	if (r != ERR_STATE)
		return r;
	r = pool_long(rq, e);
	if (r != ERR_NONE)
		return r;
	while ((r = life_sleep(rq, KEEPER_SLEEP_QUIET, e)) == ERR_STATE &&
	       clock_mono_ms() < until && !answer_gone(rq))
		nanosleep(&step, NULL);
	if (r != ERR_STATE)
		return r;
	err_http_suggest(rq, "Wait for its commands, code and file calls, or "
			     "stop them in the middle by force: true");
	return err_http_fail(rq, e, HTTP_RESOURCE_BUSY,
			     "Calls run in the sandbox");
}

enum err sandbox_sleep(struct request *rq, struct errinfo *e)
{
	struct sleep_body body = {.force = false};
	enum err r = body_json(rq, sleep_fields, JSON_COUNT(sleep_fields),
			       &body, e);

	if (r == ERR_NONE)
		r = link_find(rq, e);
	if (r == ERR_NONE)
		r = body.force ? life_sleep(rq, KEEPER_SLEEP_ANY, e)
			       : life_sleep_soon(rq, e);
	return r == ERR_NONE ? life_told(rq, "sandbox.sleep", e) : r;
}

static enum err life_start(struct request *rq, const char *action,
			   struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	enum err r = life_find(rq, e);

	if (r == ERR_NONE)
		r = link_open(rq, LINK_START, &l, e);
	return r == ERR_NONE ? life_told(rq, action, e) : r;
}

/* They differ in the audit only: it runs when they answer. */
enum err sandbox_wake(struct request *rq, struct errinfo *e)
{
	return life_start(rq, "sandbox.wake", e);
}

enum err sandbox_start(struct request *rq, struct errinfo *e)
{
	return life_start(rq, "sandbox.start", e);
}

enum err sandbox_stop(struct request *rq, struct errinfo *e)
{
	enum err r = life_find(rq, e);

	if (r == ERR_NONE)
		r = life_stop(rq, false, e);
	return r == ERR_NONE ? life_told(rq, "sandbox.stop", e) : r;
}

enum err sandbox_touch(struct request *rq, struct errinfo *e)
{
	enum err r = life_find(rq, e);

	if (r == ERR_NONE)
		r = ctl_sandbox_used(rq->store, &rq->sandbox, clock_unix_ms(),
				     e);
	return r == ERR_NONE ? sandbox_row_answer(rq, 200, e) : r;
}

enum err sandbox_change(struct request *rq, struct errinfo *e)
{
	struct sandbox_change c;
	enum err r = link_find(rq, e);

	if (r == ERR_NONE)
		r = sandbox_row_change(rq, &c, e);
	if (r == ERR_NONE)
		r = ctl_sandbox_set(rq->store, rq->auth.tenant, rq->sandbox.id,
				    &c.life.change, c.labels, e);
	if (r == ERR_NONE)
		r = life_reread(rq, e);
	return r == ERR_NONE ? life_told(rq, "sandbox.change", e) : r;
}

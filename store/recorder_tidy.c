/*
 * What the recorder frees between groups: logs that were removed or are too
 * old, rows of what ended long ago, and then the files' unused pages. In
 * small steps, a turn of the loop for each.
 */
#include "base/clock.h"
#include "base/log.h"
#include "store/log_tidy.h"
#include "store/node_retry.h"
#include "store/recorder_link.h"

#define TIDY_NEXT_MS 1
#define QUIET_MS 2000
#define PRUNE_FIRST_MS 3000

static int64_t tidy_before(int64_t age_ms)
{
	int64_t now = clock_unix_ms();

	return age_ms > 0 && age_ms < now ? now - age_ms : 0;
}

/* Pages of one file; the checkpoint after the last makes it shorter. */
static enum err tidy_shrink(struct recorder *r, bool *more, struct errinfo *e)
{
	bool quiet = clock_mono_ms() - r->wrote_ms > QUIET_MS;
	enum err err = db_shrink(r->store, STORE_LOGS, quiet, more, e);

	if (err == ERR_NONE && !*more)
		err = db_shrink(r->store, STORE_NODE, quiet, more, e);
	if (err != ERR_NONE)
		return err;
	if (r->shrunk && !*more)
		store_ckpt_soon(r->ckpt);
	r->shrunk = *more;
	return ERR_NONE;
}

static void on_tidy(void *arg)
{
	struct recorder *r = arg;
	struct errinfo e;
	bool more = false;
	enum err err = ERR_NONE;

	if (!r->broken)
		err = log_tidy(r->store, tidy_before(r->conf.history.logs_ms),
			       &more, &e);
	if (!r->broken && err == ERR_NONE && !more)
		err = tidy_shrink(r, &more, &e);
	if (err != ERR_NONE)
		log_err("free old logs", &e);
	loop_timer_set(&r->loop, &r->tidy_timer,
		       clock_mono_ms() +
			   (more ? TIDY_NEXT_MS : r->conf.tidy_ms),
		       on_tidy, r);
}

static void on_prune(void *arg)
{
	struct recorder *r = arg;
	struct errinfo e;
	bool more = false;

	r->prune.before_ms = tidy_before(r->conf.history.rows_ms);
	r->prune.retry_ms = clock_unix_ms() - NODE_RETRY_MS;
	r->prune.rows_max = r->conf.history.count;
	if (!r->broken && node_tidy(r->store, &r->prune, &more, &e) != ERR_NONE)
		log_err("remove old rows", &e);
	loop_timer_set(&r->loop, &r->prune_timer,
		       clock_mono_ms() +
			   (more ? TIDY_NEXT_MS : r->conf.prune_ms),
		       on_prune, r);
}

void recorder_tidy_begin(struct recorder *r)
{
	int64_t now = clock_mono_ms();

	loop_timer_set(&r->loop, &r->tidy_timer, now + r->conf.tidy_ms, on_tidy,
		       r);
	loop_timer_set(&r->loop, &r->prune_timer, now + PRUNE_FIRST_MS,
		       on_prune, r);
}

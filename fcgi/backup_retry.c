#include <string.h>
#include <time.h>

#include "fcgi/answer.h"
#include "fcgi/backup_retry.h"
#include "fcgi/sandbox_link.h"

#define STEP_MS 200

static enum err wait_step(struct request *rq, struct errinfo *e)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};

	route_park(rq);
	nanosleep(&step, NULL);
	if (answer_gone(rq))
		return err_set(e, ERR_GONE, 0, "client");
	return route_unpark(rq, e);
}

/* What became of the try that has the key. ${busy}: nothing yet. */
static enum err look(struct backup_make *m, struct retry *again, bool *busy,
		     struct ctl_backup *done, struct errinfo *e)
{
	struct request *rq = m->rq;
	struct ctl_backup one = {.id = ""};
	enum err r;

	memcpy(one.id, again->row.made, sizeof(one.id) - 1);
	memcpy(one.tenant, rq->auth.tenant, sizeof(one.tenant));
	*busy = backup_file_made(rq->worker->data_dir, &one);
	if (*busy)
		return ERR_NONE;
	r = ctl_backup_get(rq->store, rq->auth.tenant, one.id, done, e);
	if (r != ERR_NOT_FOUND)
		return r;
	/* It failed, or its worker did: the key is free again. */
	retry_drop(rq, again);
	return ERR_NONE;
}

enum err backup_retry_begin(struct backup_make *m, struct retry *again,
			    struct ctl_backup *done, struct errinfo *e)
{
	struct request *rq = m->rq;
	enum err r = ERR_NONE;
	bool busy;

	if (!retry_asked(rq))
		return ERR_NONE;
	r = link_find(rq, e);
	if (r == ERR_NONE)
		r = backup_make_hold(m, e);
	while (r == ERR_NONE) {
		retry_free(again);
		memcpy(again->row.made, m->file.id, sizeof(m->file.id));
		r = retry_begin(rq, rq->sandbox.id, again, e);
		if (r != ERR_NONE || again->first || retry_answered(again))
			return r;
		r = look(m, again, &busy, done, e);
		if (r != ERR_NONE || done->id[0] != '\0')
			return r;
		if (busy)
			r = wait_step(rq, e);
	}
	return r;
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/exec_hits.h"
#include "fcgi/exec_status.h"

#define START_GRACE_MS 5000

const char *exec_status_word(bool ended, enum end_reason reason, int code)
{
	if (!ended)
		return "running";
	switch (reason) {
	case END_EXITED:
		return code == 0 ? "completed" : "failed";
	case END_SIGNALLED:
	case END_TIMED_OUT:
	case END_OUT_OF_MEMORY:
	case END_OUTPUT_LIMIT:
	case END_DISK_LIMIT:
	case END_KILLED:
	case END_INTERRUPTED:
		return "killed";
	case END_NONE:
	case END_SANDBOX_GONE:
		return "error";
	}
	return "error";
}

static enum err exec_live_add(void *ctx, const struct keeper_item *item,
			      struct errinfo *e)
{
	struct exec_live *live = ctx;
	struct exec_live_row *row;
	size_t n = live->n;

	/* Room is doubled whenever the number is a power of two. */
	if ((n & (n - 1)) == 0) {
		row = realloc(live->rows,
			      (n == 0 ? 1 : 2 * n) * sizeof(*live->rows));
		if (row == NULL)
			return err_set(e, ERR_NOMEM, 0, "executions");
		live->rows = row;
	}
	row = &live->rows[live->n++];
	snprintf(row->id, sizeof(row->id), "%s", item->id);
	row->state = item->state;
	row->exit_code = item->exit_code;
	row->reason = item->reason;
	row->ended_ms = item->ended_ms;
	row->hits = item->hits;
	return ERR_NONE;
}

enum err exec_live_read(struct request *rq, struct exec_live *live,
			struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	enum err r;

	live->read_ms = clock_unix_ms();
	r = link_open(rq, LINK_LIVE, &l, e);
	live->alive = r == ERR_NONE;
	if (r == ERR_NONE)
		r = link_list(&l, exec_live_add, live, e);
	live->since_ms = l.since_ms;
	return r == ERR_GONE ? ERR_NONE : r;
}

void exec_live_free(struct exec_live *live)
{
	free(live->rows);
	*live = (struct exec_live){0};
}

static const struct exec_live_row *exec_live_find(const struct exec_live *live,
						  const char *id)
{
	for (size_t i = 0; i < live->n; i++)
		if (strcmp(live->rows[i].id, id) == 0)
			return &live->rows[i];
	return NULL;
}

void exec_status_of(const struct exec_live *live, const struct exec_row *row,
		    struct exec_status *out)
{
	const struct exec_live_row *now = exec_live_find(live, row->id);

	*out = (struct exec_status){.ended = true, .reason = END_SANDBOX_GONE};
	if (row->state == NODE_ENDED) {
		out->exit_code = row->end->exit_code;
		out->reason = row->end->reason;
		out->ended_ms = row->end->ended_ms;
		out->hits = row->end->hits;
	} else if (now != NULL) {
		out->ended = now->state == EXEC_ENDED;
		out->exit_code = now->exit_code;
		out->reason = now->reason;
		out->ended_ms = now->ended_ms;
		out->hits = now->hits;
	} else if (live->alive && row->started_ms >= live->since_ms &&
		   row->started_ms > live->read_ms - START_GRACE_MS) {
		out->ended = false;
	}
	if (out->reason == END_TIMED_OUT)
		out->exit_code = EXIT_TIMED_OUT;
	out->status = exec_status_word(out->ended, out->reason, out->exit_code);
	if (!out->ended && now != NULL && now->state == EXEC_STARTING)
		out->status = "starting";
}

void exec_status_put(struct json_out *o, const struct exec_status *s)
{
	json_out_text(o, "status", s->status);
	if (!s->ended)
		return;
	if (s->reason != END_SANDBOX_GONE && s->reason != END_NONE)
		json_out_int(o, "exitCode", s->exit_code);
	if (s->reason != END_NONE)
		json_out_text(o, "reason", end_reason_name(s->reason));
	if (s->ended_ms > 0)
		json_out_time(o, "endTime", s->ended_ms);
	exec_hits_put(o, &s->hits);
}

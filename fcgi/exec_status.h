/*
 * How something that was started stands: the row of node.db, corrected by
 * the keeper, which knows better while it lives.
 */
#ifndef FCGI_EXEC_STATUS_H
#define FCGI_EXEC_STATUS_H

#include "base/keeper_msg.h"
#include "fcgi/sandbox_link.h"
#include "store/node.h"

struct exec_status {
	const char *status; /* the wire's word */
	bool ended;
	int exit_code;
	enum end_reason reason;
	int64_t ended_ms; /* 0: not known */
	struct keeper_hits hits;
};

/* What a keeper has, by id; empty when none lives. */
struct exec_live {
	struct exec_live_row {
		id_text_t id;
		enum exec_state state;
		int exit_code;
		enum end_reason reason;
		int64_t ended_ms;
		struct keeper_hits hits;
	} * rows;
	size_t n;
	bool alive;
	int64_t read_ms;  /* unix ms, when it was asked */
	int64_t since_ms; /* … and since when it lives */
};

/** exec_status_word(ended, reason, code): "running", "completed", … */
const char *exec_status_word(bool ended, enum end_reason reason, int code);

/**
 * exec_live_read(rq, live, e):
 * All executions of the keeper of rq->sandbox. None lives: none, no error.
 * Read it before the rows: what the keeper forgot has ended in its row.
 */
FALLIBLE enum err exec_live_read(struct request *rq, struct exec_live *live,
				 struct errinfo *e);
void exec_live_free(struct exec_live *live);

/* What of a row decides. */
struct exec_row {
	const char *id;
	enum node_state state;
	int64_t started_ms;
	const struct node_end *end;
};

/**
 * exec_status_of(live, row, out):
 * A row that runs, and that no living keeper knows, is gone; but a row is
 * made a moment before its keeper hears of it: that one is as old as the
 * keeper at most.
 */
void exec_status_of(const struct exec_live *live, const struct exec_row *row,
		    struct exec_status *out);

/** exec_status_put(o, s): status, exitCode, reason, endTime into ${o}. */
void exec_status_put(struct json_out *o, const struct exec_status *s);

#endif

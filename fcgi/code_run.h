/*
 * One code run, from the keeper's numbered events to the client: live as
 * server-sent events, or gathered into one JSON answer.
 */
#ifndef FCGI_CODE_RUN_H
#define FCGI_CODE_RUN_H

#include "fcgi/code_result.h"
#include "fcgi/sandbox_link.h"
#include "fcgi/sse.h"
#include "fcgi/utf8.h"

/* Most that one JSON answer holds of all results. */
#define CODE_RUN_RESULTS_MAX (96U * MIB)

struct code_run {
	struct request *rq;
	const char *id;
	bool live; /* server-sent events */
	struct sse sse;
	struct utf8 part[2];     /* of stdout and stderr */
	struct buf text[2];      /* gathered: what there is room for */
	size_t room;             /* gathered: for text, by outputBytes */
	bool full;               /* there was no room for all of it */
	struct json_out results; /* gathered: an open array */
	struct json_out error;   /* gathered: the last one, or empty */
	bool failed;             /* an error was told */
	bool truncated;          /* something of the output is missing */
	int64_t execution_count; /* -1: not told */
	bool over;               /* the terminal event was told */
	/* of one that another call has started */
	uint64_t after;    /* live: events up to here are not asked for */
	int64_t kernel_ms; /* its context's kernel runs since (unix) */
};

/** code_run_init(run, rq, id, live): Nothing is sent yet. */
void code_run_init(struct code_run *run, struct request *rq, const char *id,
		   bool live);

/** code_run_free(run): Free; all-zero is fine. */
void code_run_free(struct code_run *run);

/**
 * code_run_follow(run, l, e):
 * Tell all events of the run that was started on ${l}, or with NULL of one
 * that another call has started, up to its end. What goes wrong after the
 * first is told as an event, so that every reader that is still there gets
 * exactly one terminal event; with ${live} false this answers. A client that
 * went away is no error.
 * Blocks: until the run ends or the client goes.
 */
FALLIBLE enum err code_run_follow(struct code_run *run, struct link *l,
				  struct errinfo *e);

#endif

/*
 * One run of warren-git, from here: what it is asked, what it tells, and what
 * a failure of it is called.
 *
 *	OWN(git_call_free) struct git_call x = GIT_CALL_INIT;
 *	x.ask.rq = rq, x.op = "git.status", …
 *	r = link_open(rq, LINK_START, &x.d.link, e);
 *	r = git_call_start(&x, e);
 *	r = git_call_read(&x, &rec, e);
 */
#ifndef FCGI_GIT_CALL_H
#define FCGI_GIT_CALL_H

#include "fcgi/direct.h"
#include "fcgi/git_ask.h"
#include "fcgi/json_out.h"
#include "fcgi/sse.h"

#define GIT_CALL_ANSWER_MAX (24U * MIB)
#define GIT_CALL_TIMEOUT_MS 600000

struct git_call {
	struct git_ask ask;
	const char *what; /* "clone", for sentences */
	const char
	    *command; /* it is listed as an execution, as this; or NULL */
	/* called for each row but PATH; NULL: there is none */
	void (*row)(void *arg, const struct git_row *row);
	void *arg;
	struct sse *sse; /* its progress goes there, or NULL */
	struct direct d;
	struct buf got;
	struct json_out paths; /* an array of the rows PATH */
	id_text_t id;
};

#define GIT_CALL_INIT                                                          \
	{                                                                      \
		.ask = GIT_ASK_INIT, .d = DIRECT_INIT,                         \
		.got = BUF_INIT(2 * GIT_RECORD_MAX),                           \
		.paths = JSON_OUT_INIT(4 * MIB)                                \
	}

void git_call_free(struct git_call *x);

/** git_call_start(x, e): x->d.link is open; ask x->ask.to. */
FALLIBLE enum err git_call_start(struct git_call *x, struct errinfo *e);

/**
 * git_call_read(x, rec, e):
 * Rows and progress, until the result, which is good; its texts are in ${x}.
 * Errors: with the failure noted.
 */
FALLIBLE enum err git_call_read(struct git_call *x, struct git_record *rec,
				struct errinfo *e);

/** git_call_path(o, key, path): A path as text, and exactly. */
void git_call_path(struct json_out *o, const char *key, const char *path);

/** git_call_paths(x, o, key): The rows PATH into the open object ${o}. */
void git_call_paths(struct git_call *x, struct json_out *o, const char *key);

#endif

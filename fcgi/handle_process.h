/* Background processes. */
#ifndef FCGI_HANDLE_PROCESS_H
#define FCGI_HANDLE_PROCESS_H

#include "fcgi/exec_body.h"
#include "fcgi/exec_status.h"
#include "store/node_process.h"

/** process_start_with(rq, x, e): Start what ${x} says; answers. */
FALLIBLE enum err process_start_with(struct request *rq, struct exec_body *x,
				     struct errinfo *e);

/* What was begun. */
struct process_begun {
	id_text_t exec;
	uint32_t pid;
};

/**
 * process_begin(rq, x, out, e):
 * The same without an answer, and without Idempotency-Key.
 * Errors: ERR_EXISTS, noted, when one of that id runs.
 */
FALLIBLE enum err process_begin(struct request *rq, struct exec_body *x,
				struct process_begun *out, struct errinfo *e);

/** process_find(rq, out, e): The row of {id}, or 404 noted. */
FALLIBLE enum err process_find(struct request *rq, struct node_process *out,
			       struct errinfo *e);

/**
 * process_now(rq, out, s, e):
 * The row and how it stands at this moment; 404 noted also when it ended and
 * had autoCleanup.
 */
FALLIBLE enum err process_now(struct request *rq, struct node_process *out,
			      struct exec_status *s, struct errinfo *e);

/** process_named(rq, id, out, s, e): The same for another id. */
FALLIBLE enum err process_named(struct request *rq, const char *id,
				struct node_process *out, struct exec_status *s,
				struct errinfo *e);

#endif

/* An execution's events as the wire's: for exec and process streams. */
#ifndef FCGI_EXEC_TELL_H
#define FCGI_EXEC_TELL_H

#include "base/keeper_msg.h"
#include "fcgi/sse.h"
#include "fcgi/utf8.h"

/* "stdout"/"stderr" events, characters joined over reads. */
struct exec_tell {
	struct sse sse;
	const char *process_id; /* NULL: an exec stream */
	bool base64;
	struct utf8 part[2]; /* stdout, stderr */
};

/** exec_tell_chunk(t, ev, e): An OUT or ERR event. */
FALLIBLE enum err exec_tell_chunk(struct exec_tell *t,
				  const struct keeper_event *ev,
				  struct errinfo *e);

/**
 * exec_tell_json(t, ev, e):
 * A kernel's RESULT, ERROR or DONE of a code run, as it is stored: parsed
 * and written anew under "data". Not JSON: left out.
 */
FALLIBLE enum err exec_tell_json(struct exec_tell *t,
				 const struct keeper_event *ev,
				 struct errinfo *e);

/** exec_tell_encoding(rq, t, e): ?encoding=base64. */
FALLIBLE enum err exec_tell_encoding(struct request *rq, struct exec_tell *t,
				     struct errinfo *e);

/** exec_tell_gap(t, from, to, e): Those events were dropped. */
FALLIBLE enum err exec_tell_gap(struct exec_tell *t, uint64_t from, uint64_t to,
				struct errinfo *e);

/** exec_tell_rest(t, e): Before the terminal event: cut characters. */
FALLIBLE enum err exec_tell_rest(struct exec_tell *t, struct errinfo *e);

/** exec_tell_text(t, kind, text, e): A line of ours in stdout or stderr. */
FALLIBLE enum err exec_tell_text(struct exec_tell *t, enum event_kind kind,
				 const char *text, struct errinfo *e);

/** exec_tell_timed_out(ms, out, n): "Command timed out after Nms\n". */
void exec_tell_timed_out(int64_t ms, char *out, size_t n);

/** exec_exit_code(end): 124 for a timeout, else the program's. */
int exec_exit_code(enum end_reason reason, int exit_code);

#endif

/*
 * The text in which a session's shell leaves its state (session.bash): one
 * "declare" for each variable, then functions, aliases and options, and two
 * last lines that tell how the shell ended and that all of it was saved. It is
 * a tenant's text: nothing here believes more of it than its length.
 */
#ifndef SANDBOX_SESSION_STATE_H
#define SANDBOX_SESSION_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define SESSION_SAVED "# saved\n"

struct session_tail {
	bool through;    /* the command ran to its end */
	const char *cwd; /* not terminated */
	size_t cwd_len;
	size_t at; /* where the two lines begin */
};

/**
 * session_state_tail(p, len, out):
 * What the last two lines of ${p} say; false: they are not there, so the
 * shell did not come to save all of it.
 */
bool session_state_tail(const char *p, size_t len, struct session_tail *out);

/**
 * session_state_trim(b):
 * Take out of ${b} the variables that each shell sets by itself, and that it
 * would refuse or ignore: they differ from call to call, and reading them is a
 * good part of what a call costs.
 */
void session_state_trim(struct buf *b);

/**
 * session_state_same(a, b):
 * Two states that were trimmed are the same but for how their shells ended.
 */
bool session_state_same(const struct buf *a, const struct buf *b);

#endif

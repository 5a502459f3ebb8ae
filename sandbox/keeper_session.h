/*
 * Sessions: what a shell keeps from one call to the next (directory,
 * variables, functions, aliases, options). Each call is a fresh bash that
 * restores the state, runs the command and saves the state (session.bash), so
 * nothing a command does can wedge its session. Calls of one session run one
 * after another, but for those with KF_ASIDE, which start at once from the
 * state as it is; background processes start from it and change none.
 */
#ifndef SANDBOX_KEEPER_SESSION_H
#define SANDBOX_KEEPER_SESSION_H

#include "sandbox/keeper.h"

#define SESSIONS_MAX 256
#define SESSION_STATE_MAX (4U << 20)

struct session {
	struct keeper *keeper;
	id_text_t id;
	int64_t created_ms;
	struct buf state;   /* text that bash can source */
	char *cwd;          /* as the last call left it; NULL: /workspace */
	struct exec *call;  /* the one whose turn it is */
	struct exec *waits; /* those behind it, the next first */
	uint64_t turns;     /* calls that began */
	uint64_t taken;     /* the one whose state it is */
	int refs;           /* executions that point here */
	bool ended;         /* deleted; goes with its last execution */
	struct session *next;
};

/** session_find(k, id): The session of that id, or NULL. */
struct session *session_find(struct keeper *k, const char *id);

/**
 * session_new(k, id, cwd, env, envc, out, e):
 * Make one that starts in ${cwd} ("": /workspace) with the ${env} entries
 * set ("K=V") or unset ("K"). Errors: ERR_ARG (id), ERR_EXISTS, ERR_LIMIT,
 * ERR_NOMEM.
 */
FALLIBLE enum err session_new(struct keeper *k, const char *id, const char *cwd,
			      const char *const *env, uint32_t envc,
			      struct session **out, struct errinfo *e);

/**
 * session_end(k, id, grace_ms):
 * Forget its state and kill what it started; false: there is none.
 */
bool session_end(struct keeper *k, const char *id, uint32_t grace_ms);

/**
 * session_wrap(s, out, args):
 * The start of a shell that runs ${s}'s argv (pieces of one command) with its
 * env and cwd for this call only, as session.bash says. ${out} borrows from
 * ${s} and from ${args}, which the caller frees. False: no memory.
 */
bool session_wrap(const struct keeper_start *s, struct keeper_start *out,
		  const char ***args);

/** session_file(state, len): What that shell's descriptor 3 is; -1: none. */
int session_file(const char *state, size_t len);

/**
 * session_enter(x, id, spawn, fds, e):
 * Start ${x}, or put it behind those of its session, which is made if there
 * is none (with KF_SESSION_HAVE: ERR_NOT_FOUND, "session"). Owns: takes what
 * ${spawn} holds and the three descriptors on success.
 * Errors: as session_new() and init_link_spawn().
 */
FALLIBLE enum err session_enter(struct exec *x, const char *id,
				struct buf *spawn, int fds[WIRE_FDS_MAX],
				struct errinfo *e);

/**
 * session_shell_ended(x):
 * ${x} was a call in a session, has ended, and its shell came to its own end
 * (exit, exec, a signal) before it was through with the command.
 */
bool session_shell_ended(const struct exec *x);

/** session_waits(x): It is not with init yet, for others are before it. */
bool session_waits(const struct exec *x);

/**
 * session_leave(x):
 * ${x} ended or goes: take its state, unless one that began later has changed
 * something, and start the next.
 */
void session_leave(struct exec *x);

#endif

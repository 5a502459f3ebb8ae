/* Executions: start (keeper_start.c), output, ending (keeper_end.c). */
#ifndef SANDBOX_KEEPER_EXEC_H
#define SANDBOX_KEEPER_EXEC_H

#include "sandbox/keeper.h"

#define EXEC_SWEEP_MS 1000

/** exec_find(k, id): The execution of that id, or NULL. */
struct exec *exec_find(struct keeper *k, const char *id);

/** exec_by_tag(k, tag): A running one by its tag, or NULL. */
struct exec *exec_by_tag(struct keeper *k, uint32_t tag);

/**
 * exec_new(k, id, kind, ring_bytes, e):
 * Enter a new execution into the table.
 * Errors: ERR_ARG (id), ERR_EXISTS, ERR_LIMIT (too many run), ERR_NOMEM.
 */
FALLIBLE enum err exec_new(struct keeper *k, const char *id,
			   enum exec_kind kind, uint64_t ring_bytes,
			   struct exec **out, struct errinfo *e);

/**
 * exec_start(k, s, fds, nfds, out, e):
 * Make pipes and ask init for the program. STARTED or REFUSED goes to
 * (out->starter, starter_tag), which the caller sets. Owns: ${fds} are
 * duplicated as needed and stay the caller's.
 * Errors: as exec_new(), ERR_ARG, ERR_IO.
 */
FALLIBLE enum err exec_start(struct keeper *k, const struct keeper_start *s,
			     const int *fds, int nfds, struct exec **out,
			     struct errinfo *e);

/** exec_event(x, kind, data, len): Append to its log, wake its readers. */
void exec_event(struct exec *x, enum event_kind kind, const void *data,
		size_t len);

/**
 * exec_announce(x): The recorder hears of ${x}, which runs now; soon, but not
 * at once: what it does to hear and to store would take the processor from the
 * program and from those who wait for it. Until then the ring holds all.
 * exec_announce_all(k): now, of all.
 * exec_late(k): Of some the recorder heard that late and has not asked yet.
 */
void exec_announce(struct exec *x);
void exec_announce_all(struct keeper *k);
bool exec_late(const struct keeper *k);

/** exec_recorded(x, seq): The recorder has committed up to ${seq}. */
void exec_recorded(struct exec *x, uint64_t seq);

/** exec_drain(x): Read all that is in its pipes now. */
void exec_drain(struct exec *x);

/** exec_pause_check(x): Stop or go on reading, as its readers keep up. */
void exec_pause_check(struct exec *x);

/** exec_unpause(x): Read its output again; it is about to end. */
void exec_unpause(struct exec *x);

/** exec_stdin(x, data, len, eof, e): Write to its stdin, or close it.
 * Errors: ERR_STATE (not open), ERR_LIMIT (too much waits). */
FALLIBLE enum err exec_stdin(struct exec *x, const void *data, size_t len,
			     bool eof, struct errinfo *e);

/** exec_start_limit(x): Init must answer its start some time. */
void exec_start_limit(struct exec *x);

/** exec_signal(x, sig, all): To its main process or all it started. */
void exec_signal(struct exec *x, uint32_t sig, bool all);

/** exec_kill(x, reason, grace_ms): TERM to all, grace, KILL to all. A call
 * that still waits for its turn in a session is refused, and freed. */
void exec_kill(struct exec *x, enum end_reason reason, uint32_t grace_ms);

/** exec_output_over(x): It has printed more than it may, and is ended. */
void exec_output_over(struct exec *x);

/** exec_kill_strays(k): KILL to all that ended ones left running; of how
 * many of them something is left as of now. */
uint32_t exec_kill_strays(struct keeper *k);

/** exec_finish(x, end): The END event; ${x} is ended then. */
void exec_finish(struct exec *x, const struct keeper_end *end);

/** exec_gone(x): The sandbox ended under it. */
void exec_gone(struct exec *x);

/** exec_never(x, code, what): It does not begin: who started it and who follows
 * it are told. ${x} is freed. */
void exec_never(struct exec *x, enum err code, const char *what);

/** exec_free(x): Out of the table; it must have ended or never started. */
void exec_free(struct exec *x);

/** exec_sweep_soon(k, wait_ms): Free ended ones that nobody needs any more,
 * and see who does not read, in so long; then again, but only while there is
 * any of both: the keeper of an idle sandbox sleeps. */
void exec_sweep_soon(struct keeper *k, int wait_ms);

/** exec_item(x, item): What LIST, STATUS and SUBSCRIBE tell of it. */
void exec_item(const struct exec *x, struct keeper_item *item);

/* ---- answers of init; what does not fit the state is ignored ---- */

/** exec_spawned(x, pid): It runs, as ${pid} inside. */
void exec_spawned(struct exec *x, uint32_t pid);

/** exec_failed(x, step, sys): It never ran; ${x} is freed. */
void exec_failed(struct exec *x, uint8_t step, uint32_t sys);

/** exec_exited(x, signalled, status, empty): Its main process was reaped. */
void exec_exited(struct exec *x, bool signalled, uint32_t status, bool empty);

/** exec_signalled(x): One more signal was sent. */
void exec_signalled(struct exec *x);

/** exec_emptied(x): The last that it had started is gone. */
void exec_emptied(struct exec *x);

#endif

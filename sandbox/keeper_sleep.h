/*
 * Sleep: all that runs in the sandbox is stopped, and goes on where it was.
 * The keeper does it by itself, with the one descriptor that can: it alone
 * knows what goes on, and whoever asks something of a sandbox asks it. So no
 * call comes between a look and a sleep, and no worker and no broker is
 * needed for a wake.
 *
 * Memory that the kernel can take back, files above all, it takes when it is
 * short. It is not taken ahead: a wake would read the same again.
 *
 * What waits for a program's end, its time limit above all, waits longer by
 * as long as it slept.
 */
#ifndef SANDBOX_KEEPER_SLEEP_H
#define SANDBOX_KEEPER_SLEEP_H

#include "sandbox/keeper_request.h"

/** sleep_used(k): Something is wanted of it now: it counts as use, and wakes
 * it. */
void sleep_used(struct keeper *k);

/** sleep_mark(k): It was in use until now. */
void sleep_mark(struct keeper *k);

/** sleep_wake(k): It goes on, if it sleeps; no use by itself. One that cannot
 * be woken is ended. */
void sleep_wake(struct keeper *k);

/** sleep_counts(x): As long as ${x} runs, the sandbox is in use. Background
 * processes, terminals, idle contexts and standing watches do not count. */
bool sleep_counts(const struct exec *x);

/** sleep_request_state(c, msg), _wake, _sleep: STATE, WAKE, SLEEP; as
 * request_handle(). */
bool sleep_request_state(struct client *c, struct wire_msg *msg);
bool sleep_request_wake(struct client *c, struct wire_msg *msg);
bool sleep_request_sleep(struct client *c, struct wire_msg *msg);

#endif

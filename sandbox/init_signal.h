/* Signals to all that an execution started. */
#ifndef SANDBOX_INIT_SIGNAL_H
#define SANDBOX_INIT_SIGNAL_H

#include "base/loop.h"
#include "sandbox/init_exec.h"

/**
 * init_signal_leaf(tag, sig):
 * Send ${sig} to every process of the execution's cgroup; SIGKILL reaches
 * also those that are just being forked.
 */
void init_signal_leaf(uint32_t tag, int sig);

/**
 * init_signal_follow(l, x, sig):
 * The same, and for some seconds also to those that are forked meanwhile: each
 * process gets ${sig} once, however its parent was interrupted.
 * Owns: a timer of ${l} until init_signal_end(x).
 */
void init_signal_follow(struct loop *l, struct init_exec *x, int sig);

/** init_signal_end(x): Follow no more. */
void init_signal_end(struct init_exec *x);

#endif

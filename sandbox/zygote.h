/*
 * Zygotes and who asks for forks. A line is a row of zygotes.def in an
 * image: at most one zygote of it serves, one warms up to replace it. Each
 * is replaced after an hour or many forks, so that its children do not share
 * one layout of memory for long, and after it ended or failed.
 */
#ifndef SANDBOX_ZYGOTE_H
#define SANDBOX_ZYGOTE_H

#include "sandbox/broker.h"

struct zygotes;

/**
 * zygotes_open(b, listen_fd, e):
 * Start one of each row and serve requests from ${listen_fd}.
 * Owns: takes ${listen_fd}. Errors: ERR_NOMEM, ERR_IO. That none can be
 * started is no error: contexts start by exec then.
 */
FALLIBLE enum err zygotes_open(struct broker *b, int listen_fd,
			       struct errinfo *e);

/** zygotes_close(b): Kill and reap them, drop who waits. */
void zygotes_close(struct broker *b);

#endif

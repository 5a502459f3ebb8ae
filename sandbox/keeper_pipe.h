/* The pipes of an execution: output in, stdin out. */
#ifndef SANDBOX_KEEPER_PIPE_H
#define SANDBOX_KEEPER_PIPE_H

#include "sandbox/keeper.h"

/** pipe_watch(x, p, fd, kind, e): Read ${fd} (then ours) into the log. */
FALLIBLE enum err pipe_watch(struct exec *x, struct exec_pipe *p, int fd,
			     enum event_kind kind, struct errinfo *e);

/** pipe_read(p): Read once; false when nothing more is there now. */
bool pipe_read(struct exec_pipe *p);

/** pipe_close(x): Close all three. */
void pipe_close(struct exec *x);

/** pipe_write(x): Write what waits for stdin, close it at its end. */
void pipe_write(struct exec *x);

/** pipe_pause(x, paused): Watch its output pipes, or not. */
void pipe_pause(struct exec *x, bool paused);

#endif

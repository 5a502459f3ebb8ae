/*
 * Asking the broker, on R/fork.sock (SEQPACKET), to fork a context from a
 * zygote. Apart from broker.sock since descriptors come along: what becomes
 * 0, 1, 2 and 3 of the new process. One request for each connection; closing
 * it gives the request up.
 */
#ifndef BASE_FORK_MSG_H
#define BASE_FORK_MSG_H

#include <stdint.h>

#include "base/err.h"

#define FORK_MAGIC 0x57524631U
#define FORK_FDS 4
#define FORK_NAME_MAX 15

struct fork_req {
	uint32_t magic;
	uint32_t user;                    /* enum init_user */
	char id[32];                      /* a sandbox id, 0-padded */
	char image[32];                   /* the sandbox's, 0-padded */
	char language[FORK_NAME_MAX + 1]; /* of kernels.def, 0-padded */
};

struct fork_reply {
	uint32_t magic;
	uint32_t err; /* enum err */
	uint32_t pid; /* as seen inside; its parent is the sandbox's init */
	uint32_t step;
};

/* What came of it. The answer brings the listener along. */
struct fork_done {
	uint32_t pid;
	int listener; /* of its filter, for init to serve; -1: it has none */
};

_Static_assert(sizeof(struct fork_req) == 88, "fixed size");
_Static_assert(sizeof(struct fork_reply) == 16, "fixed size");

/**
 * fork_call(run_dir, req, fds, deadline_ms, out, e):
 * Ask and wait for the answer; magic is filled in here. The process is in
 * the sandbox and confined when this returns, in none of init's cgroups yet.
 * Owns: ${fds} stay the caller's, ${out}'s listener is it, too.
 * Errors: ERR_NOT_FOUND (no broker),
 * ERR_STATE (no such sandbox runs, or no zygote is ready), ERR_LIMIT
 * (processes), ERR_IO, ERR_TIMEOUT.
 * Blocks: until the deadline (monotonic ms). Threads: any.
 */
FALLIBLE enum err fork_call(const char *run_dir, struct fork_req *req,
			    const int fds[FORK_FDS], int64_t deadline_ms,
			    struct fork_done *out, struct errinfo *e);

/** fork_reply_send(fd, r, listener): The broker's answer; without waiting. */
void fork_reply_send(int fd, const struct fork_reply *r, int listener);

#endif

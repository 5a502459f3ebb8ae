/* The bash that runs the cells, and what it is told and tells. */
#ifndef KERNEL_SHELL_H
#define KERNEL_SHELL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* Descriptors that driver.bash finds in /proc/KERNEL/fd. */
#define SHELL_FD_WHOLE 4  /* the cell as one command: "{ CELL\n}" */
#define SHELL_FD_PIECES 5 /* the cell as it is */
#define SHELL_FD_ERRORS 6 /* what bash says of a cell that cannot run */
#define SHELL_FD_TOLD 7   /* a pipe: what the shell tells */
#define SHELL_FD_BEGIN 8  /* how a run begins */

/* Stands before the cell: that it runs, and silently under set -x. */
#define SHELL_GO "{ __w_go; } 2>/dev/null; "

struct shell {
	pid_t pid;
	int in;    /* the shell's input */
	int told;  /* the other end of SHELL_FD_TOLD */
	int input; /* what a cell may read, or -1: nothing */
	struct buf rx;
	struct buf line;
};

/** shell_hold(): First of all: the low descriptors are this program's. */
bool shell_hold(void);

/**
 * shell_start(sh, at):
 * Start bash with driver.bash, which stands beside this program. ${at} names
 * where its display() goes.
 * Errors: false with errno.
 */
bool shell_start(struct shell *sh, const char *at);

/** shell_cell(code, n): Put a cell where the shell finds it. */
bool shell_cell(const char *code, size_t n);

/**
 * shell_input(sh, text, n):
 * What the next cell may read; ${text} NULL: nothing. A file of its own, since
 * jobs of earlier cells may still have theirs.
 */
bool shell_input(struct shell *sh, const char *text, size_t n);

/** shell_errors(out): What bash said of it. Owns: ${out} is the caller's. */
void shell_errors(struct buf *out);

/**
 * shell_add(sh, text), shell_add_quoted(sh, text), shell_say(sh):
 * Build a line of input and send it. An interrupt may throw the first part of
 * a line away and leave the rest: so none has quotes, but for the first.
 */
void shell_add(struct shell *sh, const char *text);
void shell_add_quoted(struct shell *sh, const char *text);
void shell_say(struct shell *sh);

/** shell_begin(sh): Put the line into SHELL_FD_BEGIN, and say that. */
bool shell_begin(struct shell *sh);

/** shell_fill(sh): Read what the shell told; false when there is none. */
bool shell_fill(struct shell *sh);

/**
 * shell_told(sh, len):
 * The next thing told, as a string, or NULL; ${len} is its length. Call
 * shell_drop(sh, len) when it is done with.
 */
const char *shell_told(struct shell *sh, size_t *len);
void shell_drop(struct shell *sh, size_t len);

/** shell_interrupt(sh): SIGINT for the shell and all its descendants. */
void shell_interrupt(const struct shell *sh);

/** shell_end(status): End this process as the shell ended. */
_Noreturn void shell_end(int status);

#endif

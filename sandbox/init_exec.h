/* The executions that init knows, and their children. */
#ifndef SANDBOX_INIT_EXEC_H
#define SANDBOX_INIT_EXEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "base/wire.h"

/* A signal that all of an execution gets: init_signal.h. */
struct init_follow {
	struct loop *loop;
	struct loop_timer timer;
	int sig;
	int64_t step_ms;
	int64_t until_ms;
	pid_t *pids; /* who got it */
	size_t n, room;
};

struct init_exec {
	uint32_t tag;
	pid_t pid;
	bool exited; /* the main process was reaped */
	bool failed; /* it never became the program; say nothing of its end */
	struct init_follow follow;
	struct init_exec *next;
};

/* What SPAWN asks for; texts are in the frame's memory. */
struct init_spawn {
	uint32_t tag;
	bool fs;
	uint8_t user;
	bool strict_cwd;
	const char *cwd;
	char **argv; /* NULL at the end; the arrays are ours */
	uint32_t argc;
	char **env;
	int fds[WIRE_FDS_MAX];
	int nfds;
};

struct init_spawn_failure {
	uint8_t step; /* enum init_step */
	uint32_t sys; /* errno */
};

/**
 * init_spawn_parse(msg, s):
 * Read SPAWN whole. False when it is malformed. Owns: frees nothing on
 * failure; call init_spawn_free() in any case.
 */
bool init_spawn_parse(const struct wire_msg *msg, struct init_spawn *s);
void init_spawn_free(struct init_spawn *s);

/**
 * init_leaf_name(tag, out):
 * The name of an execution's own cgroup below the sandbox's.
 */
void init_leaf_name(uint32_t tag, char out[16]);

/**
 * init_child_start(s, pid, why):
 * Clone into a fresh leaf cgroup and become the program (or the file
 * executor). Returns once the program runs. False: nothing is left behind
 * but a child to reap when ${pid} > 0.
 * Blocks: until exec or failure.
 */
bool init_child_start(const struct init_spawn *s, pid_t *pid,
		      struct init_spawn_failure *why);

/**
 * init_child_adopt(tag, pid, why):
 * Put a living child that init did not start into a fresh leaf cgroup.
 * False: it is as it was.
 */
bool init_child_adopt(uint32_t tag, pid_t pid, struct init_spawn_failure *why);

#endif

/*
 * What a keeper says to the sandbox's init (PID 1), and what init answers.
 * Init is untrusted: a keeper checks every frame whole, and believes an exit
 * only of a tag it started itself.
 *
 * Keeper -> init; the tag names the execution:
 *  SPAWN    u8 fs (1: run the file executor, no exec), u8 user (enum
 *           init_user), u8 strict_cwd (0: "/" when cwd is missing), str cwd,
 *           u32 argc, str argv[], u32 envc, str "K=V"[]
 *           fds: stdin, stdout, stderr[, what becomes fd 3]
 *  ADOPT    u32 pid: a child of init that a zygote forked is an execution
 *           from now on; answered as SPAWN
 *           fd, or none: the listener of its filter (init_calls.h)
 *  SIGNAL   u32 signal, u8 all (0: the main process, 1: its whole cgroup);
 *           tag 0: to what is left of executions that ended. Any other is
 *           answered by SIGNALLED when it was sent, or there is none
 *
 * Init -> keeper:
 *  HELLO    once, when it is ready
 *  SPAWNED  u32 pid
 *  FAILED   u8 step (enum init_step), u32 errno
 *  EXITED   u8 signalled, u32 status (exit code or signal), u8 empty (1:
 *           nothing that the execution started is left)
 *  EMPTY    what was left after EXITED is gone now
 *  SIGNALLED  the SIGNAL of that tag was sent
 *  CALLS    call_counts (call_denial.h): have risen; a few times a second
 */
#ifndef BASE_INIT_MSG_H
#define BASE_INIT_MSG_H

enum init_msg {
	IM_SPAWN = 0x21,
	IM_SIGNAL,
	IM_ADOPT,
	IM_HELLO = 0x31,
	IM_SPAWNED,
	IM_FAILED,
	IM_EXITED,
	IM_EMPTY,
	IM_CALLS,
	IM_SIGNALLED
};

enum init_user { INIT_USER_ROOT = 0, INIT_USER_SANDBOX = 1 };

enum init_step {
	INIT_STEP_NONE = 0,
	INIT_STEP_REQUEST,
	INIT_STEP_CGROUP,
	INIT_STEP_CLONE,
	INIT_STEP_FDS,
	INIT_STEP_CWD,
	INIT_STEP_CONFINE,
	INIT_STEP_EXEC
};

#define INIT_UID 65533 /* init's own id inside */
#define INIT_SANDBOX_UID 1000
#define INIT_FD_KEEPER 3 /* the socket to the keeper */
#define INIT_FD_CGROUP 4 /* the sandbox's own v2 directory */
#define INIT_FD_CALLS 5  /* the listener of the filter, or /dev/null */
#define INIT_PAYLOAD_MAX (16U << 20)

#endif

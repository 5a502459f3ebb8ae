/*
 * What workers and the recorder say to a keeper, and what it answers.
 * Frames of wire.h; payload fields in the order listed, by wire_* values.
 * A keeper trusts its clients (SO_PEERCRED is root or warren); clients do not
 * trust the keeper: they check every frame whole.
 *
 * Client -> keeper (the tag is echoed in every answer and event):
 *
 *  START    str id, u8 kind, u32 flags, u64 timeout_ms (0: none),
 *           u32 grace_ms, u64 ring_bytes, str user, str cwd,
 *           u32 argc, str argv[], u32 envc, str "K=V"[], bytes stdin,
 *           str session ("": none; else argv is one command in pieces),
 *           with KF_OUTPUT_MAX u64 output_max (bytes of stdout and stderr)
 *           fds: stdin, stdout, stderr, as the flags say, in that order
 *           -> STARTED | REFUSED; then EVENTs if KF_ATTACH
 *           KF_FORKED (EXEC_KERNEL only): -> FDS | REFUSED; it waits for FORKED
 *           with KF_SPARE it begins only when a START with KF_CLAIM, the same
 *           argv and user comes, and is that execution from then on; grace_ms
 *           is how many of its kind there may be, or ERR_LIMIT. KF_CLAIM:
 *           -> STARTED | REFUSED, with ERR_NOT_FOUND if there is none
 *  FORKED   str id, u32 pid (as seen inside): a zygote forked the kernel with
 *           the descriptors of FDS -> STARTED | REFUSED (forgotten then);
 *           pid 0: it could not, forget it -> OK
 *           fd, or none: the listener of its filter
 *  RUN      str kernel id, str run id, u32 flags, u64 timeout_ms,
 *           u64 ring_bytes, bytes json (the kernel's RUN payload)
 *           -> STARTED | REFUSED; then EVENTs if KF_ATTACH
 *  ATTACH   str id, u64 after, u8 enum keeper_follow
 *           -> ATTACHED | REFUSED; EVENTs with seq > after; KEEPER_REPLAY:
 *           REPLAYED when all that is there was sent
 *  SIGNAL   str id, u32 signal, u8 all (0: main process, 1: everything the
 *           execution started) -> OK | REFUSED
 *  KILL     str id, u32 grace_ms, u8 reason: TERM to all, grace, KILL
 *           -> OK | REFUSED at once; END comes in the event log
 *  KILL_STRAYS  KILL to all that ended executions left running; needs no new
 *           process -> STRAYS; ask again until it is 0
 *  STDIN    str id, bytes data, u8 eof -> OK | REFUSED
 *  STATUS   str id -> ITEM | REFUSED
 *  LIST     -> ITEM for each execution, then OK with i64 unix_ms, since when
 *           the keeper lives: what began before is not its own
 *  FORGET   str id: drop a finished execution -> OK | REFUSED
 *  PORT_OPEN   u16 port, str key, where it is bounded u64 bytes a second; fd:
 *           the listening preview socket
 *           -> OK | REFUSED
 *  PORT_CLOSE  str key: stop listening, cut its connections -> OK | REFUSED
 *  SUBSCRIBE   (recorder) -> ITEM for each execution there is and each that
 *           comes later, a moment after it began, with SUBSCRIBE's tag; the
 *           recorder ATTACHes to each
 *  ACK      str id, u64 seq: committed up to seq; no answer
 *  PING     -> OK
 *  USAGE    -> USAGE_IS
 *  SESSION_NEW  str id, str cwd, u32 n, str "K=V" or "K" (unset)[]
 *           -> OK | REFUSED; a START in an unknown session makes one, too
 *  SESSION_END  str id, u32 grace_ms: kill what it runs -> OK | REFUSED
 *  SESSION_LIST -> SESSION for each, then OK
 *  SESSION_GET str id -> SESSION | REFUSED
 *  CALLS    -> CALLS_ARE
 *  PORT_CHECK  u16 port, u8 http (0: a connection is enough), u32 wait_ms,
 *           str path -> PORT_IS
 *  STATE    -> STATE_IS
 *  WAKE     it runs from here on, and is in use as long as this connection is
 *           -> STATE_IS; asleep: it was
 *  SLEEP    u8 enum keeper_sleep, i64 unix_ms: stop all in it
 *           -> STATE_IS | REFUSED
 *           Whatever else needs something to run in it wakes it: START, RUN,
 *           SIGNAL, KILL, STDIN, FORKED, a preview's connections and bytes.
 *
 * Keeper -> client:
 *
 *  STARTED  u32 pid (as seen inside; 0 for a RUN)
 *  FDS      fds: what becomes 0, 1, 2 and 3 of a kernel
 *  REFUSED  u32 enum err, str what (a step or field, for logs and 4xx text)
 *  ATTACHED u64 first (oldest seq still there), u64 next, u8 ended
 *  EVENT    u64 seq, u8 kind, i64 unix_ms, bytes data
 *  GAP      u64 first: events before it were dropped
 *  REPLAYED
 *  ITEM     str id, u8 kind, u8 state, u32 pid, i32 exit_code, u8 reason,
 *           u64 first, u64 next, i64 started_ms, i64 ended_ms (0: running),
 *           hits (keeper_hit.h)
 *  OK
 *  USAGE_IS u64 disk used, limit (bytes), u64 inodes used, limit,
 *           u64 memory used, limit (bytes), u64 pids used, limit
 *  SESSION  str id, u8 busy, i64 created_ms, str cwd
 *  CALLS_ARE  call_counts (call_denial.h)
 *  STRAYS   u32 ended executions of which something was left
 *  PORT_IS  u8 open, u16 HTTP status (0: none)
 *  STATE_IS u8 bits (1: asleep, 2: and nothing in it runs any more, 4: in
 *           use), i64 unix_ms of its last use
 *
 * Data of an EVENT by kind:
 *  OUT, ERR        bytes as read
 *  RESULT, ERROR, DONE   the kernel's JSON, unchecked
 *  END             i32 exit_code, u8 signal (0: none), u8 reason,
 *                  u8 bits (1: kernel lost, 2: a session's shell ended before
 *                  its command did), u64 stdout_bytes, u64 stderr_bytes,
 *                  u64 dropped_bytes, i64 duration_ms, hits (keeper_hit.h)
 */
#ifndef BASE_KEEPER_MSG_H
#define BASE_KEEPER_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/keeper_hit.h"
#include "base/wire.h"

enum keeper_msg {
	KM_START = 1,
	KM_RUN,
	KM_ATTACH,
	KM_SIGNAL,
	KM_KILL,
	KM_STDIN,
	KM_STATUS,
	KM_LIST,
	KM_FORGET,
	KM_PORT_OPEN,
	KM_PORT_CLOSE,
	KM_SUBSCRIBE,
	KM_ACK,
	KM_PING,
	KM_USAGE,
	KM_SESSION_NEW,
	KM_SESSION_END,
	KM_SESSION_LIST,
	KM_FORKED,
	KM_SESSION_GET,
	KM_PORT_CHECK,
	KM_KILL_STRAYS,
	KM_CALLS,
	KM_STATE,
	KM_WAKE,
	KM_SLEEP,
	KM_STARTED = 0x81,
	KM_REFUSED,
	KM_ATTACHED,
	KM_EVENT,
	KM_GAP,
	KM_REPLAYED,
	KM_ITEM,
	KM_OK,
	KM_USAGE_IS,
	KM_SESSION,
	KM_FDS,
	KM_PORT_IS,
	KM_STRAYS,
	KM_CALLS_ARE,
	KM_STATE_IS
};

enum keeper_flag {
	KF_ATTACH = 1,        /* events follow on this connection */
	KF_KILL_ON_CLOSE = 2, /* this connection closes: kill (run: SIGINT) */
	KF_STDIN_OPEN = 4,    /* stdin is a pipe fed by STDIN messages */
	KF_MERGE = 8,         /* stderr goes where stdout goes */
	KF_STDIN_FD = 16,     /* fds carry stdin … */
	KF_STDOUT_FD = 32,    /* … stdout: not read by the keeper */
	KF_STDERR_FD = 64,
	KF_FORKED = 128,       /* the program is forked from a zygote */
	KF_SESSION_HAVE = 256, /* ERR_NOT_FOUND rather than a new session */
	KF_WALL = 512, /* timeout_ms is the sandbox's limit, not the caller's */
	KF_ASIDE =
	    1024, /* it does not wait for the other calls of its session */
	KF_SPARE = 2048,     /* with KF_FORKED: a spare one, not begun */
	KF_CLAIM = 4096,     /* a spare one begins */
	KF_OUTPUT_MAX = 8192 /* it is ended when it prints more than that */
};

enum keeper_follow {
	KEEPER_REPLAY = 0,
	KEEPER_FOLLOW,
	/* The program waits for this reader, within limits, rather than it
	 * loses output: a terminal's. */
	KEEPER_FOLLOW_OWNER
};

/* Which sandbox may be put to sleep. */
enum keeper_sleep {
	KEEPER_SLEEP_UNUSED = 0, /* one not in use, nor used since unix_ms */
	KEEPER_SLEEP_QUIET, /* one in which no call runs; whoever reads waits */
	KEEPER_SLEEP_ANY    /* calls stop in the middle, too */
};

enum exec_kind {
	EXEC_CALL = 1, /* a plain call */
	EXEC_PROCESS,  /* a background process */
	EXEC_FS,       /* file executor: argv[0] names the operation */
	EXEC_GIT,      /* warren-git */
	EXEC_KERNEL,   /* the program behind a context; fd 3 is its control */
	EXEC_RUN       /* one code run in a context */
};

enum exec_state { EXEC_STARTING = 1, EXEC_RUNNING, EXEC_ENDED };

enum event_kind {
	EVENT_OUT = 1,
	EVENT_ERR,
	EVENT_RESULT,
	EVENT_ERROR,
	EVENT_DONE,
	EVENT_END
};

/* Why an execution ended: a closed set, told to tenants by these names. */
#define END_REASONS(X)                                                         \
	X(EXITED, "exited")                                                    \
	X(SIGNALLED, "signalled")                                              \
	X(TIMED_OUT, "timed_out")                                              \
	X(OUT_OF_MEMORY, "out_of_memory")                                      \
	X(OUTPUT_LIMIT, "output_limit")                                        \
	X(DISK_LIMIT, "disk_limit")                                            \
	X(KILLED, "killed")                                                    \
	X(INTERRUPTED, "interrupted")                                          \
	X(SANDBOX_GONE, "sandbox_gone")

enum end_reason {
	END_NONE = 0,
#define X(name, text) END_##name,
	END_REASONS(X)
#undef X
};

#define KEEPER_PAYLOAD_MAX (72U << 20) /* a kernel frame and its head */
#define EXIT_TIMED_OUT 124
#define RING_BYTES_DEFAULT (1U << 20)

struct keeper_end {
	int32_t exit_code; /* 128 + signal when signalled */
	uint8_t signal;
	enum end_reason reason;
	bool kernel_lost;
	bool shell_ended; /* of a session, before its command did */
	uint64_t stdout_bytes;
	uint64_t stderr_bytes;
	uint64_t dropped_bytes;
	int64_t duration_ms;
	struct keeper_hits hits;
};

struct keeper_event {
	uint64_t seq;
	enum event_kind kind;
	int64_t unix_ms;
	const char *data; /* in the reader's memory */
	size_t len;
	struct keeper_end end; /* for EVENT_END */
};

struct keeper_item {
	const char *id; /* in the reader's memory */
	enum exec_kind kind;
	enum exec_state state;
	uint32_t pid;
	int32_t exit_code;
	enum end_reason reason;
	uint64_t first;
	uint64_t next;
	int64_t started_ms;
	int64_t ended_ms;
	struct keeper_hits hits;
};

/* A limit of 0: there is none, or the use cannot be told. */
struct keeper_usage {
	uint64_t disk_used; /* bytes */
	uint64_t disk_limit;
	uint64_t inodes_used;
	uint64_t inodes_limit;
	uint64_t memory_used; /* bytes, page cache included */
	uint64_t memory_limit;
	uint64_t pids_used;
	uint64_t pids_limit;
};

/* Whether it sleeps, and what would keep it awake. */
struct keeper_state {
	bool asleep;
	bool frozen;     /* nothing in it runs any more; in a moment else */
	bool in_use;     /* a call, an execution, a reader */
	int64_t used_ms; /* unix; of the last use that ended */
};

struct keeper_session {
	const char *id; /* in the reader's memory, as cwd */
	bool busy;
	int64_t created_ms;
	const char *cwd;
};

struct keeper_start {
	const char *id;
	enum exec_kind kind;
	uint32_t flags;
	uint64_t timeout_ms;
	uint32_t grace_ms;
	uint64_t ring_bytes;
	const char *user; /* "": the sandbox's default */
	const char *cwd;  /* "": /workspace */
	const char *const *argv;
	uint32_t argc;
	const char *const *env;
	uint32_t envc;
	const char *stdin_data;
	size_t stdin_len;
	const char *session; /* NULL or "": none */
	uint64_t output_max; /* with KF_OUTPUT_MAX */
};

/** end_reason_name(r): "exited", …; "" for END_NONE. */
const char *end_reason_name(enum end_reason r);

/** end_reason_ok(v): ${v} is a member of the closed set. */
bool end_reason_ok(uint8_t v);

/** keeper_put_start(b, s): The payload of START. */
void keeper_put_start(struct buf *b, const struct keeper_start *s);

/** keeper_put_end(b, end): The data of an END event. */
void keeper_put_end(struct buf *b, const struct keeper_end *end);

/** keeper_put_item(b, item): The payload of ITEM. */
void keeper_put_item(struct buf *b, const struct keeper_item *item);

/** keeper_put_usage(b, u): The payload of USAGE_IS. */
void keeper_put_usage(struct buf *b, const struct keeper_usage *u);

/** keeper_put_session(b, s): The payload of SESSION. */
void keeper_put_session(struct buf *b, const struct keeper_session *s);

/** keeper_put_state(b, s): The payload of STATE_IS. */
void keeper_put_state(struct buf *b, const struct keeper_state *s);

/**
 * keeper_get_event(msg, ev, e), keeper_get_item(msg, item, e),
 * keeper_get_usage(msg, u, e), keeper_get_session(msg, s, e),
 * keeper_get_state(msg, s, e):
 * Read an EVENT, ITEM, USAGE_IS, SESSION or STATE_IS whole. Errors: ERR_PEER;
 * outputs untouched.
 */
FALLIBLE enum err keeper_get_event(const struct wire_msg *msg,
				   struct keeper_event *ev, struct errinfo *e);
FALLIBLE enum err keeper_get_item(const struct wire_msg *msg,
				  struct keeper_item *item, struct errinfo *e);

FALLIBLE enum err keeper_get_usage(const struct wire_msg *msg,
				   struct keeper_usage *u, struct errinfo *e);

FALLIBLE enum err keeper_get_session(const struct wire_msg *msg,
				     struct keeper_session *s,
				     struct errinfo *e);

FALLIBLE enum err keeper_get_state(const struct wire_msg *msg,
				   struct keeper_state *s, struct errinfo *e);

/**
 * keeper_refused(msg, e):
 * The refusal in a REFUSED frame as an error; text is what was refused.
 * Any other type of frame: ERR_PEER.
 */
enum err keeper_refused(const struct wire_msg *msg, struct errinfo *e);

/**
 * keeper_connect(run_dir, sandbox_id, fd, e):
 * A connection to that sandbox's keeper.
 * Errors: ERR_NOT_FOUND (no keeper lives), ERR_IO.
 */
FALLIBLE enum err keeper_connect(const char *run_dir, const char *sandbox_id,
				 int *fd, struct errinfo *e);

#endif

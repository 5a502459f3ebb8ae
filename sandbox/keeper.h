/*
 * A keeper: one per running sandbox. It holds what a sandbox's executions
 * need to outlive a worker: pipes, numbered event logs, preview sockets. One
 * loop, no threads, no powers: an own uid, an empty root, the sandbox's
 * network namespace. Workers and the recorder connect to it; it connects to
 * nobody but the sandbox's loopback.
 */
#ifndef SANDBOX_KEEPER_H
#define SANDBOX_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/call_denial.h"
#include "base/id.h"
#include "base/keeper_msg.h"
#include "base/loop.h"
#include "sandbox/keeper_usage.h"
#include "sandbox/ring.h"

#define KEEPER_LIVE_MAX 1024            /* executions that run at a time */
#define KEEPER_ENDED_KEEP 256           /* ended ones kept for readers */
#define KEEPER_ENDED_MAX 4096           /* and for a recorder that is behind */
#define KEEPER_ENDED_BYTES (8U << 20)   /* of their logs, for readers */
#define KEEPER_BEHIND_BYTES (64U << 20) /* and for a recorder */
#define KEEPER_HELD_MAX 1024 /* ended ones whose pipes survivors hold */
/* Of memory, whatever happens: half of the sandbox's, within these. A frame
 * and what readers are behind with fit into the least. */
#define KEEPER_DATA_MAX (512U << 20)
#define KEEPER_DATA_LEAST (192U << 20)
#define KEEPER_RECORDER_COMES_MS 500  /* after a start */
#define KEEPER_RECORDER_BACK_MS 10000 /* after it went */

struct client;
struct attach;
struct kernel;
struct port;
struct exec;
struct spawn_wait;
struct session;

/* One of a program's output pipes. */
struct exec_pipe {
	struct loop_watch watch;
	struct exec *exec;
	enum event_kind kind; /* EVENT_OUT or EVENT_ERR */
	uint64_t bytes;       /* read so far */
	bool paused;
	/* how often it is read: keeper_pipe.c */
	unsigned reads;
	int64_t window_ms;
	int64_t read_ms;
	struct loop_timer cool;
};

/* A call's place in its session. */
struct turn {
	bool waits;       /* others are before it */
	struct buf spawn; /* what init is asked for when its turn comes */
	int fds[WIRE_FDS_MAX];
	int state;       /* the file that the shell reads and writes */
	uint64_t number; /* among those of its session that began */
	struct exec *next;
};

struct exec {
	struct keeper *keeper;
	id_text_t id;
	uint32_t tag; /* its name between keeper and init */
	enum exec_kind kind;
	enum exec_state state;
	uint32_t flags;
	uint32_t pid;
	struct ring ring;
	struct attach *attaches;
	struct exec_pipe out;
	struct exec_pipe err;
	struct loop_watch in; /* stdin, while something is to be written */
	int in_fd;
	struct buf in_data;
	bool in_eof;
	bool paused; /* pipes are not read until a reader has caught up */
	int64_t paused_ms;
	bool given_up;       /* the recorder is not waited for any more */
	bool unheard;        /* the recorder is not told of it yet, */
	int64_t announce_ms; /* and is so at this time */
	bool late;           /* … was told as the sandbox ended */
	uint64_t timeout_ms;
	uint32_t grace_ms;
	uint64_t output_max;     /* with KF_OUTPUT_MAX */
	struct loop_timer timer; /* timeout, then grace, then last resort */
	int64_t started_ms;      /* unix */
	int64_t started_mono;
	int64_t ended_ms;
	bool exited;
	bool empty; /* nothing it started is left */
	bool signalled;
	uint32_t status;
	enum end_reason kill_reason;
	int kill_stage;
	uint32_t signals;         /* that init has not sent yet */
	struct usage_counts from; /* as it began */
	struct keeper_end end;
	uint64_t acked; /* the recorder has it up to here */
	/* who waits for STARTED */
	struct client *starter;
	uint32_t starter_tag;
	struct session *session;
	struct turn turn;
	/* contexts */
	struct kernel *kernel;    /* of an EXEC_KERNEL */
	struct exec *kernel_exec; /* of an EXEC_RUN */
	struct exec *next_run;    /* queue of the kernel */
	bool forked;              /* a kernel out of a zygote: keeper_fork.c */
	bool adopted;             /* … that init watches */
	char *spare;              /* … that has not begun: of what kind */
	int hand[4];              /* … its descriptors, until handed out */
	int nhand;
	char *run_json;
	size_t run_json_len;
	struct exec *prev, *next; /* all, oldest first */
};

struct keeper {
	struct loop loop;
	struct loop_watch listen;
	struct loop_watch init;
	struct loop_watch init_end; /* pidfd */
	struct wire_rx init_rx;
	struct wire_tx init_tx;
	struct spawn_wait *spawns, **spawns_last; /* not yet with init */
	int64_t init_said_ms;
	int null_fd;
	struct usage_fds usage;
	struct usage_counts told; /* in ENDs so far */
	struct call_counts calls; /* refused, as init says */
	uid_t warren_uid;
	int64_t since_ms; /* unix: it took its seat */
	uint32_t next_tag;
	struct exec *execs, *execs_last;
	int nlive;
	int nended;
	struct client *clients;
	int nrecorders;
	int64_t recorder_until_ms; /* monotonic: so long one may be away */
	struct loop_timer announce;
	struct port *ports;
	struct session *sessions;
	struct loop_timer sweep;
	size_t swept_bytes; /* freed by sweeps since memory was given back */
	bool asleep;        /* keeper_sleep.h */
	int64_t asleep_ms;  /* monotonic: since then */
	int64_t used_ms;    /* unix: in use until then, or is now */
	bool gone;          /* the sandbox ended; only goodbyes are left */
	int64_t goodbye_ms; /* until then */
};

#endif

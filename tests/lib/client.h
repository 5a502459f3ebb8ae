/* Broker and keeper as a worker asks them; for tests and measurements. What
 * fails ends the program with one sentence. */
#ifndef TESTS_LIB_CLIENT_H
#define TESTS_LIB_CLIENT_H

#include "base/broker_msg.h"
#include "base/buf.h"
#include "base/keeper_msg.h"

struct client_limits {
	uint64_t memory_bytes;
	uint32_t cpu_millis;
	uint32_t pids;
	uint64_t disk_bytes;
};

/* What one execution came to. */
struct client_end {
	struct buf out; /* stdout and stderr */
	struct keeper_end end;
};

/** client_ask(run_dir, type, id, limits): ${limits} for BROKER_START. */
void client_ask(const char *run_dir, enum broker_type type, const char *id,
		const struct client_limits *limits);

/**
 * client_begin(run_dir, id, name, argv), client_end(fd, out): Start the
 * execution ${name} and give the connection; read it to its END and close.
 * Free ${out}->out.
 */
int client_begin(const char *run_dir, const char *id, const char *name,
		 const char *const *argv);
void client_end(int fd, struct client_end *out);

/** client_kill(run_dir, id, name): KILL everything it has started. */
void client_kill(const char *run_dir, const char *id, const char *name);

#endif

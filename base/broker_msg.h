/*
 * Fixed-size messages to the broker on R/broker.sock (SEQPACKET). No text
 * but names of a checked form: no JSON, no paths, no tenant bytes.
 */
#ifndef BASE_BROKER_MSG_H
#define BASE_BROKER_MSG_H

#include <stdint.h>

#include "base/err.h"
#include "base/id.h"

#define BROKER_MAGIC 0x57524e31U
#define BROKER_NAME_MAX 31

enum broker_type {
	BROKER_NONE = 0,
#define MSG(name, from, text) BROKER_##name,
#include "base/broker_msg.def"
#undef MSG
};

enum broker_network { BROKER_NET_NONE = 0, BROKER_NET_INTERNET = 1 };

struct broker_req {
	uint32_t magic;
	uint32_t type;
	uint64_t cookie;
	char id[32];                     /* a sandbox id, 0-padded */
	char image[BROKER_NAME_MAX + 1]; /* [a-z0-9-], 0-padded */
	uint64_t memory_bytes;
	uint32_t cpu_millis;
	uint32_t pids;
	uint64_t disk_bytes; /* 0: no limit */
	uint32_t inodes;     /* 0: no limit */
	uint32_t network;    /* enum broker_network */
	uint8_t zero[16];
};

struct broker_reply {
	uint32_t magic;
	uint32_t type;
	uint64_t cookie;
	uint32_t err;  /* enum err */
	uint32_t step; /* which step of the set-up failed, for the log */
};

_Static_assert(sizeof(struct broker_req) == 128, "fixed size");
_Static_assert(sizeof(struct broker_reply) == 24, "fixed size");

/**
 * broker_call(run_dir, req, deadline_ms, e):
 * Ask and wait for the answer; magic and cookie are filled in here.
 * START of a sandbox that lives, STOP and DESTROY of one that does not, are
 * fine. Errors: the broker's own, ERR_TIMEOUT, ERR_NOT_FOUND (no broker).
 * Blocks: until the deadline (monotonic ms). Threads: any.
 */
FALLIBLE enum err broker_call(const char *run_dir, struct broker_req *req,
			      int64_t deadline_ms, struct errinfo *e);

#endif

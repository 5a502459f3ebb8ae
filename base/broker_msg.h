/*
 * Fixed-size messages to the broker on R/broker.sock (SEQPACKET). No text
 * but names of a checked form: no JSON, no paths, no tenant bytes.
 */
#ifndef BASE_BROKER_MSG_H
#define BASE_BROKER_MSG_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"

#define BROKER_MAGIC 0x57524e31U
#define BROKER_NAME_MAX 31
#define BROKER_CIDRS_MAX 64   /* of one sandbox, deny and allow together */
#define BROKER_DENIALS_MAX 16 /* room for kinds to come */
/* A reply's step: this machine cannot give policy internet; the log says why */
#define BROKER_STEP_NETWORK 256U
/* … and what broker_call() says then. */
#define BROKER_NO_INTERNET "no policy internet on this machine"

enum broker_type {
	BROKER_NONE = 0,
#define MSG(name, from, text) BROKER_##name,
#include "base/broker_msg.def"
#undef MSG
};

enum broker_network { BROKER_NET_NONE = 0, BROKER_NET_INTERNET = 1 };

enum broker_flag {
	/* START: files in memory, gone with it; disk_bytes is at most a
	 * quarter of memory_bytes then, and not 0. */
	BROKER_EPHEMERAL = 1,
	/* STOP: only if it sleeps, ERR_STATE else. */
	BROKER_IF_ASLEEP = 2
};

/* Why a packet of a sandbox was refused. The order is the ruleset's. */
enum broker_denial {
#define DENIAL(name, word, text) BROKER_DENIAL_##name,
#include "base/broker_denial.def"
#undef DENIAL
	BROKER_DENIAL_COUNT
};

/* IPv4 addresses: ${addr} in the machine's byte order, no bits below prefix. */
struct broker_cidr {
	uint32_t addr;
	uint8_t prefix;
	uint8_t zero[3];
};

/*
 * Sent whole, or without cidrs when there are none (BROKER_REQ_SHORT bytes).
 * With allow lists a sandbox reaches nothing else; deny wins; neither opens
 * what the policy closes.
 */
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
	uint16_t ndeny;      /* START, LISTS: that many of cidrs … */
	uint16_t nallow;     /* … then that many */
	uint32_t flags;      /* enum broker_flag */
	uint32_t cpu_weight; /* 1 to 10000, 100 is usual; 0: that */
	uint32_t open_files; /* of one process; 0: as usual */
	uint64_t file_bytes; /* of one file; 0: no limit */
	uint64_t tmp_bytes;  /* /tmp, and as much /dev/shm; 0: a quarter of
				the memory each */
	uint64_t flow;       /* START: a number of its tenant; any */
	struct broker_cidr cidrs[BROKER_CIDRS_MAX];
};

#define BROKER_REQ_SHORT offsetof(struct broker_req, cidrs)

struct broker_reply {
	uint32_t magic;
	uint32_t type;
	uint64_t cookie;
	uint32_t err;  /* enum err */
	uint32_t step; /* which step of the set-up failed, for the log */
};

/* DENIALS: what was refused since the sandbox started (or since the broker
 * did, if that was later). */
struct broker_denials {
	struct broker_reply reply;
	struct {
		uint64_t packets;
		int64_t last_unix_ms; /* 0: never */
	} of[BROKER_DENIALS_MAX];     /* by enum broker_denial */
};

_Static_assert(BROKER_REQ_SHORT == 152, "fixed size");
_Static_assert(sizeof(struct broker_req) == 664, "fixed size");
_Static_assert(sizeof(struct broker_reply) == 24, "fixed size");
_Static_assert(sizeof(struct broker_denials) == 280, "fixed size");
_Static_assert((int)BROKER_DENIAL_COUNT <= BROKER_DENIALS_MAX, "room");

/**
 * broker_call(run_dir, req, deadline_ms, e):
 * Ask and wait for the answer; magic and cookie are filled in here.
 * START of a sandbox that lives, STOP and DESTROY of one that does not, are
 * fine. Errors: the broker's own, ERR_TIMEOUT, ERR_NOT_FOUND (no broker).
 * Blocks: until the deadline (monotonic ms). Threads: any.
 */
FALLIBLE enum err broker_call(const char *run_dir, struct broker_req *req,
			      int64_t deadline_ms, struct errinfo *e);

/**
 * broker_denials(run_dir, id, out, deadline_ms, e):
 * Ask what the network refused to a live sandbox; all zero with policy none.
 * Errors: as broker_call(); ERR_NOT_FOUND also when it does not live.
 */
FALLIBLE enum err broker_denials(const char *run_dir, const char *id,
				 struct broker_denials *out,
				 int64_t deadline_ms, struct errinfo *e);

/** broker_denial_word(d): "private_address", … */
const char *broker_denial_word(enum broker_denial d);

#endif

/*
 * The broker and a zygote, on one SEQPACKET socket. A zygote has no other
 * way in or out: it is told whose sandbox, which user and which of its
 * languages, never anything that a tenant wrote.
 *
 * Broker -> zygote: struct zygote_req with descriptors: the pidfd of the
 * sandbox's init, what becomes 0, 1, 2 and 3, then one or more files of
 * cgroups, each opened for writing: "0" written there moves the writer.
 *
 * Zygote -> broker: struct zygote_say. For each request comes FORKED or
 * FAILED from the zygote itself and, after FORKED, ENTERED or FAILED from
 * the child that was forked; these may come in any order.
 */
#ifndef SANDBOX_ZYGOTE_MSG_H
#define SANDBOX_ZYGOTE_MSG_H

#include <stdint.h>

#define ZYGOTE_MAGIC 0x57525a31U
#define ZYGOTE_LANGUAGE_MAX 15
#define ZYGOTE_FD_BROKER 3 /* a zygote's own descriptors: the socket … */
#define ZYGOTE_FD_FILTER 4 /* … and the system call filters, as bytes: */

/* Then the plain one's instructions, and those of the counting one. */
struct zygote_filters {
	uint32_t plain;
	uint32_t counting;
};
#define ZYGOTE_FDS_MIN 6
#define ZYGOTE_FDS_MAX 9

enum zygote_what {
	ZYGOTE_READY = 1, /* warm, and its self-test has passed */
	ZYGOTE_FORKED,    /* the child's parent is the sandbox's init now */
	ZYGOTE_ENTERED,   /* the child is confined; pid as seen inside */
	ZYGOTE_LISTENER,  /* before that, with a descriptor: its filter's */
	ZYGOTE_FAILED
};

enum zygote_step {
	ZYGOTE_STEP_NONE = 0,
#define STEP(name) ZYGOTE_STEP_##name,
#include "sandbox/zygote_steps.def"
#undef STEP
	ZYGOTE_STEP_REQUEST
};

/* Debug builds: above the user is the step that is to fail. */
#define ZYGOTE_BROKEN_SHIFT 16

struct zygote_req {
	uint32_t magic;
	uint32_t user; /* enum init_user */
	uint64_t serial;
	char language[ZYGOTE_LANGUAGE_MAX + 1]; /* [a-z]*, 0-padded */
};

struct zygote_say {
	uint32_t magic;
	uint32_t what; /* enum zygote_what */
	uint64_t serial;
	uint32_t pid;
	uint32_t step; /* enum zygote_step */
	uint32_t sys;  /* errno */
	uint32_t zero;
};

_Static_assert(sizeof(struct zygote_req) == 32, "fixed size");
_Static_assert(sizeof(struct zygote_say) == 32, "fixed size");

#endif

/* Connections of workers and the recorder. */
#ifndef SANDBOX_KEEPER_CLIENT_H
#define SANDBOX_KEEPER_CLIENT_H

#include "sandbox/keeper.h"

/* A client's wish to get an execution's events. */
struct attach {
	struct client *client;
	struct exec *exec;
	uint32_t tag;
	uint64_t next; /* the seq that it gets next */
	bool follow;
	bool owner; /* the program waits for it rather than lose output */
	bool kill_on_close;
	struct attach *exec_next;
	struct attach *client_next;
};

/** client_accept(k): Take a connection from the listening socket. */
void client_accept(struct keeper *k);

/** client_say(c, type, tag, payload): Queue a frame; NULL client is fine. */
void client_say(struct client *c, uint16_t type, uint32_t tag,
		const struct buf *payload);

/** client_starts(c, x, tag): ${c} waits for ${x}'s STARTED. */
void client_starts(struct client *c, struct exec *x, uint32_t tag);

/** client_started(c, tag, payload): STARTED, to the starter if it is there. */
void client_started(struct client *c, uint32_t tag, const struct buf *payload);

/** client_hand(c, type, tag, fds, n): A frame with descriptors. Owns: they
 * are gone after it in any case. */
void client_hand(struct client *c, uint16_t type, uint32_t tag, int *fds,
		 int n);

/** client_refuse(c, tag, code, what): REFUSED. */
void client_refuse(struct client *c, uint32_t tag, enum err code,
		   const char *what);

/**
 * client_attach(c, x, tag, after, flags): Events with seq > ${after} follow.
 * False: no memory.
 */
struct attach *client_attach(struct client *c, struct exec *x, uint32_t tag,
			     uint64_t after);

/** client_wake(x): Send what is new of ${x} to those attached to it. */
void client_wake(struct exec *x);

/** client_announce(x): Tell subscribers of an execution, by the next
 * client_announced(k). */
void client_announce(struct exec *x);
void client_announced(struct keeper *k);

/** client_detach_all(x): Nobody is attached to ${x} any more. */
void client_detach_all(struct exec *x);

/** client_flush_all(k): Try to send all; true when nothing waits. */
bool client_flush_all(struct keeper *k);

#endif

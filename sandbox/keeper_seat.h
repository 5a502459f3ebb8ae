/*
 * Keepers that wait for a sandbox. Starting one takes as long as the rest of
 * a start, so some are forked ahead: they have done what needs no sandbox
 * and wait on descriptor 3 for their seat: whose keeper they are, and the
 * descriptors of keeper_main.c. One that is never needed ends with the broker.
 */
#ifndef SANDBOX_KEEPER_SEAT_H
#define SANDBOX_KEEPER_SEAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/id.h"
#include "sandbox/parcel.h"

#define SEATS_READY 8
#define SEAT_FD 3 /* of a keeper that waits */
/* argv[1] of one that waits, and of the process that all of them are forked
 * from (keeper_template.h); a sandbox' id is written over the former. */
#define SEAT_WAITING "waiting---------------"
#define SEAT_TEMPLATE "template--------------"

/* What a keeper is told, with its descriptors. */
struct keeper_seat {
	id_sandbox_t id;
	uint32_t uid;
	uint32_t warren_uid;
	char letters[16];
};

/* The broker's end of one that waits. */
struct keeper_waiting {
	pid_t pid;
	int pidfd;
	int socket;
};

struct keeper_pool {
	struct keeper_waiting ready[SEATS_READY];
	int nready;
};

/**
 * keeper_seat_give(pool, seat, fds, pid, pidfd):
 * The seat goes to one that waits. False: none did; start one.
 * Owns: ${pidfd} is the caller's; ${fds} stay the caller's.
 */
bool keeper_seat_give(struct keeper_pool *pool, const struct keeper_seat *seat,
		      const struct parcel_fds *fds, pid_t *pid, int *pidfd);

/** keeper_seat_add(pool, w): Keep it ready. */
void keeper_seat_add(struct keeper_pool *pool, struct keeper_waiting *w);

/** keeper_seat_end(w): End one that waits, and reap it. */
void keeper_seat_end(struct keeper_waiting *w);

/**
 * keeper_seat_wait(seat, first):
 * In the keeper: wait for the seat, then put its descriptors at ${first} and
 * on. False: there will be none. Blocks: for any time.
 */
bool keeper_seat_wait(struct keeper_seat *seat, int first);

#endif

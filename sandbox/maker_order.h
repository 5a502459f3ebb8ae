/*
 * What the broker and its makers say to each other, in parcels of one size: an
 * order, and the same with descriptors as its answer. A maker has this socket
 * as its descriptor 3.
 */
#ifndef SANDBOX_MAKER_ORDER_H
#define SANDBOX_MAKER_ORDER_H

#include <stdint.h>

#include "sandbox/parcel.h"

enum maker_kind {
	MAKER_BERTH = 1,
	MAKER_DISK,
	MAKER_KEEPER,
	MAKER_RELEASE, /* all that came with it; no answer */
	MAKER_FORSAKE  /* likewise, the first being an image's mount */
};

/* Descriptors of warren-maker. */
enum { MAKER_FD_ORDERS = 3, MAKER_FD_IMAGES, MAKER_FD_INIT };

/* argv[3] of warren-maker: whether a process that is moved into its cgroups
 * would wait there (cgroup_moves_fast()). */
#define MAKER_HUSKS "husks"
#define MAKER_NO_HUSKS "no-husks"

/* What is made ahead, and what is over, can wait for what runs; but not for
 * ever, since a maker holds locks of the kernel. */
#define MAKER_NICE 10

struct maker_order {
	uint32_t kind;       /* enum maker_kind */
	uint32_t slot;       /* MAKER_BERTH */
	uint32_t generation; /* MAKER_DISK: of what limits */
	int32_t pid;         /* the answer: of the keeper, of a husk */
	uint32_t err;
};

struct maker_parcel {
	struct maker_order order;
	struct parcel_fds fds;
};

static inline bool maker_parcel_send(int to, const struct maker_parcel *p,
				     int flags)
{
	return parcel_send(to, &p->order, sizeof(p->order), &p->fds, flags);
}

static inline bool maker_parcel_receive(int from, struct maker_parcel *p,
					int flags)
{
	return parcel_receive(from, &p->order, sizeof(p->order), &p->fds,
			      flags);
}

#endif

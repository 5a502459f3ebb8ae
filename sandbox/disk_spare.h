/*
 * Images that are copied and mounted before anybody asks: that takes longer
 * than the rest of a start. Of the limits that were asked for last. They
 * have no name until they are used, so a broker that dies leaves none.
 */
#ifndef SANDBOX_DISK_SPARE_H
#define SANDBOX_DISK_SPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sandbox/disk_image.h"

#define DISK_SPARES 8
#define DISK_SPARES_MISSES 8 /* in a row; then their limits change */

struct disk_spare {
	int image; /* locked, read and write */
	int mount; /* detached, not shifted yet */
};

struct disk_spares {
	int images;                /* directories: where copies are … */
	int templates;             /* … and templates */
	struct disk_limits limits; /* of all of them */
	int template_fd;
	uint32_t generation; /* changes with the limits */
	int misses;          /* asked for other limits, since one was taken */
	int nready;
	struct disk_spare ready[DISK_SPARES];
	int nold; /* of limits of before; unmounting takes its time */
	struct disk_spare old[2 * DISK_SPARES];
};

/**
 * disk_spare_take(s, limits, out, e):
 * One that is ready, else one made now. When they are of other limits than
 * asked for too often, the next ones have these.
 * Owns: both descriptors are the caller's. Errors: ERR_IO, ERR_LIMIT.
 */
FALLIBLE enum err disk_spare_take(struct disk_spares *s,
				  const struct disk_limits *limits,
				  struct disk_spare *out, struct errinfo *e);

/**
 * disk_spare_make(images, template_fd, out, e), disk_spare_give(s, spare,
 * generation):
 * The parts of it: make one (in any process of the machine's own namespaces;
 * blocks for 1 to 5 ms), keep it ready unless the limits have changed since.
 */
FALLIBLE enum err disk_spare_make(int images, int template_fd,
				  struct disk_spare *out, struct errinfo *e);
void disk_spare_give(struct disk_spares *s, struct disk_spare *spare,
		     uint32_t generation);

/** disk_spare_refill(s): Make one here if some are missing; true if more are
 * wanted still. */
bool disk_spare_refill(struct disk_spares *s);

/** disk_spare_tidy(s): Unmount one of those that are of no use any more.
 * Blocks: for 3 ms if there is one. */
void disk_spare_tidy(struct disk_spares *s);

void disk_spare_close(struct disk_spare *s);
void disk_spares_close(struct disk_spares *s);

#endif

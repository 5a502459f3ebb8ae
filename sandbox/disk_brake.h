/*
 * Images may promise more than the disk has. Before it is full, which would
 * be an I/O error inside and the end of our own databases, all images are
 * told to have no free block: ENOSPC inside, until there is room again.
 * What programs had written before still comes to the disk.
 */
#ifndef SANDBOX_DISK_BRAKE_H
#define SANDBOX_DISK_BRAKE_H

#include <stdbool.h>
#include <stdint.h>

#define DISK_BRAKE_EACH_MS 100

#define DISK_BRAKE_LOOPS 8192 /* device numbers that it knows */

struct disk_brake {
	bool on;
	int64_t next_ms;
	/* Which mount each device had at the last check. A new one is let off
	 * once: the overlay that is mounted on it needs some blocks. */
	uint32_t mounts[DISK_BRAKE_LOOPS];
};

/**
 * disk_brake_reserve(total):
 * Bytes of a disk that images are not to take: 5 %, but not more than the
 * fifth of the memory that may be written yet and not be on the disk, or
 * 1 GiB.
 */
uint64_t disk_brake_reserve(uint64_t total);

/**
 * disk_brake_check(b, sandboxes):
 * Look at what is free beside the directory ${sandboxes}; put on below three
 * quarters of the reserve, take off above nine tenths. Cheap; to be called
 * often.
 */
void disk_brake_check(struct disk_brake *b, int sandboxes);

#endif

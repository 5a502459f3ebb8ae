/*
 * The maker: a child of the broker that makes what sandboxes need before
 * they exist (berths, disk spares, keepers) while the broker serves. It has
 * the broker's powers and takes orders from it alone; when it dies, what is
 * missing is made by the broker itself until the next one runs. There are
 * six, since each of them mostly waits: two make berths, one makes disk
 * spares, and two enders let go what sandboxes had; these are warren-maker
 * (maker_main.c). The one for keepers is a warren-keeper (keeper_template.h).
 */
#ifndef SANDBOX_MAKER_H
#define SANDBOX_MAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"

#define MAKERS 6
#define MAKER_ASKED_MAX 16 /* berths that are being made */

struct broker;

enum maker_duty { MAKER_BERTHS, MAKER_DISKS, MAKER_KEEPERS, MAKER_ENDS };

struct maker {
	struct broker *broker;
	enum maker_duty duty;
	pid_t pid; /* 0: none runs */
	struct loop_watch watch;
	uint32_t slots[MAKER_ASKED_MAX]; /* claimed for berths asked for */
	int nslots;
	int ndisks;   /* spares asked for */
	int nkeepers; /* likewise */
};

/** maker_init(b): None of ${b}'s makers runs. */
void maker_init(struct broker *b);

/** maker_refill(b, duty): Start those that do not run; ask them for what is
 * missing. */
void maker_refill(struct broker *b, enum maker_duty duty);

/** maker_lacks(b, disk): No berth is ready (no disk spare either, with
 * ${disk}), but one is being made: live_resume() is called when it is. */
bool maker_lacks(const struct broker *b, bool disk);

/**
 * maker_release(b, tree, image, forsake):
 * Let an ender close a mount namespace and the mount of an image (each may be
 * -1): whoever does it last unmounts all that is in it, and waits for that.
 * With ${forsake} nothing is written back to the image (disk_forsake()).
 * Owns: takes both. Blocks: only if no ender can be had; for 5 ms then.
 */
void maker_release(struct broker *b, int *tree, int *image, bool forsake);

/** maker_stop(b): End all of them. What they were making is lost. */
void maker_stop(struct broker *b);

#endif

/*
 * What a sandbox has on disk and in the run directory:
 *   D/sandboxes/<id>/       its files, kept when it stops: disk.h
 *   R/sandboxes/<id>        "slot keeper started init started flow": adoption
 *   R/keepers/<id>.sock     its keeper's door
 */
#ifndef SANDBOX_LIVE_FILES_H
#define SANDBOX_LIVE_FILES_H

#include <stdbool.h>

#include "sandbox/broker.h"
#include "sandbox/keeper_usage.h"

/* Detached mounts, ids shifted to a berth's slot; see mount.h. */
struct live_layers {
	int image;    /* D/images/<name>/rootfs */
	int tools;    /* -1, or D/images/host/tools: for other images */
	int ours;     /* D/images/host/fixed, with its ids as they are */
	int usr_over; /* D/images/<name>/host-usr, or -1: no such layer … */
	int usr;      /* … over the machine's /usr */
	struct disk_files files;
};

#define LIVE_LAYERS_NONE                                                       \
	{                                                                      \
		.image = -1, .tools = -1, .ours = -1, .usr_over = -1,          \
		.usr = -1, .files = {                                          \
			.mount = -1                                            \
		}                                                              \
	}

/**
 * live_layers_open(b, req, berth, image_mount, out, e):
 * Open the image and the sandbox's files, which are made on first use.
 * ${image_mount} is what a disk_job has mounted; or -1.
 * Errors: ERR_NOT_FOUND (no such image), ERR_IO; those of disk_open().
 */
FALLIBLE enum err live_layers_open(struct broker *b,
				   const struct broker_req *req,
				   const struct berth *berth, int *image_mount,
				   struct live_layers *out, struct errinfo *e);
void live_layers_close(struct live_layers *l);

/** live_usage_open(b, id, files, out): What its keeper may read; as much of
 * it as there is. */
void live_usage_open(struct broker *b, const char *id,
		     const struct disk_files *files, struct usage_fds *out);

/** live_files_write(b, l): Leave the note by which a new broker adopts it. */
void live_files_write(struct broker *b, const struct live *l);

/** live_files_unlink(b, id): Remove note and socket. */
void live_files_unlink(struct broker *b, const char *id);

/** live_remove_files(b, id): Delete a sandbox's files, in a child. */
void live_remove_files(struct broker *b, const char *id);

#endif

/*
 * D/images: a directory for each image, root's alone (a program in it may be
 * setuid): rootfs, and about, which says what was imported. Names that begin
 * with a dot are on their way in or out.
 */
#ifndef STORE_WARREN_IMAGE_DIR_H
#define STORE_WARREN_IMAGE_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "store/warren_cli.h"
#include "store/warren_unpack.h"

#define IMAGE_NAME_MAX 31
#define IMAGE_HOST "host"

struct image_about {
	struct unpack_done done;
	int64_t imported; /* seconds; 0: not by import */
};

/* What is behind the name of an image that is … */
#define IMAGE_COMING ".new" /* being made: the next to change anything … */
#define IMAGE_GOING ".gone" /* … removes these two, and … */
#define IMAGE_HELD ".held"  /* … puts back what may still be needed */

/** warren_image_dir_open(cli, fd, e): D/images, to look at. Errors: ERR_DENIED
 * (not root), ERR_NOT_FOUND. */
FALLIBLE enum err warren_image_dir_open(struct cli *cli, int *fd,
					struct errinfo *e);

/**
 * warren_image_dir_lock(cli, fd, e):
 * The same, to change it: nobody else imports or removes meanwhile, and what
 * one that was interrupted left is put right. Errors: ERR_STATE (locked).
 */
FALLIBLE enum err warren_image_dir_lock(struct cli *cli, int *fd,
					struct errinfo *e);

/** warren_image_dir_temp(name, suffix, out): ".name.suffix". */
void warren_image_dir_temp(const char *name, const char *suffix, char out[64]);

/** warren_image_dir_name(name, e): ERR_ARG when no image can have it. */
FALLIBLE enum err warren_image_dir_name(const char *name, struct errinfo *e);

/** warren_image_dir_has(dir, name): There is an image of that name. */
bool warren_image_dir_has(int dir, const char *name);

/**
 * warren_image_dir_move(dir, from, to, e):
 * Rename where nothing has the name ${to}; it is on the disk after that.
 */
FALLIBLE enum err warren_image_dir_move(int dir, const char *from,
					const char *to, struct errinfo *e);

/** warren_image_dir_remove(dir, name, e): All that is below it. */
FALLIBLE enum err warren_image_dir_remove(int dir, const char *name,
					  struct errinfo *e);

/** warren_image_dir_note(image, about, e): Write what ${about} says into the
 * image's directory; warren_image_dir_about(dir, name, about) reads it: zeros
 * where nobody wrote. */
FALLIBLE enum err warren_image_dir_note(int image,
					const struct image_about *about,
					struct errinfo *e);
void warren_image_dir_about(int dir, const char *name,
			    struct image_about *about);

#endif

/* From a path as bytes to an open directory and a last component. */
#ifndef SANDBOX_FS_PATH_H
#define SANDBOX_FS_PATH_H

#include <limits.h>

#include "sandbox/fs_op.h"

struct fs_at {
	int dir;                 /* O_PATH; -1: none */
	char name[NAME_MAX + 1]; /* "." for "/" and for what ends in "." */
	bool must_be_dir;        /* the path ended in a slash */
	bool dots;               /* the last component is ".", ".." or "/" */
};

/** fs_at_close(at): For OWN. */
void fs_at_close(struct fs_at *at);

/**
 * fs_path_split(op, path, at):
 * Open the directory that holds the last component of ${path}, which itself
 * is not looked at.
 */
int fs_path_split(struct fs_op *op, const char *path, struct fs_at *at);

/**
 * fs_path_target(op, path, parents, at):
 * The same for what ${path} means after its last links were followed, be it
 * there or not. ${parents}: make directories that are missing on the way.
 */
int fs_path_target(struct fs_op *op, const char *path, bool parents,
		   struct fs_at *at);

/**
 * fs_path_make(op, path, made):
 * Make ${path} and every directory on the way. ${made}: the last one is new.
 */
int fs_path_make(struct fs_op *op, const char *path, bool *made);

/**
 * fs_path_open(op, dir, name, flags, st):
 * Open a regular file without waiting for it, whatever it may be. Returns
 * the descriptor; FS_IS_DIR and FS_NOT_REGULAR for what is no file. Links
 * are followed unless O_NOFOLLOW, those of /proc never.
 */
int fs_path_open(struct fs_op *op, int dir, const char *name, int flags,
		 struct stat *st);

#endif

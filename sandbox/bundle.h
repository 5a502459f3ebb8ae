/*
 * warren-bundle: a directory as one archive, and an archive as a directory,
 * inside a sandbox and as its user. It is started as a file executor and
 * speaks base/fs_msg.h.
 *
 *	warren-bundle pack FORMAT PATH     tar, tar.gz, tar.zst, zip
 *	warren-bundle unpack LINKS PATH    LINKS: inside, all
 *	warren-bundle backup GITIGNORE PATH
 *	warren-bundle restore PATH
 *
 * A backup is a tar.zst that is read by nobody but restore: it has what the
 * directory itself is, owners, all bits of modes and holes besides.
 */
#ifndef SANDBOX_BUNDLE_H
#define SANDBOX_BUNDLE_H

#include <archive.h>
#include <archive_entry.h>

#include "sandbox/fs_op.h"

#define BUNDLE_TEXT_MAX 512U
#define BUNDLE_ENTRIES_MAX 1000000U

struct bundle {
	struct fs_op op;
	char text[BUNDLE_TEXT_MAX]; /* what is wrong with the archive */
	uint64_t entries;
	uint64_t bytes;
};

/** bundle_pack(b, format, path), bundle_unpack(b, links, path): 0 or -1. */
int bundle_pack(struct bundle *b, const char *format, const char *path);
int bundle_unpack(struct bundle *b, const char *links, const char *path);

/** bundle_backup(b, gitignore, path), bundle_restore(b, path): 0 or -1. */
int bundle_backup(struct bundle *b, const char *gitignore, const char *path);
int bundle_restore(struct bundle *b, const char *path);

/* ---- what the two have in common with archives ---- */

struct bundle_skip;
struct bundle_stage;

/**
 * bundle_pack_whole(b, skip, path, where):
 * Send the head, and ${path} as a backup but for what ${skip} says, in
 * chunks and their end. On failure ${where} is what was being packed.
 */
int bundle_pack_whole(struct bundle *b, const struct bundle_skip *skip,
		      const char *path, char where[BUNDLE_TEXT_MAX]);

/** bundle_unpack_whole(b, stage): A backup into the stage's root. */
int bundle_unpack_whole(struct bundle *b, struct bundle_stage *stage);

/* ---- bundle_io.c ---- */

/** bundle_refuse(b, fmt, ...): The archive is at fault: FS_BAD_ARCHIVE with a
 * text. Returns -1. */
int bundle_refuse(struct bundle *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#define BUNDLE_PIECE (256U << 10)

/* The chunks of fd 0. */
struct bundle_in {
	uint32_t left; /* of the chunk */
	bool ended;    /* the chunk of length 0 came */
	bool cut;
	bool again; /* what is in data was only looked at */
	size_t have;
	char data[BUNDLE_PIECE];
};

/** bundle_in_next(in): The next piece, in->have bytes of in->data; 0 at the
 * end, -1 when they broke off. */
int bundle_in_next(struct bundle_in *in);

/** bundle_in_look(in, n): The same, at least ${n} bytes if there are so many;
 * the next call gives it again. */
int bundle_in_look(struct bundle_in *in, size_t n);

/** bundle_in_callback, bundle_out_callback: For libarchive. */
la_ssize_t bundle_in_callback(struct archive *a, void *ctx, const void **p);
la_ssize_t bundle_out_callback(struct archive *a, void *ctx, const void *p,
			       size_t n);

#endif

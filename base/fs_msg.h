/*
 * What the file executor (sandbox/fs.c) says to a worker, on the pipe that
 * goes straight between them, and what the worker feeds it.
 *
 * Executor -> worker: one head of FS_HEAD_LEN bytes, then its payload:
 *  read     exactly head.payload bytes of the file. Fewer, then the end of
 *           the stream: the file shrank or the executor died, the transfer
 *           is broken.
 *  serve    FS_UNTIL_END: for each request exactly the bytes it asked for
 *  list     FS_UNTIL_END: records, the last one FS_RECORD_END
 *  stat     head.payload bytes: the text of a link, if it is one
 *  pack     FS_UNTIL_END: the archive in chunks, as they are fed to write
 *  unpack   u64 entries, u64 bytes; of FS_BAD_ARCHIVE why, as a text
 *  restore  the same
 *  backup   FS_UNTIL_END: the archive in chunks and their end, a second head
 *           that says how it went, and u64 entries, u64 bytes; of a failure
 *           the path that failed, or of FS_BAD_ARCHIVE why, as a text
 *  others   nothing
 *
 * Worker -> executor, for write, append, patch, unpack and restore: chunks of
 * a u32 length (1 to FS_CHUNK_MAX) and as many bytes, then a length of 0. One
 * that ends before that 0 is an upload that broke: nothing is changed (but what
 * patch had written already). For backup likewise: globs, each with a 0 after
 * it. For serve: requests of u64 offset and u64 length, within the size that
 * the head told, until the end of the stream.
 *
 * Numbers are little endian. Names are bytes without 0. The executor lives in
 * a sandbox, so its reader trusts nothing and checks each piece whole.
 *
 * Operations (argv, all text; numbers decimal, flags "0" or "1"):
 *  stat PATH [NOFOLLOW]
 *  read PATH OFFSET LENGTH MAX     LENGTH 0: to the end; MAX 0: any size
 *  serve PATH
 *  write PATH MODE SYNC [IF]       MODE octal, or "-": keep or 0644
 *  append PATH [IF [SYNC]]
 *  patch PATH OFFSET [IF [SYNC]]
 *  delete PATH RECURSIVE [IF]
 *  rename FROM TO
 *  move FROM TO                    into TO if that is a directory
 *  copy FROM TO RECURSIVE OVERWRITE
 *  chmod PATH MODE RECURSIVE       no link is followed below PATH
 *  mkdir PATH RECURSIVE
 *  list PATH RECURSIVE HIDDEN MAX [AFTER]
 *                                  MAX: most entries; AFTER: the path of the
 *                                  last one that was told before
 *  watch, check                    base/watch_msg.h
 *
 * SYNC "1": told once it is on the disk, and so is its name.
 *
 * IF, else FS_MISMATCH: "-" any; "=*" it is there; "!*" it is not; "=TAG,TAG"
 * it is there and one of these; "!TAG,TAG" it is none of these. A TAG is what
 * fs_tag() writes.
 */
#ifndef BASE_FS_MSG_H
#define BASE_FS_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define FS_STATUSES(X)                                                         \
	X(OK, "ok")                                                            \
	X(NOT_FOUND, "not found")                                              \
	X(EXISTS, "already exists")                                            \
	X(IS_DIR, "is a directory")                                            \
	X(NOT_DIR, "not a directory")                                          \
	X(NOT_REGULAR, "not a regular file")                                   \
	X(NOT_EMPTY, "directory not empty")                                    \
	X(DENIED, "permission denied")                                         \
	X(READ_ONLY, "read-only file system")                                  \
	X(NAME_TOO_LONG, "file name too long")                                 \
	X(LOOP, "too many levels of symbolic links")                           \
	X(NO_SPACE, "no space left")                                           \
	X(TOO_MANY, "too many open files")                                     \
	X(TOO_LARGE, "file too large")                                         \
	X(TOO_DEEP, "directories nested too deeply")                           \
	X(BUSY, "resource busy")                                               \
	X(INVALID, "invalid argument")                                         \
	X(MISMATCH, "not in the expected state")                               \
	X(BAD_ARCHIVE, "not an archive that can be unpacked")                  \
	X(WATCHES, "too many watched directories")                             \
	X(WATCHERS, "too many watchers")                                       \
	X(CUT, "the upload broke off")                                         \
	X(IO, "input/output error")

enum fs_status {
#define X(name, text) FS_##name,
	FS_STATUSES(X)
#undef X
	    FS_STATUS_END
};

enum fs_type {
	FS_TYPE_NONE,
	FS_TYPE_FILE,
	FS_TYPE_DIR,
	FS_TYPE_LINK,
	FS_TYPE_OTHER,
	FS_TYPE_END
};

#define FS_READABLE 1U
#define FS_WRITABLE 2U
#define FS_EXECUTABLE 4U

#define FS_HEAD_LEN 80U
#define FS_CHUNK_MAX (1U << 20)
#define FS_WHY_MAX 1024U
#define FS_TAG_LEN 64U /* with its 0 */
#define FS_UNTIL_END UINT64_MAX
#define FS_RECORD_MAX (64U << 10) /* one record; a path is at most 4 KiB */

struct fs_meta {
	enum fs_type type;
	uint32_t mode;   /* permission bits, 07777 at most */
	uint32_t access; /* FS_READABLE | … of who asks */
	uint64_t size;
	int64_t mtime_s;
	uint32_t mtime_ns;
};

struct fs_head {
	enum fs_status status;
	uint32_t which; /* the path that failed: 0 the first, 1 the second */
	uint32_t sys;   /* errno, for our log only */
	struct fs_meta meta;
	uint64_t payload; /* bytes that follow, or FS_UNTIL_END */
	/* Of one file; 0 where the operation tells none. */
	uint64_t inode;
	uint32_t links;
	uint32_t uid;
	uint32_t gid;
	bool created; /* write, append, patch: there was none before */
};

enum fs_record_kind { FS_RECORD_ENTRY = 1, FS_RECORD_END };

struct fs_record {
	enum fs_record_kind kind;
	/* FS_RECORD_ENTRY */
	const char
	    *path; /* from the listed directory; in the reader's memory */
	size_t path_len;
	struct fs_meta meta;
	/* FS_RECORD_END */
	enum fs_status status;
	bool truncated; /* there is more than MAX */
	bool skipped;   /* some directories could not be read */
	uint64_t count;
};

/** fs_status_text(s): "not found", …. */
const char *fs_status_text(enum fs_status s);

/** fs_put_head(b, head): Append FS_HEAD_LEN bytes. */
void fs_put_head(struct buf *b, const struct fs_head *head);

/**
 * fs_get_head(p, head, e):
 * Read the FS_HEAD_LEN bytes at ${p}. Errors: ERR_PEER; ${head} untouched.
 */
FALLIBLE enum err fs_get_head(const uint8_t *p, struct fs_head *head,
			      struct errinfo *e);

/**
 * fs_tag(inode, meta, out):
 * What changes when a file's content is replaced: for ETag.
 */
void fs_tag(uint64_t inode, const struct fs_meta *meta, char out[FS_TAG_LEN]);

/** fs_put_record(b, rec): Append one record. */
void fs_put_record(struct buf *b, const struct fs_record *rec);

/**
 * fs_get_record(p, n, used, rec, e):
 * Read the record at ${p}, of which ${n} bytes are there. ${used} is its
 * length, 0 when more bytes are needed. Errors: ERR_PEER.
 */
FALLIBLE enum err fs_get_record(const uint8_t *p, size_t n, size_t *used,
				struct fs_record *rec, struct errinfo *e);

#endif

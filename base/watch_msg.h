/*
 * What the watching file executor (sandbox/fs_watch.c) says to a worker.
 *
 * watch PATH RECURSIVE TYPES GLOB…   the head of fs_msg.h, FS_UNTIL_END, then
 *     records as they come; the last one is WATCH_STOPPED, if it ended itself
 * check PATH RECURSIVE TYPES GLOB…   the head; then for each u64 that comes on
 *     stdin, from anyone, one answer: WATCH_ANSWER_LEN bytes. It ends when
 *     nobody asked for WATCH_IDLE_MS
 *
 * TYPES: the decimal sum of 1 << enum watch_type. GLOB: "+x" include, "-x"
 * exclude, as fs_glob.h has them. Its reader trusts nothing of it.
 */
#ifndef BASE_WATCH_MSG_H
#define BASE_WATCH_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* The names are the wire's. */
#define WATCH_TYPES(X)                                                         \
	X(CREATE, "create")                                                    \
	X(MODIFY, "modify")                                                    \
	X(DELETE, "delete")                                                    \
	X(MOVE_FROM, "move_from")                                              \
	X(MOVE_TO, "move_to")                                                  \
	X(ATTRIB, "attrib")

enum watch_type {
#define X(name, text) WATCH_##name,
	WATCH_TYPES(X)
#undef X
	    WATCH_TYPE_END
};

#define WATCH_TYPES_ALL ((1U << WATCH_TYPE_END) - 1)
#define WATCH_GLOBS_MAX 64
#define WATCH_GLOB_MAX 512 /* bytes */
#define WATCH_IDLE_MS 600000
#define WATCH_ANSWER_LEN 24U

enum watch_kind { WATCH_EVENT = 1, WATCH_RESYNC, WATCH_STOPPED };

enum watch_why {
	WATCH_WHY_GONE = 1,  /* what was watched was deleted or moved */
	WATCH_WHY_WATCHES,   /* no more directories can be watched */
	WATCH_WHY_INSTANCES, /* no more watchers can be opened */
	WATCH_WHY_DEEP,      /* directories are nested too deeply */
	WATCH_WHY_FAILED,
	WATCH_WHY_END
};

struct watch_record {
	enum watch_kind kind;
	/* WATCH_EVENT */
	enum watch_type type;
	bool is_dir;
	uint32_t cookie; /* of both halves of a move; 0: none */
	int64_t unix_ms;
	const char *path; /* below what is watched; "": itself */
	size_t path_len;
	/* WATCH_STOPPED */
	enum watch_why why;
};

/** watch_type_name(t): "create", …. */
const char *watch_type_name(enum watch_type t);

/** watch_type_of(name, t): False: there is no such type. */
bool watch_type_of(const char *name, enum watch_type *t);

/** watch_put(b, rec): Append one record. */
void watch_put(struct buf *b, const struct watch_record *rec);

/**
 * watch_get(p, n, used, rec, e):
 * Read the record at ${p}, of which ${n} bytes are there; its path is in
 * that memory. ${used}: its length, 0 when more bytes are needed.
 * Errors: ERR_PEER.
 */
FALLIBLE enum err watch_get(const uint8_t *p, size_t n, size_t *used,
			    struct watch_record *rec, struct errinfo *e);

/** watch_put_answer(b, asked, cursor): How often something changed. */
void watch_put_answer(struct buf *b, uint64_t asked, uint64_t cursor);

/**
 * watch_get_answer(p, n, asked, cursor):
 * Find the answer to ${asked} among those in ${p}. False: it is not there.
 */
bool watch_get_answer(const char *p, size_t n, uint64_t asked,
		      uint64_t *cursor);

#endif

/*
 * One file operation in a sandbox, from here:
 *
 *	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
 *	r = fs_call_open(rq, LINK_START, argv, n, &c, e);
 *	r = fs_call_head(&c, e);
 *	while ((r = fs_call_get(&c, p, n, &got, e)) == ERR_NONE && got > 0) …
 *
 * An upload puts its bytes and fs_call_put_end() before the head.
 */
#ifndef FCGI_FS_CALL_H
#define FCGI_FS_CALL_H

#include "base/fs_msg.h"
#include "fcgi/direct.h"

#define FS_CALL_PATH_MAX 4096
#define FS_CALL_ARGS_MAX 8

struct fs_call {
	struct direct d;
	const char *op;       /* "file.read", …; of the wire */
	const char *paths[2]; /* as the caller gave them */
	struct buf full[2];   /* absolute */
	struct fs_head head;
	uint64_t left; /* of the payload */
};

#define FS_CALL_INIT                                                           \
	{                                                                      \
		.d = DIRECT_INIT,                                              \
		.full = {BUF_INIT(2 * FS_CALL_PATH_MAX),                       \
			 BUF_INIT(2 * FS_CALL_PATH_MAX)},                      \
	}

/**
 * fs_call_open(rq, mode, argv, argc, c, e):
 * Start the operation argv[0]; argv[1] is its first path, of a program (which
 * is named by its own path) the last one. c->op is set before; so may be
 * c->d.idle_ms (else a minute) and c->d.stays.
 * Relative paths are as fs_call_full() has them, also when /workspace was
 * removed.
 * Errors: those of link_open and link_start.
 */
FALLIBLE enum err fs_call_open(struct request *rq, enum link_mode mode,
			       const char *const *argv, uint32_t argc,
			       struct fs_call *c, struct errinfo *e);

/**
 * fs_call_full(rq, l, path, out, e):
 * Append ${path}, a relative one below the directory of the body's session;
 * of a path in a URL, or where nothing runs (${l} NULL), below /workspace.
 * Errors: ERR_ARG for a bad sessionId, with 400 noted; those of the keeper.
 */
FALLIBLE enum err fs_call_full(struct request *rq, struct link *l,
			       const char *path, struct buf *out,
			       struct errinfo *e);

/** fs_call_path(b, path): Append ${path}, a relative one below /workspace. */
void fs_call_path(struct buf *b, const char *path);

/** fs_call_put(c, p, n, e), fs_call_put_end(c, e): The content. */
FALLIBLE enum err fs_call_put(struct fs_call *c, const void *p, size_t n,
			      struct errinfo *e);
FALLIBLE enum err fs_call_put_end(struct fs_call *c, struct errinfo *e);

/**
 * fs_call_head(c, e):
 * The answer's head in c->head. Errors: what the operation failed with, with
 * the failure noted; ERR_PEER when the executor or sandbox ended instead.
 */
FALLIBLE enum err fs_call_head(struct fs_call *c, struct errinfo *e);

/** fs_call_try(c, e): The same, but a failed operation is in c->head. */
FALLIBLE enum err fs_call_try(struct fs_call *c, struct errinfo *e);

/**
 * fs_call_get(c, p, n, got, e):
 * Further bytes of a payload of known length; ${got} is 0 at its end.
 * Errors: ERR_PEER when it breaks off, for example as the file shrank.
 */
FALLIBLE enum err fs_call_get(struct fs_call *c, void *p, size_t n, size_t *got,
			      struct errinfo *e);

/**
 * fs_call_failed(c, e):
 * Note the failure of c->head, a status that is not FS_OK, for the tenant.
 */
enum err fs_call_failed(struct fs_call *c, struct errinfo *e);

void fs_call_close(struct fs_call *c);

#endif

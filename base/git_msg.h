/*
 * What a worker asks of warren-git (sandbox/git_main.c) on its fd 0 and what
 * that answers on fd 1. Both are pipes that go straight between them.
 *
 * Worker -> warren-git, once: u32 length, then str url, str dir, str branch
 * ("": the remote's HEAD), u32 depth (0: all), u8 auth (enum checkout_auth),
 * str user, str secret. It comes by pipe so that no credential is ever in an
 * argument, an environment or a file.
 *
 * warren-git -> worker: records of a u32 length, a u16 kind and
 *  PROGRESS  u64 objects received, u64 objects in all, u64 bytes
 *  RESULT    u16 status, str branch ("": HEAD is detached), str commit
 *            (""; none yet), str text (git's words, credentials removed);
 *            exactly one, last
 */
#ifndef BASE_GIT_MSG_H
#define BASE_GIT_MSG_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * How a clone ended; names of their own, since git_* and GIT_* are libgit2's.
 * INVALID: the URL or directory cannot be used. DIR_EXISTS: the directory is
 * not empty. AUTH: credentials are missing or refused. NOT_FOUND: no such
 * repository. NO_BRANCH: no such branch, tag or commit. NETWORK: no name, no
 * connection, broken off. NEEDS_PROGRAM: only the git program can do that,
 * and it is not here.
 */
#define CHECKOUT_RESULTS(X)                                                    \
	X(OK)                                                                  \
	X(INVALID)                                                             \
	X(DIR_EXISTS)                                                          \
	X(AUTH)                                                                \
	X(NOT_FOUND)                                                           \
	X(NO_BRANCH)                                                           \
	X(NETWORK)                                                             \
	X(NO_SPACE)                                                            \
	X(NEEDS_PROGRAM)                                                       \
	X(OTHER)

enum checkout_result {
#define X(name) CHECKOUT_##name,
	CHECKOUT_RESULTS(X)
#undef X
	    CHECKOUT_END
};

enum checkout_auth {
	CHECKOUT_AUTH_NONE,
	CHECKOUT_AUTH_BASIC,
	CHECKOUT_AUTH_SSH,
	CHECKOUT_AUTH_END
};

#define GIT_REQUEST_MAX (256U << 10)
#define GIT_RECORD_MAX (64U << 10)
#define GIT_TEXT_MAX 4096U

struct git_request {
	const char *url;
	const char *dir;
	const char *branch;
	uint32_t depth;
	enum checkout_auth auth;
	const char *user;
	const char *secret; /* password, token or private key */
};

enum git_record_kind { GIT_RECORD_PROGRESS = 1, GIT_RECORD_RESULT };

struct git_record {
	enum git_record_kind kind;
	uint64_t received;
	uint64_t total;
	uint64_t bytes;
	enum checkout_result status;
	const char *branch; /* texts are in the reader's memory */
	const char *commit;
	const char *text;
};

/** git_put_request(b, rq): The length and the request. */
void git_put_request(struct buf *b, const struct git_request *rq);

/**
 * git_get_request(p, n, rq, e):
 * Read the ${n} bytes after the length. Errors: ERR_PEER.
 */
FALLIBLE enum err git_get_request(const uint8_t *p, size_t n,
				  struct git_request *rq, struct errinfo *e);

/** git_put_record(b, rec): One record. */
void git_put_record(struct buf *b, const struct git_record *rec);

/**
 * git_get_record(p, n, used, rec, e):
 * Read the record at ${p}, of which ${n} bytes are there. ${used} is its
 * length, 0 when more bytes are needed. Errors: ERR_PEER.
 */
FALLIBLE enum err git_get_record(const uint8_t *p, size_t n, size_t *used,
				 struct git_record *rec, struct errinfo *e);

#endif

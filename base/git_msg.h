/*
 * What a worker asks of warren-git (sandbox/git_main.c) on its fd 0 and what
 * that answers on fd 1. Both are pipes that go straight between them, so that
 * no credential is ever in an argument, an environment or a file.
 *
 * Worker -> warren-git, once: u32 length, then the fields of struct
 * git_request in their order; lists are a u32 count and their elements.
 *
 * warren-git -> worker: records of a u32 length, a u16 kind and
 *  PROGRESS  u8 phase, u64 objects, u64 all objects, u64 bytes, u64 files,
 *            u64 all files
 *  ROW       u16 what, then its texts and u64 numbers, as many as
 *            GIT_ROW_KINDS says
 *  RESULT    u16 status, str branch ("": HEAD is detached), str commit
 *            (""; none yet), str text (words for people, no credential),
 *            u64 flags (GIT_DID_…); exactly one, last
 */
#ifndef BASE_GIT_MSG_H
#define BASE_GIT_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum git_op {
	GIT_OP_CLONE,
	GIT_OP_STATUS,
	GIT_OP_LOG,
	GIT_OP_DIFF,
	GIT_OP_BRANCHES,
	GIT_OP_BRANCH,
	GIT_OP_SWITCH,
	GIT_OP_COMMIT,
	GIT_OP_PULL,
	GIT_OP_PUSH,
	GIT_OP_END
};

/*
 * How it ended; names of their own, since git_* and GIT_* are libgit2's.
 * INVALID: the URL, a name or the directory cannot be used. DIR_EXISTS: the
 * directory is not empty. NO_DIR: no repository there. AUTH: credentials are
 * missing or refused. HOST_KEY: an SSH host is not one that was named.
 * NOT_FOUND: the remote has no such repository. NO_BRANCH: no such branch,
 * tag or commit. NETWORK: no name, no connection, broken off. NEEDS_PROGRAM:
 * only the git program can do that, and it is not here or may not. CONFLICT:
 * a merge meets other changes; nothing was touched. DIRTY: files would be
 * overwritten; nothing was touched. DIVERGED: not a fast-forward. REJECTED:
 * the remote took it not. NOTHING: there is nothing to commit. NO_AUTHOR: no
 * name for a commit. EXISTS: such a branch is there. BUSY: a merge or rebase
 * is going on, or a lock is held. LFS: this needs Git LFS.
 */
#define REPO_RESULTS(X)                                                        \
	X(OK)                                                                  \
	X(INVALID)                                                             \
	X(DIR_EXISTS)                                                          \
	X(NO_DIR)                                                              \
	X(AUTH)                                                                \
	X(HOST_KEY)                                                            \
	X(NOT_FOUND)                                                           \
	X(NO_BRANCH)                                                           \
	X(NETWORK)                                                             \
	X(NO_SPACE)                                                            \
	X(NEEDS_PROGRAM)                                                       \
	X(CONFLICT)                                                            \
	X(DIRTY)                                                               \
	X(DIVERGED)                                                            \
	X(REJECTED)                                                            \
	X(NOTHING)                                                             \
	X(NO_AUTHOR)                                                           \
	X(EXISTS)                                                              \
	X(BUSY)                                                                \
	X(LFS)                                                                 \
	X(OTHER)

enum repo_result {
#define X(name) REPO_##name,
	REPO_RESULTS(X)
#undef X
	    REPO_END
};

enum repo_auth {
	REPO_AUTH_NONE,
	REPO_AUTH_BASIC,
	REPO_AUTH_SSH,
	REPO_AUTH_END
};

/* What is asked for: which bits count depends on the operation. */
#define GIT_ASK_SINGLE 0x1U     /* clone: one branch */
#define GIT_ASK_SUBMODULES 0x2U /* clone, pull */
#define GIT_ASK_STAGED 0x4U     /* diff: HEAD to index */
#define GIT_ASK_PATCH 0x8U      /* diff: its text too */
#define GIT_ASK_IGNORED 0x10U   /* status: ignored files too */
#define GIT_ASK_ALL 0x20U       /* commit: everything that changed */
#define GIT_ASK_EMPTY 0x40U     /* commit: even if nothing changed */
#define GIT_ASK_FF 0x80U        /* pull: no merge */
#define GIT_ASK_FORCE 0x100U    /* branch, switch, push */
#define GIT_ASK_CREATE 0x200U   /* switch: make it first */
#define GIT_ASK_DETACH 0x400U   /* switch: to a commit */
#define GIT_ASK_UPSTREAM 0x800U /* push: remember it */
#define GIT_ASK_SWITCH 0x1000U  /* branch: and go there */
#define GIT_ASK_REMOTE 0x2000U  /* branches: the remotes' too */
#define GIT_ASK_EVERY 0x3fffU

/* What was done, in a result. */
#define GIT_DID_LFS 0x1U       /* some files are LFS pointers */
#define GIT_DID_MORE 0x2U      /* rows were left out: the limit */
#define GIT_DID_FF 0x4U        /* pull: fast-forward */
#define GIT_DID_MERGE 0x8U     /* pull: a merge commit */
#define GIT_DID_CREATE 0x10U   /* push, switch: a new branch */
#define GIT_DID_NOTHING 0x20U  /* pull, push: already up to date */
#define GIT_DID_DETACHED 0x40U /* status: HEAD is on no branch */
#define GIT_DID_PROGRAM 0x80U  /* clone: by the git program */
#define GIT_DID_CUT 0x100U     /* diff: the patch is cut off */

#define GIT_REQUEST_MAX (1U << 20)
#define GIT_RECORD_MAX (64U << 10)
#define GIT_TEXT_MAX 4096U
#define GIT_CREDS_MAX 32U
#define GIT_PATHS_MAX 10000U

/* Given to servers of ${origin} alone: "https://host", "ssh://host:2222". */
struct git_cred {
	const char *origin;
	enum repo_auth auth;
	const char *user;
	const char *secret; /* password, token or private key */
	const char *passphrase;
};

struct git_request {
	enum git_op op;
	uint32_t flags;
	const char *dir; /* absolute */
	const char *url; /* "": what the repository has */
	const char *branch;
	const char *commit; /* clone: what to check out */
	const char *remote; /* pull, push */
	const char *remote_branch;
	const char *from; /* log, diff, branch: revisions */
	const char *to;
	const char *message;
	const char *name; /* of who commits */
	const char *email;
	const char *known_hosts;  /* as ssh's file */
	const char *fingerprints; /* one a line: SHA256:… */
	uint32_t depth;           /* 0: all */
	uint32_t limit;
	uint32_t skip;
	uint32_t context;
	uint32_t ncreds;
	struct git_cred creds[GIT_CREDS_MAX];
	uint32_t npaths;
	const char **paths; /* git_request_free() */
};

#define GIT_REQUEST_INIT                                                       \
	{                                                                      \
		.dir = "", .url = "", .branch = "", .commit = "",              \
		.remote = "", .remote_branch = "", .from = "", .to = "",       \
		.message = "", .name = "", .email = "", .known_hosts = "",     \
		.fingerprints = ""                                             \
	}

enum git_phase {
	GIT_PHASE_RECEIVE,
	GIT_PHASE_RESOLVE,
	GIT_PHASE_CHECKOUT,
	GIT_PHASE_SEND,
	GIT_PHASE_END
};

#define GIT_ROW_TEXTS 8
#define GIT_ROW_NUMBERS 4

/*
 * X(kind, texts, numbers)
 * FILE: path, old path | index, worktree (enum git_change), conflict
 * UPSTREAM: name | ahead, behind
 * STATE: "merge", "rebase", … |
 * COMMIT: id, parents (by spaces), author, its address, committer, its
 *  address, message | author's time, committer's time (seconds)
 * DIFF: path, old path | change, lines added, lines removed, is binary
 * PATCH: a piece of text |
 * BRANCH: name, upstream, commit, subject | is remote, is current, ahead,
 *  behind (both UINT64_MAX: not known)
 * PATH: one that is in the way |
 * MOVED: id before, remote's name, branch there, URL |
 */
#define GIT_ROW_KINDS(X)                                                       \
	X(FILE, 2, 3)                                                          \
	X(UPSTREAM, 1, 2)                                                      \
	X(STATE, 1, 0)                                                         \
	X(COMMIT, 7, 2)                                                        \
	X(DIFF, 2, 4)                                                          \
	X(PATCH, 1, 0)                                                         \
	X(BRANCH, 4, 4)                                                        \
	X(PATH, 1, 0)                                                          \
	X(MOVED, 4, 0)

enum git_row_kind {
#define X(name, texts, numbers) GIT_ROW_##name,
	GIT_ROW_KINDS(X)
#undef X
	    GIT_ROW_END
};

enum git_change {
	GIT_CHANGE_NONE,
	GIT_CHANGE_ADDED,
	GIT_CHANGE_MODIFIED,
	GIT_CHANGE_DELETED,
	GIT_CHANGE_RENAMED,
	GIT_CHANGE_TYPE,
	GIT_CHANGE_UNTRACKED,
	GIT_CHANGE_IGNORED,
	GIT_CHANGE_END
};

/* Texts may be any bytes but NUL. */
struct git_row {
	enum git_row_kind kind;
	const char *texts[GIT_ROW_TEXTS];
	uint64_t numbers[GIT_ROW_NUMBERS];
};

enum git_record_kind {
	GIT_RECORD_PROGRESS = 1,
	GIT_RECORD_ROW,
	GIT_RECORD_RESULT
};

struct git_progress {
	enum git_phase phase;
	uint64_t objects;
	uint64_t objects_all;
	uint64_t bytes;
	uint64_t files;
	uint64_t files_all;
};

struct git_record {
	enum git_record_kind kind;
	struct git_progress progress;
	struct git_row row;
	enum repo_result status;
	const char *branch; /* texts are in the reader's memory */
	const char *commit;
	const char *text;
	uint64_t flags;
};

/** git_put_request(b, rq): The length and the request. */
void git_put_request(struct buf *b, const struct git_request *rq);

/**
 * git_get_request(p, n, rq, e):
 * Read the ${n} bytes after the length. Owns: the texts are in ${p}, the list
 * of paths is the caller's (git_request_free). Errors: ERR_PEER, ERR_NOMEM.
 */
FALLIBLE enum err git_get_request(const uint8_t *p, size_t n,
				  struct git_request *rq, struct errinfo *e);
void git_request_free(struct git_request *rq);

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

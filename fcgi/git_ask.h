/*
 * What git calls are asked: the parts of their bodies that several of them
 * have, as one struct git_request for warren-git.
 */
#ifndef FCGI_GIT_ASK_H
#define FCGI_GIT_ASK_H

#include "base/git_msg.h"
#include "base/git_url.h"
#include "fcgi/fs_call.h"
#include "fcgi/json_in.h"

#define GIT_ASK_NAME_MAX 1000
#define GIT_ASK_SESSION_MAX 256
#define GIT_ASK_SECRET_MAX (64 * 1024)

struct git_ask {
	struct request *rq;
	struct git_request to; /* its texts are in what follows, and the body */
	struct buf url;        /* without credentials: this one may be shown */
	struct buf user;       /* that were in it */
	struct buf secret;
	char *origins[GIT_CREDS_MAX]; /* of to.creds */
	struct buf prints;
	struct buf full; /* the directory, absolute */
	const char **paths;
	/* fields of bodies, by GIT_ASK_FIELDS */
	const char *in_url;
	const char *in_path;
	const char *in_session;
	int64_t timeout_ms;
	struct json_object *auth;
	struct json_object *credentials;
	const char *known_hosts;
	struct json_object *fingerprints;
};

#define GIT_ASK_INIT                                                           \
	{                                                                      \
		.to = GIT_REQUEST_INIT, .url = BUF_INIT(GIT_URL_MAX + 1),      \
		.user = BUF_INIT(GIT_URL_MAX + 1),                             \
		.secret = BUF_INIT(GIT_URL_MAX + 1),                           \
		.prints = BUF_INIT(GIT_ASK_SECRET_MAX),                        \
		.full = BUF_INIT(2 * FS_CALL_PATH_MAX)                         \
	}

/* In the table of a struct that has a struct git_ask ${ask}. */
#define GIT_ASK_FIELD(type, ask, key, alias, kind, member, min, max)           \
	{                                                                      \
		key, alias, kind, offsetof(type, ask.member), false, min, max  \
	}

/* Every call's; the directory of the repository. */
#define GIT_ASK_FIELDS(type, ask)                                              \
	GIT_ASK_FIELD(type, ask, "path", NULL, JSON_TEXT, in_path, 1,          \
		      FS_CALL_PATH_MAX),                                       \
	    GIT_ASK_COMMON_FIELDS(type, ask)

#define GIT_ASK_COMMON_FIELDS(type, ask)                                       \
	GIT_ASK_FIELD(type, ask, "sessionId", NULL, JSON_TEXT, in_session, 1,  \
		      GIT_ASK_SESSION_MAX),                                    \
	    GIT_ASK_FIELD(type, ask, "timeoutMs", "timeout_ms", JSON_INT,      \
			  timeout_ms, INT64_MIN, INT64_MAX)

/* Of those that speak to a remote. */
#define GIT_ASK_REMOTE_FIELDS(type, ask)                                       \
	GIT_ASK_FIELD(type, ask, "repoUrl", NULL, JSON_TEXT, in_url, 0,        \
		      GIT_URL_MAX),                                            \
	    GIT_ASK_FIELD(type, ask, "auth", NULL, JSON_OBJECT, auth, 0, 0),   \
	    GIT_ASK_FIELD(type, ask, "credentials", NULL, JSON_ANY,            \
			  credentials, 0, 0),                                  \
	    GIT_ASK_FIELD(type, ask, "knownHosts", NULL, JSON_TEXT,            \
			  known_hosts, 1, GIT_ASK_SECRET_MAX),                 \
	    GIT_ASK_FIELD(type, ask, "hostKeyFingerprints", NULL, JSON_TEXTS,  \
			  fingerprints, 1, 64)

void git_ask_free(struct git_ask *a);

/**
 * git_ask_remote(a, needed, e):
 * URL and credentials, from the fields that were read. ${needed}: there must
 * be a URL; else there must be one only for credentials.
 */
FALLIBLE enum err git_ask_remote(struct git_ask *a, bool needed,
				 struct errinfo *e);

/** git_ask_timeout(a, e): It is positive and no longer than may be. */
FALLIBLE enum err git_ask_timeout(struct git_ask *a, struct errinfo *e);

/** git_ask_dir(a, l, e): `path`, from the session's directory. */
FALLIBLE enum err git_ask_dir(struct git_ask *a, struct link *l,
			      struct errinfo *e);

/** git_ask_name(a, field, value, e): ${value} (NULL is fine) is no option. */
FALLIBLE enum err git_ask_name(struct git_ask *a, const char *field,
			       const char *value, struct errinfo *e);

/**
 * git_ask_paths(a, list, e):
 * Paths below the repository; ${list} (NULL: none) was checked by json_in.
 */
FALLIBLE enum err git_ask_paths(struct git_ask *a, struct json_object *list,
				struct errinfo *e);

/** git_ask_author(a, author, e): {name, email}, or NULL. */
FALLIBLE enum err git_ask_author(struct git_ask *a, struct json_object *author,
				 struct errinfo *e);

#endif

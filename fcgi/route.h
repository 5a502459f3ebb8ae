/*
 * The table of routes (routes.def) and the request that a handler gets.
 *
 *   ROUTE(method, pattern, SCOPE, body_max, handler, "text")
 *
 * Patterns have {name} for one segment and, at the end only, {name*} for
 * all the rest. Values are percent-decoded; one with a NUL or, for {name},
 * an empty one or one that is no UTF-8 is refused; {name*} is any other bytes.
 * A trailing slash makes no difference but to {name*}.
 */
#ifndef FCGI_ROUTE_H
#define FCGI_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "fcgi/err_http.h"
#include "fcgi/json_in.h"
#include "fcgi/preview_conf.h"
#include "store/ctl_key.h"
#include "store/ctl_sandbox.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

struct FCGX_Request;
struct request;
struct share;

enum http_method {
	METHOD_GET = 1,
	METHOD_HEAD,
	METHOD_POST,
	METHOD_PUT,
	METHOD_PATCH,
	METHOD_DELETE
};

/* What a key must be allowed to do; OPEN needs no key at all. */
enum route_scope { SCOPE_OPEN = 1, SCOPE_READ, SCOPE_EXEC, SCOPE_MANAGE };

/*
 * A handler answers and returns ERR_NONE, or fails before it has begun to
 * answer (err_http.h). It runs on a thread of its own and may block, but
 * each wait has a deadline and watches rq->client_fd.
 */
typedef enum err (*route_fn)(struct request *rq, struct errinfo *e);

struct route {
	enum http_method method;
	const char *pattern;
	enum route_scope scope;
	size_t body_max_bytes;
	route_fn fn;
	const char *text;
};

extern const struct route route_table[];
extern const size_t route_count;

#define ROUTE(method, pattern, scope, body_max, fn, text)                      \
	enum err fn(struct request *rq, struct errinfo *e);
#include "fcgi/routes.def"
#undef ROUTE

#define ROUTE_PARAMS_MAX 4

struct route_param {
	char name[16];
	char *value;
};

/* Read-only after start; one for all threads. */
struct worker {
	const char *data_dir;
	const char *run_dir;
	const char *domain;
	int port;
	struct preview_conf preview;
};

struct request {
	const struct worker *worker;
	struct FCGX_Request *fcgi;
	int client_fd; /* nginx's connection: it hangs up when the client did */
	enum http_method method;
	const struct route *route;
	struct route_param params[ROUTE_PARAMS_MAX];
	int nparams;
	char id[24];                 /* X-Request-Id */
	struct store_conn *store;    /* this request's, see route_park() */
	struct ctl_auth auth;        /* auth.tenant is the tenant's id */
	struct ctl_sandbox sandbox;  /* id "" until sandbox_link found it */
	uint64_t body_bytes;         /* read so far */
	struct json_in body;         /* what body_json() parsed */
	unsigned char body_hash[32]; /* of its bytes */
	struct failure failure;
	struct buf headers;  /* extra answer headers, "Name: value\r\n" */
	struct share *share; /* its tenant's, of share.h; NULL: none yet */
	size_t held_bytes;
	bool attach;     /* a link says that the file is a download */
	bool is_long;    /* counted by pool_long() */
	bool answering;  /* the answer's head has gone */
	bool streams;    /* it is a stream of events */
	bool broken;     /* the client cannot be written to any more */
	int64_t came_us; /* monotonic: ready, begun, started */
	int64_t begun_us;
	int64_t start_us; /* spent starting the sandbox */
};

/**
 * route_param(rq, name):
 * The decoded value of {name}; a bug of ours if the pattern has none.
 */
const char *route_param(const struct request *rq, const char *name);

/**
 * route_param_add(rq, name, value, e):
 * {name} that the path does not have: what a link or ticket stands for.
 */
FALLIBLE enum err route_param_add(struct request *rq, const char *name,
				  const char *value, struct errinfo *e);

/**
 * route_query(rq, name, out, size):
 * The decoded value of ?name= into ${out}. Returns false when absent, too
 * long or malformed.
 */
bool route_query(const struct request *rq, const char *name, char *out,
		 size_t size);

/**
 * route_query_int(rq, name, min, max, out, e):
 * ?name= as a number; ${out} keeps its value when absent.
 * Errors: ERR_ARG, with a failure that names it.
 */
FALLIBLE enum err route_query_int(struct request *rq, const char *name,
				  int64_t min, int64_t max, int64_t *out,
				  struct errinfo *e);

/** route_query_has(rq, name): There is a ?name, whatever its value. */
bool route_query_has(const struct request *rq, const char *name);

/**
 * route_query_flag(rq, name, out, e):
 * ?name, ?name=1 or ?name=true, or the contrary by 0 or false; ${out} keeps
 * its value when absent. Errors: ERR_ARG for all else, naming it.
 */
FALLIBLE enum err route_query_flag(struct request *rq, const char *name,
				   bool *out, struct errinfo *e);

/**
 * route_query_only(rq, names, e):
 * Where a mistyped name would do harm: ERR_ARG naming what is none of
 * ${names}, which end with NULL, or is there twice.
 */
FALLIBLE enum err route_query_only(struct request *rq, const char *const *names,
				   struct errinfo *e);

/** route_header(rq, "HTTP_LAST_EVENT_ID"): A FastCGI parameter, or NULL. */
const char *route_header(const struct request *rq, const char *name);

/**
 * route_find(method, path, rq, e):
 * Set route and params of ${rq}. Errors: ERR_NOT_FOUND, ERR_STATE (the path
 * exists for other methods), ERR_ARG (bad percent-encoding or NUL), each
 * with its failure noted. OPTIONS of a path that exists is a route, too.
 */
FALLIBLE enum err route_find(struct request *rq, const char *method,
			     const char *path, struct errinfo *e);

/** route_tls(rq): The caller came by TLS. */
bool route_tls(const struct request *rq);

/** route_origin(rq, scheme, out): "http://host:port" where the caller reached
 * us, "https://…" by TLS; ${scheme} is "http" or "ws". */
void route_origin(const struct request *rq, const char *scheme,
		  struct buf *out);

/** route_origin_of(rq, scheme, host, out): The same of ${host}. */
void route_origin_of(const struct request *rq, const char *scheme,
		     const char *host, struct buf *out);

/** route_serve(rq): Authenticate, route, call the handler, answer. */
void route_serve(struct request *rq);

/**
 * route_park(rq):
 * Give the store connection back before a long wait, so that idle streams
 * hold none: rq->store is NULL then. route_unpark(rq, e) takes one again.
 */
void route_park(struct request *rq);
FALLIBLE enum err route_unpark(struct request *rq, struct errinfo *e);

/**
 * route_decode(s, n, out, e):
 * Percent-decode. Owns: ${out} is the caller's. Errors: ERR_ARG for a bad
 * escape, a NUL or bad UTF-8; ERR_NOMEM.
 */
FALLIBLE enum err route_decode(const char *s, size_t n, char **out,
			       struct errinfo *e);

#endif

/*
 * A row of an exposed port: found by the path of a call, read from a body,
 * told in an answer.
 */
#ifndef FCGI_PORT_ROW_H
#define FCGI_PORT_ROW_H

#include "fcgi/json_out.h"
#include "fcgi/sandbox_link.h"
#include "store/ctl_port.h"

#define PORT_WAIT_MAX_MS 30000

/* What is read of a body; where it says nothing, its place keeps what it
 * had. */
struct port_settings {
	int64_t port;
	const char *name;
	const char *token;
	const char *access;
	const char *ttl;
	const char *expires;
	int64_t wait_ms;
	bool keep_host;
	bool rotate; /* PATCH only */
};

/* The fields that all bodies have. */
#define PORT_FIELD(key, kind, member, min, max)                                \
	{                                                                      \
		key, NULL, kind, offsetof(struct port_settings, member),       \
		    false, min, max                                            \
	}
#define PORT_FIELDS                                                            \
	PORT_FIELD("token", JSON_TEXT, token, 1, 4096),                        \
	    PORT_FIELD("access", JSON_TEXT, access, 1, 32),                    \
	    PORT_FIELD("ttl", JSON_TEXT, ttl, 1, 32),                          \
	    PORT_FIELD("expiresAt", JSON_TEXT, expires, 1, 40),                \
	    PORT_FIELD("waitMs", JSON_INT, wait_ms, 0, PORT_WAIT_MAX_MS),      \
	    PORT_FIELD("keepHost", JSON_BOOL, keep_host, 0, 0)

/**
 * port_row_url(rq, p, out):
 * Its address, as ${rq} would reach it: by TLS if that came by TLS.
 */
void port_row_url(const struct request *rq, const struct ctl_port *p,
		  struct buf *out);

/** port_row_put(rq, o, p): Its fields, into the object that is open. */
void port_row_put(const struct request *rq, struct json_out *o,
		  const struct ctl_port *p);

/**
 * port_row_read(rq, in, p, e):
 * Token, access, expiry, wait and Host, where ${in} has them.
 * Errors: ERR_ARG, with a failure that names the field.
 */
FALLIBLE enum err port_row_read(struct request *rq,
				const struct port_settings *in,
				struct ctl_port *p, struct errinfo *e);

/**
 * port_row_find(rq, alias, p, e):
 * The row of {port} in the path, by its own name (${alias} "") or another;
 * rq->sandbox is set. Errors: 404, also when its time is over.
 */
FALLIBLE enum err port_row_find(struct request *rq, const char *alias,
				struct ctl_port *p, struct errinfo *e);

/**
 * port_row_add(rq, want, p, made, e):
 * Add ${p} to rq->sandbox, or have the row that is there; ${made} tells which.
 * One whose time is over makes room.
 * Errors: 409 when what is there differs in what ${want} asks for; 404.
 */
FALLIBLE enum err port_row_add(struct request *rq,
			       const struct port_settings *want,
			       struct ctl_port *p, bool *made,
			       struct errinfo *e);

/**
 * port_row_remove(rq, port, alias, e):
 * The row, and the port's others with its own name, and their sockets.
 * Errors: 404.
 */
FALLIBLE enum err port_row_remove(struct request *rq, uint16_t port,
				  const char *alias, struct errinfo *e);

/** port_row_port(rq, out, e): {port} of the path; finds the sandbox. */
FALLIBLE enum err port_row_port(struct request *rq, uint16_t *out,
				struct errinfo *e);

/** port_row_taken(rq, p, e): 409: its token is another name's. */
enum err port_row_taken(struct request *rq, const struct ctl_port *p,
			struct errinfo *e);

#endif

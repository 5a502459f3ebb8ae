/*
 * Exposed ports: a row makes a preview URL valid until it is removed. A port
 * has one of its own, and may have more by other names, its aliases.
 */
#ifndef STORE_CTL_PORT_H
#define STORE_CTL_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "store/db.h"

#define CTL_PORT_NAME_MAX 128
#define CTL_PORT_ALIAS_MAX 32
#define CTL_PORT_ALIASES 16 /* that a port may have */

struct ctl_port {
	id_sandbox_t sandbox;
	uint16_t port;
	char alias[CTL_PORT_ALIAS_MAX + 1]; /* "": its own name */
	char token[ID_TOKEN_LEN + 1];
	char name[CTL_PORT_NAME_MAX + 1]; /* "": none */
	int64_t created_ms;
	bool is_private;    /* only for who shows a key, a token or a cookie */
	bool keep_host;     /* its program gets the preview's own Host */
	int64_t expires_ms; /* 0: never */
	int64_t wait_ms;    /* a request is held so long for a listener */
};

struct ctl_port_list {
	struct ctl_port *rows;
	size_t n;
};

/**
 * ctl_port_add(c, tenant, p, e):
 * Expose ${p} (created_ms is filled in) of the tenant's sandbox.
 * Errors: ERR_EXISTS (that port is exposed by that alias, or token),
 * ERR_NOT_FOUND (no such sandbox of this tenant; for an alias: or the port is
 * not exposed), ERR_LIMIT (aliases), ERR_ARG (port 0, or a token not
 * [a-z0-9]{1,16}).
 */
FALLIBLE enum err ctl_port_add(struct store_conn *c, const char *tenant,
			       struct ctl_port *p, struct errinfo *e);

/**
 * ctl_port_set(c, tenant, p, e):
 * Another token, access, Host, wait or expiry of a port that is exposed.
 * Errors: ERR_NOT_FOUND, ERR_EXISTS (the token is another alias'), ERR_ARG
 * (token).
 */
FALLIBLE enum err ctl_port_set(struct store_conn *c, const char *tenant,
			       const struct ctl_port *p, struct errinfo *e);

/* Which one: the port's own name, or one more. */
struct ctl_port_at {
	const char *sandbox;
	uint16_t port;
	const char *alias; /* "": its own */
};

/**
 * ctl_port_remove(c, tenant, at, out, e):
 * Unexpose; ${out} (or NULL) are the rows that were there, for their tokens:
 * with the port's own name all others.
 * Errors: ERR_NOT_FOUND.
 */
FALLIBLE enum err ctl_port_remove(struct store_conn *c, const char *tenant,
				  const struct ctl_port_at *at,
				  struct ctl_port_list *out, struct errinfo *e);

/** ctl_port_get(c, tenant, at, out, e): Errors: ERR_NOT_FOUND. */
FALLIBLE enum err ctl_port_get(struct store_conn *c, const char *tenant,
			       const struct ctl_port_at *at,
			       struct ctl_port *out, struct errinfo *e);

/** ctl_port_list(c, tenant, sandbox, out, e): By port number, of each its own
 * name first. */
FALLIBLE enum err ctl_port_list(struct store_conn *c, const char *tenant,
				const char *sandbox, struct ctl_port_list *out,
				struct errinfo *e);
void ctl_port_list_free(struct ctl_port_list *l);

/**
 * ctl_port_key(c, sandbox, port, token, out, e):
 * The port behind a preview host name, whoever asks; the token is compared in
 * constant time. Errors: ERR_NOT_FOUND, the same for every reason, as that it
 * has expired, or the port's own name has.
 */
FALLIBLE enum err ctl_port_key(struct store_conn *c, const char *sandbox,
			       uint16_t port, const char *token,
			       struct ctl_port *out, struct errinfo *e);

#endif

/*
 * Who may see a private preview: who shows an API key of its tenant, or a
 * token of POST …/ports/{port}/links, in a header, in the query or, once a
 * browser came by such a link, in a cookie of that one host name.
 */
#ifndef FCGI_PREVIEW_ACCESS_H
#define FCGI_PREVIEW_ACCESS_H

#include "fcgi/route.h"
#include "store/ctl_port.h"

#define PREVIEW_COOKIE "warren_preview"
/* By TLS: no page of another preview can set one for this host name. */
#define PREVIEW_COOKIE_TLS "__Host-" PREVIEW_COOKIE
#define PREVIEW_QUERY "warren_token"
#define PREVIEW_VIEW "VIEW" /* methods of links: for any use … */
#define PREVIEW_ONCE "OPEN" /* … and to be exchanged for a cookie once */
#define PREVIEW_USER_MAX 128

struct preview_guest {
	char user[PREVIEW_USER_MAX + 1]; /* as the link says; "" */
	bool by_key; /* its Authorization is ours, not the program's */
	bool told;   /* it was answered: sent on with a cookie */
};

/**
 * preview_access(rq, p, out, e):
 * See whether ${rq} may see ${p}, the port of rq->sandbox.
 * Errors: ERR_DENIED, without a failure noted.
 */
FALLIBLE enum err preview_access(struct request *rq, const struct ctl_port *p,
				 struct preview_guest *out, struct errinfo *e);

/** preview_access_page(rq): It is a browser, which wants a page. */
bool preview_access_page(const struct request *rq);

#endif

/* Links and tickets that are good for some time, of a sandbox (ctl_link.h). */
#ifndef FCGI_SIGNED_LINK_H
#define FCGI_SIGNED_LINK_H

#include "fcgi/route.h"
#include "store/ctl_link.h"

/**
 * signed_link_add(rq, l, token, e):
 * Store ${l}, with whose it is and of what by rq->auth and rq->sandbox.
 * ${token}: told to the caller, once. Errors: ERR_LIMIT, with the failure
 * noted: the sandbox has CTL_LINKS_MAX of them; those of the store.
 */
FALLIBLE enum err signed_link_add(struct request *rq, struct ctl_link *l,
				  char token[CTL_LINK_LEN + 1],
				  struct errinfo *e);

#endif

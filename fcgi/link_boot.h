/* The start of a sandbox that does not run. */
#ifndef FCGI_LINK_BOOT_H
#define FCGI_LINK_BOOT_H

#include "fcgi/route.h"

/**
 * link_boot(rq, e):
 * Have the broker start rq->sandbox, whose row then says that it runs.
 * Errors: with the failure noted: 404 when it was deleted meanwhile, 503.
 * Blocks: up to LINK_START_MS, in turn with the tenant's other starts.
 */
FALLIBLE enum err link_boot(struct request *rq, struct errinfo *e);

#endif

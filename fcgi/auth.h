/* Whose request it is: Authorization: Bearer <API key>. */
#ifndef FCGI_AUTH_H
#define FCGI_AUTH_H

#include "fcgi/route.h"

/**
 * auth_check(rq, e):
 * Set rq->auth by the key, and see that its scope allows rq->route. A key is
 * looked up at each request, so that one that was revoked ends at once.
 * Errors: ERR_DENIED with 401 or 403 noted; ERR_STORE.
 */
FALLIBLE enum err auth_check(struct request *rq, struct errinfo *e);

/**
 * auth_bearer(header):
 * The key in an Authorization header's value, or NULL; the scheme's case
 * does not matter.
 */
const char *auth_bearer(const char *header);

#endif

/* "ttl" and "expiresAt" of what is good for some time. */
#ifndef FCGI_UNTIL_H
#define FCGI_UNTIL_H

#include "fcgi/route.h"

struct until {
	const char *ttl;     /* as given, or NULL */
	const char *expires; /* likewise; only one of them */
	int64_t default_ms;  /* of a ttl, when neither is given */
	int64_t max_ms;
};

/**
 * until_read(rq, u, out, e):
 * The time (unix ms) until which it is good.
 * Errors: ERR_ARG, with a failure that names the field.
 */
FALLIBLE enum err until_read(struct request *rq, const struct until *u,
			     int64_t *out, struct errinfo *e);

#endif

/* warren selftest: attempts inside a sandbox that must fail. */
#ifndef STORE_WARREN_ATTEMPT_H
#define STORE_WARREN_ATTEMPT_H

#include "base/check.h"
#include "store/warren_http.h"

/* Of the sandbox that they run in. */
#define ATTEMPT_PIDS 48
#define ATTEMPT_MEMORY_BYTES (256 << 20)

/* The programs of store/selftest, made by its embed.cmake. */
struct warren_guest {
	const char *name; /* "guard.py" */
	const char *text;
};

extern const struct warren_guest warren_guests[];
extern const size_t warren_guests_count;

/* What the attempts need to know. */
struct attempt_place {
	const char *sandbox; /* the name that they make one of */
	const char *secret;  /* a file of the host with something in it */
	const char *port;    /* that the service listens on */
};

/**
 * warren_attempt_all(h, place, l, e):
 * Make the sandbox, run every attempt in it, and add a check for each: ok
 * when it was refused, missing when anything got through. The sandbox stays.
 * Errors: what made the test itself impossible.
 */
FALLIBLE enum err warren_attempt_all(struct warren_http *h,
				     const struct attempt_place *place,
				     struct check_list *l, struct errinfo *e);

/**
 * warren_attempt_foreign(h, id, l, e):
 * With another tenant's key: the sandbox ${id} must not be there for reads,
 * commands and its deletion.
 */
FALLIBLE enum err warren_attempt_foreign(struct warren_http *h, const char *id,
					 struct check_list *l,
					 struct errinfo *e);

#endif

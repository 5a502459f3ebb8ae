/* Counts of refused system calls: call_denial.def. */
#ifndef BASE_CALL_DENIAL_H
#define BASE_CALL_DENIAL_H

#include <stdint.h>

#include "base/err.h"
#include "base/wire.h"

enum call_denial {
#define CALL(name) CALL_##name,
#include "base/call_denial.def"
#undef CALL
	CALL_COUNT
};

/* How often since a sandbox's start, and the last time (unix). */
struct call_count {
	uint32_t count;
	int64_t last_ms;
};

struct call_counts {
	struct call_count of[CALL_COUNT];
};

/** call_denial_word(c): Its name. */
const char *call_denial_word(enum call_denial c);

/** call_denial_find(nr): Which one has that number here; CALL_COUNT: none. */
enum call_denial call_denial_find(int nr);

/** call_counts_put(b, c), call_counts_get(msg, c, e): As a payload: those that
 * are not 0. Errors: ERR_PEER for a malformed one. */
void call_counts_put(struct buf *b, const struct call_counts *c);
FALLIBLE enum err call_counts_get(const struct wire_msg *msg,
				  struct call_counts *c, struct errinfo *e);

#endif

/* What was found out about a machine: a list of checks, one line each. */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <stdio.h>

#include "base/err.h"

#define CHECK_MAX 64
#define CHECK_NAME_MAX 31
#define CHECK_TEXT_MAX 255

enum check_state {
	CHECK_OK,
	CHECK_WARN,   /* it works, but not as well or as safely as it could */
	CHECK_MISSING /* it does not work without */
};

struct check {
	enum check_state state;
	char name[CHECK_NAME_MAX + 1];
	char text[CHECK_TEXT_MAX + 1]; /* what was found */
	char fix[CHECK_TEXT_MAX + 1];  /* how to get it; "" when it is there */
};

struct check_list {
	struct check at[CHECK_MAX];
	int n;
};

/** check_state_name(s): "ok", "warn", "missing". */
const char *check_state_name(enum check_state s);

/**
 * check_add(l, state, name, fix, fmt, ...):
 * Append. Texts that are too long are cut; control bytes become '?'.
 * ${fix} is kept only of what is not ok.
 */
void check_add(struct check_list *l, enum check_state state, const char *name,
	       const char *fix, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/** check_count(l, state): How many are so. */
int check_count(const struct check_list *l, enum check_state state);

/** check_write(l, f): One line each: state, name, text, fix, apart by tabs. */
void check_write(const struct check_list *l, FILE *f);

/**
 * check_read(l, f, e):
 * Append what check_write() wrote. Errors: ERR_PEER for any other line.
 */
FALLIBLE enum err check_read(struct check_list *l, FILE *f, struct errinfo *e);

#endif

/*
 * What a line of a program's output is searched for: a text, or a regular
 * expression as JavaScript has them. The engine backtracks, so it is bounded
 * in steps for a line, in memory and in time over all lines: a pattern that
 * needs more is an error and never a hang. (RE2 would need none of that, but
 * has no C interface and knows no look-around or back-references, which
 * callers' patterns for waitForLog() have.)
 */
#ifndef FCGI_LINE_MATCH_H
#define FCGI_LINE_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define LINE_PATTERN_MAX 1000

struct line_match {
	const char *text; /* borrowed; NULL: a pattern */
	size_t text_len;
	void *code; /* pcre2_code */
	void *data; /* pcre2_match_data */
	void *bounds;
	int64_t used_us;
};

/** line_match_text(m, text, n): ${text} must live as long as ${m}. */
void line_match_text(struct line_match *m, const char *text, size_t n);

/**
 * line_match_regex(m, pattern, flags, why, size, e):
 * ${flags}: of "imsu" (and g, y, d, which mean nothing here).
 * Errors: ERR_ARG with what is wrong in ${why}; ERR_NOMEM.
 */
FALLIBLE enum err line_match_regex(struct line_match *m, const char *pattern,
				   const char *flags, char *why, size_t size,
				   struct errinfo *e);

/**
 * line_match_find(m, line, n, found, e):
 * Errors: ERR_LIMIT when the pattern takes too long.
 */
FALLIBLE enum err line_match_find(struct line_match *m, const char *line,
				  size_t n, bool *found, struct errinfo *e);

/**
 * line_match_group(m, i, start, end):
 * Where group ${i} of what was found stands; false: there are fewer.
 * ${start} == ${end} == SIZE_MAX: it took no part.
 */
bool line_match_group(const struct line_match *m, unsigned i, size_t *start,
		      size_t *end);

void line_match_free(struct line_match *m);

#endif

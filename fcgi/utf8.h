/* UTF-8 out of whatever bytes a program printed. */
#ifndef FCGI_UTF8_H
#define FCGI_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The bytes of a character whose rest has not come yet; {0} to start. */
struct utf8 {
	uint8_t part[4];
	uint8_t have;
};

/**
 * utf8_decode(u, p, n, out):
 * Append the text in the ${n} bytes at ${p} to ${out}: always valid UTF-8,
 * each bad byte sequence is one U+FFFD, a character split over two calls is
 * joined. What is incomplete at the end waits in ${u}.
 */
void utf8_decode(struct utf8 *u, const char *p, size_t n, struct buf *out);

/** utf8_end(u, out): The stream ended: U+FFFD if a character was cut. */
void utf8_end(struct utf8 *u, struct buf *out);

/** utf8_ok(p, n): The ${n} bytes at ${p} are valid UTF-8. */
bool utf8_ok(const char *p, size_t n);

#endif

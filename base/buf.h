/* A growing byte string with a hard maximum and a sticky failure. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* data[len] is always 0 once something was appended. */
struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max_bytes;
	bool failed;
};

/* max: most bytes it may hold, up to SIZE_MAX/4; more sets failed. */
#define BUF_INIT(max)                                                          \
	{                                                                      \
		.max_bytes = (max)                                             \
	}

/** buf_free(b): Free what ${b} holds; ${b} may be used again. */
void buf_free(struct buf *b);

/** buf_reset(b): Length 0, failure forgotten, memory kept. */
void buf_reset(struct buf *b);

/** buf_ok(b): Nothing appended so far has failed. */
static inline bool buf_ok(const struct buf *b)
{
	return !b->failed;
}

/**
 * buf_add(b, p, n), buf_adds(b, s), buf_addc(b, c), buf_addf(b, fmt, ...):
 * Append. On failure (maximum, memory) ${b} keeps what it had and failed is
 * set; later appends do nothing. Check buf_ok() once at the end.
 */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * buf_space(b, n):
 * Room for ${n} more bytes at the returned place, NULL on failure; after
 * writing m <= n of them call buf_grow(b, m).
 */
void *buf_space(struct buf *b, size_t n);
void buf_grow(struct buf *b, size_t n);

/** buf_drop(b, n): Remove the first ${n} bytes. */
void buf_drop(struct buf *b, size_t n);

/** buf_str(b): The bytes as a string, "" when empty. */
static inline const char *buf_str(const struct buf *b)
{
	return b->data != NULL ? b->data : "";
}

#endif

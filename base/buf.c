#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"

void buf_free(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->cap = 0;
	b->failed = false;
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data != NULL)
		b->data[0] = '\0';
}

void *buf_space(struct buf *b, size_t n)
{
	size_t want, cap;
	char *p;

	if (b->failed || n > b->max_bytes || b->len > b->max_bytes - n) {
		b->failed = true;
		return NULL;
	}
	must(b->max_bytes <= SIZE_MAX / 4); /* doubling never wraps */
	want = b->len + n + 1;
	if (want <= b->cap)
		return b->data + b->len;
	cap = b->cap < 64 ? 64 : b->cap;
	while (cap < want)
		cap *= 2;
	if (cap > b->max_bytes + 1)
		cap = b->max_bytes + 1;
	p = realloc(b->data, cap);
	if (p == NULL) {
		b->failed = true;
		return NULL;
	}
	b->data = p;
	b->cap = cap;
	return b->data + b->len;
}

void buf_grow(struct buf *b, size_t n)
{
	must(b->data != NULL && n < b->cap - b->len);
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	void *to = buf_space(b, n);

	if (to == NULL)
		return;
	if (n > 0)
		memcpy(to, p, n);
	buf_grow(b, n);
}

void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap;
	char *to;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	if ((size_t)n < sizeof(small)) {
		buf_add(b, small, (size_t)n);
		return;
	}
	to = buf_space(b, (size_t)n);
	if (to == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf_grow(b, (size_t)n);
}

void buf_drop(struct buf *b, size_t n)
{
	must(n <= b->len);
	if (n == 0)
		return;
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
	b->data[b->len] = '\0';
}

#include <stdint.h>
#include <string.h>

#include "fcgi/json_text.h"

/* In eight bytes, the high bit of each that may be c. */
#define EACH(c) (UINT64_C(0x0101010101010101) * (c))
#define BELOW(w, c) (((w)-EACH(c)) & ~(w)&EACH(0x80))
#define EQUAL(w, c) BELOW((w) ^ EACH(c), 1)

size_t json_text_plain(const char *p, size_t n)
{
	size_t i = 0;

	for (uint64_t w; n - i >= sizeof(w); i += sizeof(w)) {
		memcpy(&w, p + i, sizeof(w));
		if ((BELOW(w, 0x20) | EQUAL(w, '"') | EQUAL(w, '\\') |
		     EQUAL(w, 0x7f)) != 0)
			break;
	}
	return i;
}

static void escape_one(struct buf *b, unsigned char c)
{
	switch (c) {
	case '"':
		buf_add(b, "\\\"", 2);
		break;
	case '\\':
		buf_add(b, "\\\\", 2);
		break;
	case '\n':
		buf_add(b, "\\n", 2);
		break;
	case '\r':
		buf_add(b, "\\r", 2);
		break;
	case '\t':
		buf_add(b, "\\t", 2);
		break;
	default:
		buf_addf(b, "\\u%04x", c);
	}
}

void json_text_escape(struct buf *b, const char *p, size_t n)
{
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c;

		if (i % 8 == 0 || i == from)
			i += json_text_plain(p + i, n - i);
		if (i == n)
			break;
		c = (unsigned char)p[i];
		if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
			continue;
		buf_add(b, p + from, i - from);
		from = i + 1;
		escape_one(b, c);
	}
	buf_add(b, p + from, n - from);
}

/* The XXXX at ${p}, of which ${n} bytes are there; -1 if it is none. */
static long hex4(const char *p, size_t n)
{
	long v = 0;

	if (n < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = p[i];

		if (c >= '0' && c <= '9')
			v = v * 16 + c - '0';
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + c - 'a' + 10;
		else if (c >= 'A' && c <= 'F')
			v = v * 16 + c - 'A' + 10;
		else
			return -1;
	}
	return v;
}

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* The low half of a pair, as \uXXXX at ${p}; -1 if it is none. */
static long low_half(const char *p, size_t n)
{
	long v = n >= 6 && p[0] == '\\' && p[1] == 'u' ? hex4(p + 2, n - 2)
						       : -1;

	return v >= 0xdc00 && v <= 0xdfff ? v : -1;
}

/* The \uXXXX at ${p}, of a pair both, to ${*to}; the bytes that it took, or
 * 0. */
static size_t decode_u(const char *p, size_t n, char **to)
{
	long c = hex4(p + 2, n - 2);
	size_t took = 6;

	if (c < 0 || (c >= 0xdc00 && c <= 0xdfff))
		return 0;
	if (c >= 0xd800 && c <= 0xdbff) {
		long low = low_half(p + 6, n - 6);

		if (low < 0)
			return 0;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		took = 12;
	}
	*to += put_utf8(*to, (uint32_t)c);
	return took;
}

/* The escape at ${p}, which is a backslash and ${n} - 1 bytes more. */
static size_t decode_one(const char *p, size_t n, char **to)
{
	static const char from[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (n < 2 || p[1] == '\0')
		return 0;
	if (p[1] == 'u')
		return decode_u(p, n, to);
	at = strchr(from, p[1]);
	if (at == NULL)
		return 0;
	*(*to)++ = means[at - from];
	return 2;
}

bool json_text_decode(char *p, size_t *n)
{
	const char *from = p, *end = p + *n;
	char *to = p;

	while (from < end) {
		const char *next = memchr(from, '\\', (size_t)(end - from));
		size_t run = (size_t)((next != NULL ? next : end) - from);

		if (to != from)
			memmove(to, from, run);
		to += run;
		from += run;
		if (next != NULL) {
			size_t took = decode_one(from, (size_t)(end - from),
						 &to);

			if (took == 0)
				return false;
			from += took;
		}
	}
	*n = (size_t)(to - p);
	return true;
}

#include <string.h>

#include "fcgi/utf8.h"

#define UTF8_BAD "\xef\xbf\xbd" /* U+FFFD */

/*
 * Look at the character at p (n > 0 bytes): its length if it is valid, 0 if
 * it is valid so far but cut, -k if its first k bytes are to be replaced.
 */
static int utf8_look(const uint8_t *p, size_t n)
{
	uint8_t low = 0x80, high = 0xbf;
	int len;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		len = 2;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		len = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		len = 4;
	else
		return -1;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	for (int i = 1; i < len; i++) {
		if ((size_t)i >= n)
			return 0;
		if (p[i] < low || p[i] > high)
			return -i;
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

/* How many ASCII bytes p begins with; most text is nothing else. */
static size_t utf8_ascii(const uint8_t *p, size_t n)
{
	size_t at = 0;
	uint64_t word;

	for (; n - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, p + at, sizeof(word));
		if ((word & UINT64_C(0x8080808080808080)) != 0)
			break;
	}
	while (at < n && p[at] < 0x80)
		at++;
	return at;
}

/* Decode whole characters of p; the number of bytes that were used. */
static size_t utf8_run(const uint8_t *p, size_t n, struct buf *out)
{
	size_t at = 0, from = 0;

	while ((at += utf8_ascii(p + at, n - at)) < n) {
		int len = utf8_look(p + at, n - at);

		if (len == 0)
			break;
		if (len > 0) {
			at += (size_t)len;
			continue;
		}
		buf_add(out, p + from, at - from);
		buf_adds(out, UTF8_BAD);
		at += (size_t)-len;
		from = at;
	}
	buf_add(out, p + from, at - from);
	return at;
}

void utf8_decode(struct utf8 *u, const char *p, size_t n, struct buf *out)
{
	size_t used;

	/* Join what waits with as many bytes as one character can need. */
	while (u->have > 0 && n > 0) {
		int len;

		u->part[u->have++] = (uint8_t)*p++;
		n--;
		len = utf8_look(u->part, u->have);
		if (len == 0)
			continue;
		if (len > 0) {
			buf_add(out, u->part, u->have);
			u->have = 0;
			break;
		}
		/* The new byte begins something of its own. */
		buf_adds(out, UTF8_BAD);
		u->have = 0;
		p--;
		n++;
	}
	if (n == 0)
		return;
	used = utf8_run((const uint8_t *)p, n, out);
	u->have = (uint8_t)(n - used);
	memcpy(u->part, p + used, u->have);
}

void utf8_end(struct utf8 *u, struct buf *out)
{
	if (u->have > 0)
		buf_adds(out, UTF8_BAD);
	u->have = 0;
}

bool utf8_ok(const char *p, size_t n)
{
	const uint8_t *s = (const uint8_t *)p;

	size_t at = 0;

	while ((at += utf8_ascii(s + at, n - at)) < n) {
		int len = utf8_look(s + at, n - at);

		if (len <= 0)
			return false;
		at += (size_t)len;
	}
	return true;
}

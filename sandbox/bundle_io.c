#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "sandbox/bundle.h"

int bundle_refuse(struct bundle *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b->text, sizeof(b->text), fmt, ap);
	va_end(ap);
	return fs_fail_as(&b->op, FS_BAD_ARCHIVE);
}

/* Up to n bytes of the chunk that is there; 0 at the end, -1 when cut. */
static ssize_t take(struct bundle_in *in, char *p, size_t n)
{
	uint32_t le = 0;
	ssize_t r;

	if (in->ended)
		return 0;
	if (in->left == 0) {
		if (fs_take_all(&le, sizeof(le)) != 0 ||
		    le32toh(le) > FS_CHUNK_MAX) {
			in->cut = true;
			return -1;
		}
		in->left = le32toh(le);
		in->ended = in->left == 0;
		if (in->ended)
			return 0;
	}
	if (n > in->left)
		n = in->left;
	do {
		r = read(STDIN_FILENO, p, n);
	} while (r < 0 && errno == EINTR);
	if (r <= 0) {
		in->cut = true;
		return -1;
	}
	in->left -= (uint32_t)r;
	return r;
}

int bundle_in_next(struct bundle_in *in)
{
	ssize_t n;

	if (in->again) {
		in->again = false;
		return in->have > 0;
	}
	n = take(in, in->data, sizeof(in->data));
	in->have = n > 0 ? (size_t)n : 0;
	return n < 0 ? -1 : n > 0;
}

int bundle_in_look(struct bundle_in *in, size_t n)
{
	ssize_t r = 1;

	in->have = 0;
	while (in->have < n && r > 0) {
		r = take(in, in->data + in->have, sizeof(in->data) - in->have);
		if (r > 0)
			in->have += (size_t)r;
	}
	in->again = true;
	return r < 0 ? -1 : 0;
}

la_ssize_t bundle_in_callback(struct archive *a, void *ctx, const void **p)
{
	struct bundle_in *in = ctx;

	if (bundle_in_next(in) < 0) {
		archive_set_error(a, EPIPE, "the upload broke off");
		return -1;
	}
	*p = in->data;
	return (la_ssize_t)in->have;
}

la_ssize_t bundle_out_callback(struct archive *a, void *ctx, const void *p,
			       size_t n)
{
	const char *at = p;
	size_t left = n;

	(void)ctx;
	while (left > 0) {
		size_t part = left < FS_CHUNK_MAX ? left : FS_CHUNK_MAX;
		uint32_t le = htole32((uint32_t)part);

		if (fs_send(&le, sizeof(le)) < 0 || fs_send(at, part) < 0) {
			archive_set_error(a, EPIPE, "nobody reads");
			return -1;
		}
		at += part;
		left -= part;
	}
	return (la_ssize_t)n;
}

/*
 * A JSON text that is made while its bytes come, so that nothing is left to do
 * with what is large when the last of them is there.
 */
#ifndef FCGI_JSON_PART_H
#define FCGI_JSON_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "fcgi/utf8.h"

struct json_part {
	struct buf b; /* what stands between the quotes */
	bool base64;  /* of the exact bytes; else valid UTF-8, U+FFFD for bad */
	/* what needs the next bytes */
	struct utf8 utf8;
	unsigned char rest[3];
	size_t nrest;
};

/* Errors are sticky in b, whose maximum is for what is written. */
#define JSON_PART_INIT(max, is_base64)                                         \
	{                                                                      \
		.b = BUF_INIT(max), .base64 = (is_base64)                      \
	}

void json_part_free(struct json_part *t);

/** json_part_add(t, p, n): ${n} bytes more of the text. */
void json_part_add(struct json_part *t, const char *p, size_t n);

/** json_part_end(t): These were all. */
void json_part_end(struct json_part *t);

#endif

/*
 * The insides of JSON texts, as bytes: escaped, and back. Fast for the long
 * plain runs that files are.
 */
#ifndef FCGI_JSON_TEXT_H
#define FCGI_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/**
 * json_text_plain(p, n):
 * How many of the ${n} bytes at ${p}, eight at a time, surely are neither
 * control bytes nor quotes nor backslashes: at most ${n}, maybe 0.
 */
size_t json_text_plain(const char *p, size_t n);

/** json_text_escape(b, p, n): Append ${n} bytes of valid UTF-8, escaped. */
void json_text_escape(struct buf *b, const char *p, size_t n);

/**
 * json_text_decode(p, n):
 * Undo the escapes of the ${*n} bytes at ${p}, what is between the quotes of a
 * text, in place; ${*n} is how many are left. Returns false for what is no
 * escape, or half a character; what is at ${p} is then undefined.
 */
bool json_text_decode(char *p, size_t *n);

#endif

/* What a file is, by its first bytes and its name. */
#ifndef FCGI_FILE_MIME_H
#define FCGI_FILE_MIME_H

#include <stdbool.h>
#include <stddef.h>

/* So many first bytes are enough. */
#define FILE_MIME_LOOK 65536U

/**
 * file_mime_type(path, p, n, text):
 * The MIME type of a file called ${path} that begins with the ${n} bytes at
 * ${p}; ${text}: they are text.
 */
const char *file_mime_type(const char *path, const char *p, size_t n,
			   bool text);

/** file_mime_binary(type): A type whose content is never meant as text. */
bool file_mime_binary(const char *type);

/**
 * file_mime_text(p, n, whole):
 * The ${n} bytes at ${p} are valid UTF-8 without NUL. If they are not the
 * ${whole} file, a character may be cut at their end.
 */
bool file_mime_text(const char *p, size_t n, bool whole);

#endif

#include <string.h>

#include "fcgi/backup_xml.h"

/* Behind "<tag>" or "<tag …>"; NULL: there is none. */
static const char *after_tag(const char *p, size_t n, const char *tag)
{
	size_t len = strlen(tag);
	const char *end = p + n;

	while ((p = memchr(p, '<', (size_t)(end - p))) != NULL) {
		p++;
		if ((size_t)(end - p) <= len || memcmp(p, tag, len) != 0)
			continue;
		if (p[len] == '>')
			return p + len + 1;
		if (p[len] != ' ' && p[len] != '\n' && p[len] != '\t')
			continue;
		p = memchr(p, '>', (size_t)(end - p));
		return p != NULL && p[-1] != '/' ? p + 1 : NULL;
	}
	return NULL;
}

size_t backup_xml_text(const char *p, size_t n, const char *tag, char *out,
		       size_t out_max)
{
	const char *at = after_tag(p, n, tag);
	const char *end = p + n;
	size_t len = strlen(tag);
	size_t used = 0;

	if (at == NULL)
		return 0;
	while (at + used < end && at[used] > ' ' && at[used] <= '~' &&
	       at[used] != '<' && at[used] != '&')
		used++;
	if (used == 0 || used >= out_max ||
	    (size_t)(end - at) - used < len + 3 ||
	    memcmp(at + used, "</", 2) != 0 ||
	    memcmp(at + used + 2, tag, len) != 0 || at[used + 2 + len] != '>')
		return 0;
	memcpy(out, at, used);
	out[used] = '\0';
	return (size_t)(at - p) + used + len + 3;
}

bool backup_xml_has(const char *p, size_t n, const char *tag)
{
	return after_tag(p, n, tag) != NULL;
}

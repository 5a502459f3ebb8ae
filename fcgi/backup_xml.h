/* What little is read of an object store's answers, which are XML. */
#ifndef FCGI_BACKUP_XML_H
#define FCGI_BACKUP_XML_H

#include <stdbool.h>
#include <stddef.h>

/**
 * backup_xml_text(p, n, tag, out, out_max):
 * The text of the first element ${tag} of the ${n} bytes at ${p}, with its 0,
 * into ${out}. Returns how many bytes that took, to go on behind it; 0 if
 * there is none, or none that is whole, plain (without < and &, of visible
 * characters), not empty, and shorter than ${out_max}.
 */
size_t backup_xml_text(const char *p, size_t n, const char *tag, char *out,
		       size_t out_max);

/** backup_xml_has(p, n, tag): There is an element ${tag}. */
bool backup_xml_has(const char *p, size_t n, const char *tag);

#endif

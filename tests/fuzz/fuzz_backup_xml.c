/*
 * What an object store answers: the first byte is the length of a tag, then
 * that and the answer. What is found is in it, plain, and within its bounds.
 */
#include <string.h>

#include "base/own.h"
#include "fcgi/backup_xml.h"
#include "tests/fuzz/fuzz.h"

#define OUT_MAX 32U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char tag[17] = "", out[OUT_MAX];
	size_t len = n > 0 ? data[0] % sizeof(tag) : 0;
	const char *p;
	size_t used;

	if (len == 0 || n < len + 1 || memchr(data + 1, 0, len) != NULL)
		return 0;
	memcpy(tag, data + 1, len);
	p = (const char *)data + 1 + len;
	n -= len + 1;
	while ((used = backup_xml_text(p, n, tag, out, sizeof(out))) > 0) {
		size_t size = strlen(out);

		must(used <= n && size > 0 && size < sizeof(out));
		must(strpbrk(out, "<&") == NULL);
		must(used >= size + 2 * len + 5);
		must(memcmp(p + used - size - len - 3, out, size) == 0);
		must(backup_xml_has(p, n, tag));
		p += used;
		n -= used;
	}
	return 0;
}

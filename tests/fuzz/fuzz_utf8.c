/*
 * Bytes that a program printed, in pieces: the text is the same as when
 * they come at once, and always valid; valid text is not changed.
 */
#include <string.h>

#include "base/own.h"
#include "fcgi/utf8.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	OWN(buf_free) struct buf whole = BUF_INIT(3 * n + 16);
	OWN(buf_free) struct buf parts = BUF_INIT(3 * n + 16);
	OWN(buf_free) struct buf text = BUF_INIT(n);
	struct utf8 u = {0};
	size_t piece = n > 0 ? (size_t)data[0] % 7 + 1 : 1;

	if (n < 1)
		return 0;
	buf_add(&text, data + 1, n - 1);
	utf8_decode(&u, text.data, text.len, &whole);
	utf8_end(&u, &whole);
	u = (struct utf8){0};
	for (size_t i = 0; i < text.len; i += piece)
		utf8_decode(&u, text.data + i,
			    text.len - i < piece ? text.len - i : piece,
			    &parts);
	utf8_end(&u, &parts);
	must(buf_ok(&whole) && buf_ok(&parts));
	must(utf8_ok(buf_str(&whole), whole.len));
	must(whole.len == parts.len &&
	     memcmp(buf_str(&whole), buf_str(&parts), whole.len) == 0);
	if (utf8_ok(text.data, text.len))
		must(whole.len == text.len &&
		     memcmp(buf_str(&whole), text.data, text.len) == 0);
	return 0;
}

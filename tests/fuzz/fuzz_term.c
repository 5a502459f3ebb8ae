/*
 * A terminal's frames, in pieces: they mean the same as when they come at
 * once. The head of a request: what is taken is whole and of a checked form.
 */
#include <string.h>

#include "base/own.h"
#include "base/pty_frame.h"
#include "fcgi/term.h"
#include "tests/fuzz/fuzz.h"

static void on_input(void *arg, const uint8_t *data, size_t n)
{
	buf_add(arg, data, n);
}

static void on_size(void *arg, uint16_t cols, uint16_t rows)
{
	buf_addf(arg, "<%u %u>", cols, rows);
}

static const struct pty_sink sink = {on_input, on_size};

static void frames(const uint8_t *data, size_t n, size_t piece)
{
	OWN(buf_free) struct buf whole = BUF_INIT(16 * n + 64);
	OWN(buf_free) struct buf parts = BUF_INIT(16 * n + 64);
	struct pty_parser p = {.have = 0};

	pty_parse(&p, data, n, &sink, &whole);
	p = (struct pty_parser){.have = 0};
	for (size_t i = 0; i < n; i += piece)
		pty_parse(&p, data + i, n - i < piece ? n - i : piece, &sink,
			  &parts);
	must(buf_ok(&whole) && buf_ok(&parts));
	must(whole.len == parts.len &&
	     memcmp(buf_str(&whole), buf_str(&parts), whole.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct term_head h;
	size_t used = 0;
	int r;

	if (n < 1)
		return 0;
	r = term_head_read((const char *)data, n, &h, &used);
	must(r >= -1 && r <= 1);
	if (r == 1) {
		must(used <= n && used >= 4);
		must(id_sandbox_ok(h.sandbox) && id_text_ok(h.exec));
		must(h.key[0] == '\0' || strlen(h.key) <= 24);
	}
	frames(data + 1, n - 1, (size_t)data[0] % 7 + 1);
	return 0;
}

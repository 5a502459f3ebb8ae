/*
 * What a kernel says: the first byte says of which kind of event it is.
 * Whatever it is, what is told is JSON that the strict parser takes.
 */
#include <string.h>

#include "base/own.h"
#include "fcgi/code_result.h"
#include "fcgi/utf8.h"
#include "tests/fuzz/fuzz.h"

static const enum event_kind kinds[] = {EVENT_RESULT, EVENT_ERROR, EVENT_DONE};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	OWN(code_result_free) struct code_result r = {0};
	OWN(json_in_free) struct json_in again = {0};
	OWN(json_out_free) struct json_out o;
	OWN(buf_free) struct buf text = BUF_INIT(n);
	enum event_kind kind = kinds[n > 0 ? data[0] % 3 : 0];
	struct errinfo e;

	json_out_init(&o, 1 << 22);
	if (n < 1)
		return 0;
	buf_add(&text, data + 1, n - 1);
	if (code_result_read(&r, kind, text.data, n - 1, &e) != ERR_NONE) {
		must(e.code == ERR_PEER);
		return 0;
	}
	json_out_object(&o, NULL);
	if (kind == EVENT_RESULT)
		code_result_put(&r, &o);
	else if (kind == EVENT_ERROR)
		code_result_put_error(&r, "ename", "evalue", &o);
	else
		must(r.execution_count >= 0);
	json_out_end(&o);
	must(json_out_ok(&o) && utf8_ok(o.b.data, o.b.len));
	must(json_in_parse(&again, o.b.data, o.b.len, &e) == ERR_NONE);
	return 0;
}

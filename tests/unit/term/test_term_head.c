#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fcgi/term.h"

#define PLACE "X-Warren-Terminal: s000000123456789abcdef/proc_1_a\r\n"
#define WS                                                                     \
	"Upgrade: WebSocket\r\nConnection: upgrade\r\n"                        \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"                      \
	"Sec-WebSocket-Version: 13\r\n"

static int head_of(const char *text, struct term_head *h, size_t *used)
{
	return term_head_read(text, strlen(text), h, used);
}

static void a_whole_head_is_read(void **state)
{
	static const char text[] =
	    "GET /v1/x?a=b HTTP/1.1\r\nHost: h\r\n" WS PLACE "\r\nmore";
	struct term_head h;
	size_t used;

	(void)state;
	assert_int_equal(head_of(text, &h, &used), 1);
	assert_int_equal(used, strlen(text) - strlen("more"));
	assert_true(h.upgrade && h.version);
	assert_string_equal(h.key, "dGhlIHNhbXBsZSBub25jZQ==");
	assert_string_equal(h.sandbox, "s000000123456789abcdef");
	assert_string_equal(h.exec, "proc_1_a");
}

static void every_part_of_a_head_waits_for_the_rest(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\n" WS PLACE "\r\n";
	struct term_head h;
	size_t used;

	(void)state;
	for (size_t n = 0; n < strlen(text); n++)
		assert_int_equal(term_head_read(text, n, &h, &used), 0);
}

static void what_names_no_terminal_is_refused(void **state)
{
	static const char *const heads[] = {
	    "GET / HTTP/1.1\r\n" WS "\r\n",
	    "POST / HTTP/1.1\r\n" WS PLACE "\r\n",
	    "GET / HTTP/1.1\r\n" WS PLACE PLACE "\r\n",
	    "GET / HTTP/1.1\r\nX-Warren-Terminal: x/y\r\n\r\n",
	    "GET / HTTP/1.1\r\nX-Warren-Terminal: "
	    "s000000123456789abcdef/\r\n\r\n",
	    "GET / HTTP/1.1\r\nX-Warren-Terminal: "
	    "s000000123456789abcdef/../a\r\n\r\n",
	    "GET / HTTP/1.1\r\nX-Warren-Terminal: "
	    "../../../x0123456789abc/a\r\n\r\n",
	    "nonsense\r\n\r\n",
	    "\r\n\r\n\r\n\r\n",
	};
	struct term_head h;
	size_t used;

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		assert_int_equal(head_of(heads[i], &h, &used), -1);
}

static void the_answer_to_a_key_is_that_of_rfc_6455(void **state)
{
	char out[32];

	(void)state;
	term_head_accept("dGhlIHNhbXBsZSBub25jZQ==", out);
	assert_string_equal(out, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_whole_head_is_read),
	    cmocka_unit_test(every_part_of_a_head_waits_for_the_rest),
	    cmocka_unit_test(what_names_no_terminal_is_refused),
	    cmocka_unit_test(the_answer_to_a_key_is_that_of_rfc_6455),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

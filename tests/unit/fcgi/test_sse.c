#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fcgi/exec_tell.h"
#include "fcgi/share.h"
#include "fcgi/sse.h"
#include "tests/unit/fcgi/answered.h"

static void a_frame_has_its_number_and_one_data_line(void **state)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(100);
	struct answered a;
	struct sse s;
	struct errinfo e;
	const char *text;

	(void)state;
	json_out_object(&o, NULL);
	json_out_text(&o, "a", "b\nc");
	json_out_end(&o);
	answered_open(&a);
	assert_int_equal(sse_begin(&s, &a.rq, &e), ERR_NONE);
	assert_int_equal(sse_send(&s, 7, &o, &e), ERR_NONE);
	assert_int_equal(sse_send(&s, 0, &o, &e), ERR_NONE);
	text = strstr(answered_text(&a), "\r\n\r\n");
	assert_non_null(text);
	assert_string_equal(text + 4, "id: 7\ndata: {\"a\":\"b\\nc\"}\n\n"
				      "data: {\"a\":\"b\\nc\"}\n\n");
	pool_long_end(&a.rq);
	share_end(&a.rq);
	answered_close(&a);
}

static void a_stream_is_not_held_back(void **state)
{
	struct answered a;
	struct sse s;
	struct errinfo e;
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(100);

	(void)state;
	answered_open(&a);
	assert_int_equal(sse_begin(&s, &a.rq, &e), ERR_NONE);
	json_out_text(&o, NULL, "x\ny");
	assert_int_equal(sse_send(&s, 3, &o, &e), ERR_NONE);
	answered_text(&a);
	assert_non_null(strstr(a.text, "Content-Type: text/event-stream\r\n"));
	assert_non_null(strstr(a.text, "X-Accel-Buffering: no\r\n"));
	assert_non_null(strstr(a.text, "\r\n\r\nid: 3\ndata: \"x\\ny\"\n\n"));
	answered_close(&a);
}

static void a_heartbeat_comes_when_it_is_due(void **state)
{
	struct answered a;
	struct sse s;
	struct errinfo e;

	(void)state;
	answered_open(&a);
	assert_int_equal(sse_begin(&s, &a.rq, &e), ERR_NONE);
	assert_int_equal(sse_beat(&s, &e), ERR_NONE);
	s.beat_at_ms = clock_mono_ms() - 1;
	assert_int_equal(sse_beat(&s, &e), ERR_NONE);
	assert_int_equal(sse_beat(&s, &e), ERR_NONE);
	answered_text(&a);
	assert_string_equal(strstr(a.text, "\r\n\r\n") + 4, ": beat\n\n");
	answered_close(&a);
}

static void a_client_that_hung_up_is_seen(void **state)
{
	struct answered a;
	struct sse s;
	struct errinfo e;
	int client[2];

	(void)state;
	answered_open(&a);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, client) == 0);
	a.rq.client_fd = client[0];
	assert_int_equal(sse_begin(&s, &a.rq, &e), ERR_NONE);
	assert_int_equal(sse_beat(&s, &e), ERR_NONE);
	close(client[1]);
	assert_int_equal(sse_beat(&s, &e), ERR_GONE);
	assert_true(a.rq.broken);
	close(client[0]);
	answered_close(&a);
}

static enum err after(const char *query, const char *last, uint64_t *n)
{
	struct answered a;
	struct errinfo e;
	char q[64], l[64];
	enum err r;

	answered_open(&a);
	snprintf(q, sizeof(q), "QUERY_STRING=%s", query);
	snprintf(l, sizeof(l), "HTTP_LAST_EVENT_ID=%s", last);
	a.envp[0] = q;
	a.envp[1] = last[0] != '\0' ? l : NULL;
	*n = 99;
	r = sse_after(&a.rq, n, &e);
	answered_close(&a);
	return r;
}

static void a_reader_says_where_it_was(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(after("", "", &n), ERR_NONE);
	assert_int_equal(n, 0);
	assert_int_equal(after("", "12", &n), ERR_NONE);
	assert_int_equal(n, 12);
	assert_int_equal(after("after=3", "12", &n), ERR_NONE);
	assert_int_equal(n, 3);
	assert_int_equal(after("after=x", "", &n), ERR_ARG);
	assert_int_equal(after("after=-1", "", &n), ERR_ARG);
	assert_int_equal(after("", "1x", &n), ERR_ARG);
	assert_int_equal(after("", "-1", &n), ERR_ARG);
}

/* Two reads cut a character in two; the second event has it whole. */
static void output_events_have_whole_characters(void **state)
{
	struct answered a;
	struct exec_tell t = {0};
	struct errinfo e;
	struct keeper_event ev = {
	    .seq = 1, .kind = EVENT_OUT, .data = "a\xe2\x82", .len = 3};

	(void)state;
	answered_open(&a);
	assert_int_equal(sse_begin(&t.sse, &a.rq, &e), ERR_NONE);
	assert_int_equal(exec_tell_chunk(&t, &ev, &e), ERR_NONE);
	ev = (struct keeper_event){
	    .seq = 2, .kind = EVENT_ERR, .data = "err", .len = 3};
	assert_int_equal(exec_tell_chunk(&t, &ev, &e), ERR_NONE);
	ev = (struct keeper_event){
	    .seq = 3, .kind = EVENT_OUT, .data = "\xac\xff", .len = 2};
	assert_int_equal(exec_tell_chunk(&t, &ev, &e), ERR_NONE);
	ev = (struct keeper_event){
	    .seq = 4, .kind = EVENT_OUT, .data = "\xc3", .len = 1};
	assert_int_equal(exec_tell_chunk(&t, &ev, &e), ERR_NONE);
	assert_int_equal(exec_tell_rest(&t, &e), ERR_NONE);
	answered_text(&a);
	assert_non_null(strstr(
	    a.text, "id: 1\ndata: {\"type\":\"stdout\",\"data\":\"a\","));
	assert_non_null(strstr(
	    a.text, "id: 2\ndata: {\"type\":\"stderr\",\"data\":\"err\","));
	assert_non_null(strstr(a.text, "id: 3\ndata: {\"type\":\"stdout\","
				       "\"data\":\"\xe2\x82\xac"
				       "\xef\xbf\xbd\","));
	assert_null(strstr(a.text, "id: 4"));
	assert_non_null(strstr(a.text, "\n\ndata: {\"type\":\"stdout\","
				       "\"data\":\"\xef\xbf\xbd\","));
	answered_close(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_frame_has_its_number_and_one_data_line),
	    cmocka_unit_test(a_stream_is_not_held_back),
	    cmocka_unit_test(a_heartbeat_comes_when_it_is_due),
	    cmocka_unit_test(a_client_that_hung_up_is_seen),
	    cmocka_unit_test(a_reader_says_where_it_was),
	    cmocka_unit_test(output_events_have_whole_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

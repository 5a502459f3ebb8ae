/*
 * code_run: a keeper's frames on one side, FastCGI records on the other.
 * Whatever a kernel says, a reader that is still there gets exactly one
 * terminal event.
 */
#include "tests/unit/store/store_unit.h"

#include <fcgiapp.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/code_run.h"
#include "fcgi/pool.h"
#include "fcgi/store_pool.h"

#define RUN "run_1"
#define FCGI_STDOUT_TYPE 6
#define FCGI_HEAD_LEN 8
#define TAG 1U

/* libfcgi frees a writer, but not the request that it made for it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:FCGX_CreateWriter";
}

static struct unit *unit; /* a store, for all */

static int open_store(void **state)
{
	void *made = NULL;

	(void)state;
	if (unit_setup(&made) != 0)
		return -1;
	unit = made;
	store_pool_init(unit->dir);
	return 0;
}

static int close_store(void **state)
{
	void *made = unit;

	(void)state;
	store_pool_close();
	return unit_teardown(&made);
}

struct stage {
	struct request rq;
	FCGX_Request fcgi;
	struct link link;
	int keeper; /* the test's end of the link */
	int client; /* the test's end of nginx's connection */
	uint64_t seq;
	struct buf told;
};

static void pair(int *ours, int *theirs)
{
	int s[2], size = 4 << 20;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s),
			 0);
	setsockopt(s[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	setsockopt(s[1], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	*ours = s[0];
	*theirs = s[1];
}

static int stage_open(void **state)
{
	struct stage *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	signal(SIGPIPE, SIG_IGN); /* as in a worker */
	s->link = (struct link)LINK_INIT;
	s->link.rq = &s->rq;
	s->link.tag = TAG;
	wire_rx_init(&s->link.rx, KEEPER_PAYLOAD_MAX);
	pair(&s->keeper, &s->link.fd);
	pair(&s->client, &s->rq.client_fd);
	s->fcgi.out = FCGX_CreateWriter(s->rq.client_fd, 1, 8192,
					FCGI_STDOUT_TYPE);
	s->rq.fcgi = &s->fcgi;
	s->rq.method = METHOD_POST;
	s->told = (struct buf)BUF_INIT(64U << 20);
	*state = s;
	return 0;
}

static int stage_close(void **state)
{
	struct stage *s = *state;

	pool_long_end(&s->rq);
	route_park(&s->rq);
	FCGX_FreeStream(&s->fcgi.out);
	link_close(&s->link);
	own_fd(&s->keeper);
	own_fd(&s->client);
	own_fd(&s->rq.client_fd);
	buf_free(&s->rq.headers);
	buf_free(&s->told);
	free(s);
	return 0;
}

/* ---- the keeper's side ---- */

static void say(struct stage *s, enum event_kind kind, const void *p, size_t n)
{
	OWN(buf_free) struct buf b = BUF_INIT(1 << 20);
	struct errinfo e;

	wire_u64(&b, ++s->seq);
	wire_u8(&b, (uint8_t)kind);
	wire_i64(&b, 0);
	wire_bytes(&b, p, n);
	assert_int_equal(
	    wire_send(s->keeper, KM_EVENT, TAG, &b, clock_mono_ms() + 5000, &e),
	    ERR_NONE);
}

static void says(struct stage *s, enum event_kind kind, const char *text)
{
	say(s, kind, text, strlen(text));
}

static void say_end(struct stage *s, enum end_reason reason, bool lost)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	const struct keeper_end end = {
	    .exit_code = lost ? 137 : 0,
	    .reason = reason,
	    .kernel_lost = lost,
	    .stdout_bytes = 11,
	    .dropped_bytes = 5,
	};

	keeper_put_end(&b, &end);
	say(s, EVENT_END, b.data, b.len);
}

/* ---- the client's side ---- */

static enum err follow(struct stage *s, bool live)
{
	OWN(code_run_free) struct code_run run = {0};
	struct errinfo e = {0};

	s->rq.sandbox.limits.of[LIMIT_OUTPUT] = 1 << 20;
	code_run_init(&run, &s->rq, RUN, live);
	return code_run_follow(&run, &s->link, &e);
}

static void take(int fd, void *p, size_t n)
{
	assert_int_equal(recv(fd, p, n, MSG_WAITALL), n);
}

/* What was told so far: the FastCGI records' contents, without the head. */
static const char *told(struct stage *s)
{
	uint8_t head[FCGI_HEAD_LEN];
	const char *body;

	FCGX_FFlush(s->fcgi.out);
	while (recv(s->client, head, 1, MSG_DONTWAIT | MSG_PEEK) > 0) {
		size_t n;
		char *to;

		take(s->client, head, sizeof(head));
		n = (size_t)head[4] << 8 | head[5];
		to = buf_space(&s->told, n + head[6]);
		assert_non_null(to);
		take(s->client, to, n + head[6]);
		buf_grow(&s->told, n);
	}
	body = strstr(buf_str(&s->told), "\r\n\r\n");
	assert_non_null(body);
	return body + 4;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

static void has(const char *text, const char *what)
{
	if (strstr(text, what) == NULL)
		fail_msg("no %s in: %s", what, text);
}

/* The one terminal event, which is the last one. */
static void ends_once(const char *text)
{
	const char *last = strstr(text, "\"execution_complete\"");

	assert_int_equal(count(text, "\"execution_complete\""), 1);
	assert_null(strstr(last, "\ndata:"));
}

/* ---- claims ---- */

static void events_are_told_in_order_with_their_numbers(void **state)
{
	struct stage *s = *state;
	const char *t;

	says(s, EVENT_OUT, "a\n");
	says(s, EVENT_RESULT, "{\"mime\":{\"text/plain\":\"1\"}}");
	says(s, EVENT_ERR, "b\n");
	says(s, EVENT_DONE, "{\"execution_count\":3}");
	say_end(s, END_EXITED, false);
	assert_int_equal(follow(s, true), ERR_NONE);
	t = told(s);
	has(t, "id: 1\ndata: {\"type\":\"stdout\",\"text\":\"a\\n\"");
	has(t, "id: 2\ndata: {\"type\":\"result\",\"text\":\"1\"");
	has(t, "id: 3\ndata: {\"type\":\"stderr\",\"text\":\"b\\n\"");
	has(t, "id: 5\ndata: {\"type\":\"execution_complete\","
	       "\"execution_count\":3,\"reason\":\"exited\","
	       "\"state\":\"kept\"");
	has(t, "\"stdoutBytes\":11");
	ends_once(t);
}

static void what_was_dropped_after_it_was_read_is_no_loss(void **state)
{
	struct stage *s = *state;

	say_end(s, END_EXITED, false); /* its ring has dropped 5 bytes */
	assert_int_equal(follow(s, true), ERR_NONE);
	assert_null(strstr(told(s), "truncated"));
}

/* What is before ${first} the keeper has not any more. */
static void say_gap(struct stage *s, uint64_t first)
{
	OWN(buf_free) struct buf b = BUF_INIT(100);
	struct errinfo e;

	wire_u64(&b, first);
	assert_int_equal(
	    wire_send(s->keeper, KM_GAP, TAG, &b, clock_mono_ms() + 5000, &e),
	    ERR_NONE);
	s->seq = first - 1;
}

static void a_gap_is_told_as_truncated(void **state)
{
	struct stage *s = *state;

	says(s, EVENT_OUT, "a");
	say_gap(s, 9);
	say_end(s, END_EXITED, false);
	assert_int_equal(follow(s, true), ERR_NONE);
	has(told(s), "\"truncated\":true");
}

/* The recorder is ahead of the keeper, and stored what comes again. */
static void store_outs(struct stage *s, const char *text)
{
	static const struct log_bounds wide = {8 << 20, 64 << 20, 256 << 20};

	snprintf(s->rq.sandbox.id, sizeof(s->rq.sandbox.id), "%s",
		 "s00000aaaaaaaaaaaaaaaa");
	OK(log_chunk_begin(unit->c, &unit->e));
	for (uint64_t i = 0; text[i] != '\0'; i++) {
		const struct keeper_event ev = {.seq = i + 1,
						.kind = EVENT_OUT,
						.data = text + i,
						.len = 1};

		OK(unit_append(unit, s->rq.sandbox.id, RUN, &ev, &wide));
	}
	OK(log_chunk_commit(unit->c, &unit->e));
}

static void what_the_keeper_dropped_is_told_as_it_is_stored(void **state)
{
	struct stage *s = *state;
	const char *t;

	store_outs(s, "abcde");
	says(s, EVENT_OUT, "a");
	say_gap(s, 4);
	says(s, EVENT_OUT, "d");
	says(s, EVENT_OUT, "e");
	says(s, EVENT_OUT, "f");
	say_end(s, END_EXITED, false);
	assert_int_equal(follow(s, true), ERR_NONE);
	t = told(s);
	assert_int_equal(count(t, "\"type\":\"stdout\""), 6);
	for (const char *c = "abcdef"; *c != '\0'; c++) {
		const char text[] = {'"', 't', 'e', 'x', 't', '"',
				     ':', '"', *c,  '"', '\0'};
		const char *at = strstr(t, text);

		assert_non_null(at); /* each once, in order */
		t = at;
	}
	assert_null(strstr(t, "truncated"));
	ends_once(t);
}

static void a_character_split_over_events_is_joined(void **state)
{
	struct stage *s = *state;
	const char *t;

	say(s, EVENT_OUT, "\xe2\x82", 2);
	say(s, EVENT_ERR, "\xc3", 1); /* the streams do not mix */
	say(s, EVENT_OUT, "\xac", 1);
	say(s, EVENT_OUT, "x\xf0\x9f", 3);
	say_end(s, END_EXITED, false);
	assert_int_equal(follow(s, true), ERR_NONE);
	t = told(s);
	has(t, "\"stdout\",\"text\":\"\xe2\x82\xac\"");
	has(t, "\"stdout\",\"text\":\"x\"");
	has(t, "\"stdout\",\"text\":\"\xef\xbf\xbd\"");
	has(t, "\"stderr\",\"text\":\"\xef\xbf\xbd\"");
	ends_once(t);
}

static void a_malformed_result_is_an_error_and_the_run_goes_on(void **state)
{
	struct stage *s = *state;
	const char *t;

	says(s, EVENT_RESULT, "{\"mime\":[");
	says(s, EVENT_ERROR, "{\"ename\":1}");
	says(s, EVENT_DONE, "x");
	says(s, EVENT_OUT, "after");
	say_end(s, END_EXITED, false);
	assert_int_equal(follow(s, true), ERR_NONE);
	t = told(s);
	assert_int_equal(count(t, "\"ename\":\"MalformedResult\""), 3);
	has(t, "\"text\":\"after\"");
	assert_null(strstr(t, "execution_count"));
	ends_once(t);
}

static void a_kernel_that_died_is_an_error_with_the_reason(void **state)
{
	struct stage *s = *state;
	const char *t;

	say_end(s, END_OUT_OF_MEMORY, true);
	assert_int_equal(follow(s, true), ERR_NONE);
	t = told(s);
	has(t, "\"ename\":\"KernelDied\"");
	has(t, "out of memory");
	/* Who breaks off between the two is told both again. */
	assert_int_equal(count(t, "data: "), 2);
	assert_int_equal(count(t, "id: "), 1);
	has(t, "\"reason\":\"out_of_memory\",\"state\":\"lost\"");
	ends_once(t);
}

static void an_interrupted_run_always_has_an_error(void **state)
{
	struct stage *s = *state;

	say_end(s, END_TIMED_OUT, false);
	assert_int_equal(follow(s, true), ERR_NONE);
	assert_int_equal(count(told(s), "\"type\":\"error\""), 1);
	has(told(s), "\"reason\":\"timed_out\",\"state\":\"kept\"");
}

static void the_kernels_own_error_is_not_told_twice(void **state)
{
	struct stage *s = *state;

	says(s, EVENT_ERROR,
	     "{\"ename\":\"KeyboardInterrupt\",\"evalue\":\"\","
	     "\"traceback\":[]}");
	say_end(s, END_INTERRUPTED, false);
	assert_int_equal(follow(s, true), ERR_NONE);
	assert_int_equal(count(told(s), "\"type\":\"error\""), 1);
}

static void a_keeper_that_ends_is_a_terminal_event(void **state)
{
	struct stage *s = *state;
	const char *t;

	says(s, EVENT_OUT, "a");
	own_fd(&s->keeper);
	assert_int_equal(follow(s, true), ERR_NONE);
	t = told(s);
	has(t, "\"reason\":\"sandbox_gone\",\"state\":\"lost\"");
	ends_once(t);
}

static void a_keeper_that_talks_nonsense_is_a_terminal_event(void **state)
{
	struct stage *s = *state;

	says(s, EVENT_END, "short");
	assert_int_equal(follow(s, true), ERR_NONE);
	has(told(s), "\"reason\":\"sandbox_gone\"");
	ends_once(told(s));
}

static void a_client_that_left_ends_the_wait(void **state)
{
	struct stage *s = *state;

	own_fd(&s->client); /* and the keeper says nothing at all */
	assert_int_equal(follow(s, true), ERR_NONE);
	assert_true(s->rq.broken);
}

static void one_json_answer_has_all_of_it(void **state)
{
	struct stage *s = *state;
	const char *t;

	says(s, EVENT_OUT, "a\n");
	says(s, EVENT_OUT, "b\n");
	says(s, EVENT_RESULT, "{\"mime\":{\"text/plain\":\"1\"}}");
	says(s, EVENT_ERROR,
	     "{\"ename\":\"E\",\"evalue\":\"v\","
	     "\"traceback\":[\"t\"]}");
	says(s, EVENT_DONE, "{\"execution_count\":3}");
	say_end(s, END_EXITED, false);
	assert_int_equal(follow(s, false), ERR_NONE);
	t = told(s);
	has(t, "{\"success\":false,\"logs\":{\"stdout\":[\"a\\nb\\n\"],"
	       "\"stderr\":[]},\"results\":[{\"text\":\"1\",");
	has(t, "\"error\":{\"name\":\"E\",\"message\":\"v\","
	       "\"traceback\":[\"t\"]},\"executionCount\":3");
}

int main(void)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, stage_open, stage_close)
	const struct CMUnitTest tests[] = {
	    CLAIM(events_are_told_in_order_with_their_numbers),
	    CLAIM(what_was_dropped_after_it_was_read_is_no_loss),
	    CLAIM(a_gap_is_told_as_truncated),
	    CLAIM(what_the_keeper_dropped_is_told_as_it_is_stored),
	    CLAIM(a_character_split_over_events_is_joined),
	    CLAIM(a_malformed_result_is_an_error_and_the_run_goes_on),
	    CLAIM(a_kernel_that_died_is_an_error_with_the_reason),
	    CLAIM(an_interrupted_run_always_has_an_error),
	    CLAIM(the_kernels_own_error_is_not_told_twice),
	    CLAIM(a_keeper_that_ends_is_a_terminal_event),
	    CLAIM(a_keeper_that_talks_nonsense_is_a_terminal_event),
	    CLAIM(a_client_that_left_ends_the_wait),
	    CLAIM(one_json_answer_has_all_of_it),
	};

	return cmocka_run_group_tests(tests, open_store, close_store);
}

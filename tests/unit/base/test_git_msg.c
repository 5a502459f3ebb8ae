/* git_msg: requests and records, whole or not at all. */
#include "tests/unit/base/unit.h"

#include <string.h>

#include "base/git_msg.h"
#include "base/own.h"

static void a_request_survives_the_trip(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(2000);
	const char *paths[] = {"a", "b/c"};
	struct git_request rq = GIT_REQUEST_INIT;
	struct git_request got;
	const uint8_t *p;
	size_t n;

	(void)state;
	rq.op = GIT_OP_PULL;
	rq.flags = GIT_ASK_FF;
	rq.url = "https://h/x";
	rq.branch = "main";
	rq.depth = 7;
	rq.ncreds = 1;
	rq.creds[0] = (struct git_cred){.origin = "https://h",
					.auth = REPO_AUTH_BASIC,
					.user = "u",
					.secret = "s",
					.passphrase = ""};
	rq.npaths = 2;
	rq.paths = paths;
	git_put_request(&b, &rq);
	assert_true(buf_ok(&b));
	p = (const uint8_t *)b.data;
	n = (size_t)p[0] | (size_t)p[1] << 8;
	assert_int_equal(n, b.len - 4);
	assert_int_equal(git_get_request(p + 4, n, &got, NULL), ERR_NONE);
	assert_string_equal(got.url, "https://h/x");
	assert_string_equal(got.branch, "main");
	assert_int_equal(got.depth, 7);
	assert_int_equal(got.op, GIT_OP_PULL);
	assert_int_equal(got.ncreds, 1);
	assert_int_equal(got.creds[0].auth, REPO_AUTH_BASIC);
	assert_string_equal(got.creds[0].secret, "s");
	assert_int_equal(got.npaths, 2);
	assert_string_equal(got.paths[1], "b/c");
	git_request_free(&got);
	while (n-- > 0)
		assert_int_equal(git_get_request(p + 4, n, &got, NULL),
				 ERR_PEER);
}

static void a_record_waits_until_it_is_whole(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(2000);
	struct git_record rec = {.kind = GIT_RECORD_RESULT,
				 .status = REPO_AUTH,
				 .branch = "b",
				 .commit = "c",
				 .text = "why"};
	struct git_record got;
	const uint8_t *p;
	size_t used;
	size_t n;

	(void)state;
	git_put_record(&b, &rec);
	p = (const uint8_t *)b.data;
	for (n = 0; n < b.len; n++) {
		assert_int_equal(git_get_record(p, n, &used, &got, NULL),
				 ERR_NONE);
		assert_int_equal(used, 0);
	}
	assert_int_equal(git_get_record(p, n, &used, &got, NULL), ERR_NONE);
	assert_int_equal(used, b.len);
	assert_int_equal(got.status, REPO_AUTH);
	assert_string_equal(got.text, "why");
}

static void malformed_records_are_refused(void **state)
{
	static const struct {
		const char *p;
		size_t n;
	} bad[] = {
	    {"\x02\0\0\0\x04\0", 6},         /* an unknown kind */
	    {"\0\0\0\0", 4},                 /* no kind */
	    {"\xff\xff\xff\xff\x01\0", 6},   /* too long */
	    {"\x03\0\0\0\x01\0x", 7},        /* progress cut short */
	    {"\x04\0\0\0\x03\0\xff\xff", 8}, /* no such status */
	    {"\x04\0\0\0\x02\0\xff\xff", 8}, /* no such row */
	};
	struct git_record got;
	size_t used;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(git_get_record((const uint8_t *)bad[i].p,
						bad[i].n, &used, &got, NULL),
				 ERR_PEER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_request_survives_the_trip),
	    cmocka_unit_test(a_record_waits_until_it_is_whole),
	    cmocka_unit_test(malformed_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

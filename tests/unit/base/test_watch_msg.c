/* Records of a watch: what a sandbox says is checked whole. */
#include "tests/unit/base/unit.h"

#include <string.h>

#include "base/own.h"
#include "base/watch_msg.h"

static struct watch_record event(void)
{
	return (struct watch_record){.kind = WATCH_EVENT,
				     .type = WATCH_MOVE_TO,
				     .is_dir = true,
				     .cookie = 77,
				     .unix_ms = 1234567890123,
				     .path = "a/\xff b",
				     .path_len = 5};
}

static void a_record_comes_back_as_it_was(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(4096);
	struct watch_record in = event();
	struct watch_record out;
	struct errinfo e;
	size_t used;

	(void)state;
	watch_put(&b, &in);
	assert_int_equal(
	    watch_get((const uint8_t *)b.data, b.len, &used, &out, &e),
	    ERR_NONE);
	assert_int_equal(used, b.len);
	assert_int_equal(out.type, WATCH_MOVE_TO);
	assert_true(out.is_dir);
	assert_int_equal(out.cookie, 77);
	assert_int_equal(out.unix_ms, 1234567890123);
	assert_string_equal(out.path, "a/\xff b");
	buf_reset(&b);
	watch_put(&b, &(struct watch_record){.kind = WATCH_STOPPED,
					     .why = WATCH_WHY_WATCHES});
	assert_int_equal(
	    watch_get((const uint8_t *)b.data, b.len, &used, &out, &e),
	    ERR_NONE);
	assert_int_equal(out.kind, WATCH_STOPPED);
	assert_int_equal(out.why, WATCH_WHY_WATCHES);
}

static void a_part_of_a_record_waits_for_the_rest(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(4096);
	struct watch_record in = event();
	struct watch_record out = {0};
	struct errinfo e;
	size_t used = 1;
	size_t n;

	(void)state;
	watch_put(&b, &in);
	for (n = 0; n < b.len; n++) {
		assert_int_equal(
		    watch_get((const uint8_t *)b.data, n, &used, &out, &e),
		    ERR_NONE);
		assert_int_equal(used, 0);
	}
}

/* Every byte of it, changed: it is refused or is another whole record. */
static void nonsense_is_refused(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(4096);
	struct watch_record in = event();
	struct watch_record out;
	struct errinfo e;
	size_t used;
	size_t i;

	(void)state;
	watch_put(&b, &in);
	for (i = 0; i < b.len; i++) {
		char was = b.data[i];
		enum err r;

		b.data[i] = (char)(was ^ 0x80);
		r = watch_get((const uint8_t *)b.data, b.len, &used, &out, &e);
		if (r == ERR_NONE && used > 0)
			assert_true(strlen(out.path) == out.path_len);
		b.data[i] = was;
	}
	b.data[6] = WATCH_TYPE_END;
	assert_int_equal(
	    watch_get((const uint8_t *)b.data, b.len, &used, &out, &e),
	    ERR_PEER);
	buf_reset(&b);
	in.path = "/etc";
	in.path_len = 4;
	watch_put(&b, &in);
	assert_int_equal(
	    watch_get((const uint8_t *)b.data, b.len, &used, &out, &e),
	    ERR_PEER);
}

static void an_answer_is_found_among_others(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(4096);
	uint64_t cursor = 0;

	(void)state;
	buf_adds(&b, "x");
	watch_put_answer(&b, 1, 10);
	watch_put_answer(&b, 2, 20);
	assert_true(watch_get_answer(b.data, b.len, 2, &cursor));
	assert_int_equal(cursor, 20);
	assert_false(watch_get_answer(b.data, b.len, 3, &cursor));
	assert_false(watch_get_answer(b.data, b.len - 1, 2, &cursor));
}

static void types_have_the_names_of_the_wire(void **state)
{
	enum watch_type t;

	(void)state;
	assert_true(watch_type_of("move_from", &t));
	assert_string_equal(watch_type_name(t), "move_from");
	assert_false(watch_type_of("", &t));
	assert_false(watch_type_of("moved", &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_record_comes_back_as_it_was),
	    cmocka_unit_test(a_part_of_a_record_waits_for_the_rest),
	    cmocka_unit_test(nonsense_is_refused),
	    cmocka_unit_test(an_answer_is_found_among_others),
	    cmocka_unit_test(types_have_the_names_of_the_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

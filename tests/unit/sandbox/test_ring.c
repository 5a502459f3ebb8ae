/* ring: numbered, bounded, the oldest go first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sandbox/ring.h"

#define SMALL 4096

static void add(struct ring *r, size_t len)
{
	char data[SMALL * 2];

	memset(data, 'x', sizeof(data));
	assert_true(len <= sizeof(data));
	assert_true(ring_add(r, EVENT_OUT, data, len));
}

static void the_first_event_is_number_one(void **state)
{
	struct ring r;

	(void)state;
	ring_init(&r, SMALL);
	assert_null(ring_get(&r, 0));
	assert_null(ring_get(&r, 1));
	assert_true(ring_add(&r, EVENT_ERR, "abc", 3));
	assert_non_null(ring_get(&r, 1));
	assert_int_equal(ring_get(&r, 1)->seq, 1);
	assert_int_equal(ring_get(&r, 1)->kind, EVENT_ERR);
	assert_memory_equal(ring_get(&r, 1)->data, "abc", 3);
	assert_null(ring_get(&r, 2));
	ring_free(&r);
}

static void numbers_are_contiguous_whatever_is_dropped(void **state)
{
	struct ring r;

	(void)state;
	ring_init(&r, SMALL);
	for (uint64_t i = 1; i <= 1000; i++) {
		add(&r, (size_t)(i * 37 % 300));
		assert_int_equal(r.next, i + 1);
		for (uint64_t seq = r.first; seq < r.next; seq++)
			assert_int_equal(ring_get(&r, seq)->seq, seq);
		assert_null(ring_get(&r, r.first - 1));
		assert_null(ring_get(&r, r.next));
	}
	ring_free(&r);
}

static void it_is_never_larger_than_its_maximum(void **state)
{
	struct ring r;
	uint64_t added = 0;

	(void)state;
	ring_init(&r, SMALL);
	for (int i = 0; i < 500; i++) {
		add(&r, 100);
		added += 100;
		assert_true(r.bytes <= SMALL);
	}
	/* What is there and what was dropped is all there ever was. */
	assert_int_equal(r.dropped_bytes + (r.next - r.first) * 100, added);
	ring_free(&r);
}

static void events_of_no_bytes_are_bounded_too(void **state)
{
	struct ring r;

	(void)state;
	ring_init(&r, SMALL);
	for (int i = 0; i < 100000; i++)
		assert_true(ring_add(&r, EVENT_OUT, "", 0));
	assert_true(r.next - r.first <= SMALL / sizeof(struct ring_event));
	assert_true(r.cap <= 256);
	ring_free(&r);
}

static void the_newest_stays_even_if_it_is_too_large(void **state)
{
	struct ring r;

	(void)state;
	ring_init(&r, SMALL);
	add(&r, 10);
	add(&r, SMALL * 2);
	assert_int_equal(r.first, 2);
	assert_int_equal(ring_get(&r, 2)->len, SMALL * 2);
	add(&r, 1);
	assert_int_equal(r.first, 3);
	ring_free(&r);
}

static void unread_is_what_a_reader_lacks(void **state)
{
	struct ring r;

	(void)state;
	ring_init(&r, 1U << 20);
	assert_int_equal(ring_unread(&r, 1), 0);
	for (int i = 0; i < 10; i++)
		add(&r, 100);
	assert_int_equal(ring_unread(&r, 11), 0);
	assert_int_equal(ring_unread(&r, 12), 0);
	assert_int_equal(ring_unread(&r, 10), r.bytes / 10);
	assert_int_equal(ring_unread(&r, 1), r.bytes);
	ring_free(&r);
}

static void a_reader_that_lost_events_lacks_all_that_is_there(void **state)
{
	struct ring r;

	(void)state;
	ring_init(&r, SMALL);
	for (int i = 0; i < 100; i++)
		add(&r, 100);
	assert_true(r.first > 1);
	assert_int_equal(ring_unread(&r, 1), r.bytes);
	assert_int_equal(ring_unread(&r, r.first), r.bytes);
	ring_free(&r);
}

static void trimmed_it_has_its_newest_event(void **state)
{
	struct ring r;

	(void)state;
	ring_init(&r, SMALL);
	ring_trim(&r);
	for (int i = 0; i < 20; i++)
		add(&r, 10);
	assert_true(ring_add(&r, EVENT_END, "end", 3));
	ring_trim(&r);
	assert_int_equal(r.first, 21);
	assert_int_equal(r.next, 22);
	assert_int_equal(ring_get(&r, 21)->kind, EVENT_END);
	assert_int_equal(r.bytes, sizeof(struct ring_event) + 3);
	add(&r, 5);
	assert_int_equal(ring_get(&r, 22)->len, 5);
	ring_free(&r);
}

static void what_is_still_needed_stays_beside_a_large_one(void **state)
{
	struct ring r;

	(void)state;
	ring_init(&r, SMALL);
	for (int i = 0; i < 3; i++)
		add(&r, 10);
	r.held = 2;
	add(&r, 2 * SMALL);
	assert_int_equal(r.first, 2);
	assert_int_equal(r.next, 5);
	/* But not without end. */
	add(&r, 10);
	assert_true(r.first > 4);
	r.held = UINT64_MAX;
	add(&r, 2 * SMALL);
	assert_int_equal(r.first, r.next - 1);
	ring_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_event_is_number_one),
	    cmocka_unit_test(numbers_are_contiguous_whatever_is_dropped),
	    cmocka_unit_test(it_is_never_larger_than_its_maximum),
	    cmocka_unit_test(events_of_no_bytes_are_bounded_too),
	    cmocka_unit_test(the_newest_stays_even_if_it_is_too_large),
	    cmocka_unit_test(unread_is_what_a_reader_lacks),
	    cmocka_unit_test(a_reader_that_lost_events_lacks_all_that_is_there),
	    cmocka_unit_test(trimmed_it_has_its_newest_event),
	    cmocka_unit_test(what_is_still_needed_stays_beside_a_large_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

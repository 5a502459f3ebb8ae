/* flow: who has the next turn. Fair is told by order, and by a clock that the
 * test itself sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "sandbox/flow.h"

#define ALICE 1
#define BOB 2
#define CAROL 3
#define MS INT64_C(1000)

static struct flows flows;
static int64_t now_us;
static int64_t again_us;

static int setup(void **state)
{
	(void)state;
	now_us = 1000 * MS;
	flows_init(&flows, 2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	flows_close(&flows);
	return 0;
}

#define FTEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static bool fits(void *arg, struct flow_item *item)
{
	(void)item;
	return arg == NULL || *(const bool *)arg;
}

static struct flow_item *next(void)
{
	return flow_next(&flows, now_us, fits, NULL, &again_us);
}

/* Its number, as they were joined; -1: nobody has a turn. */
static int next_of(struct flow_item *items, int n)
{
	struct flow_item *i = next();

	must(i == NULL || (i >= items && i < items + n));
	return i == NULL ? -1 : (int)(i - items);
}

static void join(struct flow_item *item, uint64_t key)
{
	assert_true(flow_join(&flows, item, key));
	assert_int_equal(flow_key(item), key);
}

static void wait_as(struct flow_item *item, uint64_t key)
{
	join(item, key);
	flow_wait(item);
}

static void leave(struct flow_item *items, int n)
{
	for (int i = 0; i < n; i++)
		flow_leave(&flows, &items[i], now_us);
}

/* A thing of that flow that was in hand for so long, just now. */
static void use(struct flow_item *item, int64_t us)
{
	flow_begin(item, now_us);
	now_us += us;
	flow_done(item, now_us);
}

/* More than its credit. */
static void use_up(struct flow_item *item)
{
	for (int i = 0; i < 4; i++)
		use(item, FLOW_MOST_US);
}

static void of_one_flow_the_oldest_is_first(void **state)
{
	struct flow_item items[5] = {0};

	(void)state;
	for (int i = 0; i < 5; i++)
		wait_as(&items[i], ALICE);
	for (int i = 0; i < 5; i++)
		assert_int_equal(next_of(items, 5), i);
	assert_int_equal(next_of(items, 5), -1);
	leave(items, 5);
}

static void flows_take_turns_however_many_wait_for_one(void **state)
{
	static const int turns[] = {0, 6, 8, 1, 7, 2, 3, 4, 5};
	struct flow_item items[9] = {0};

	(void)state;
	for (int i = 0; i < 6; i++)
		wait_as(&items[i], ALICE);
	for (int i = 6; i < 8; i++)
		wait_as(&items[i], BOB);
	wait_as(&items[8], CAROL);
	for (int i = 0; i < 9; i++)
		assert_int_equal(next_of(items, 9), turns[i]);
	leave(items, 9);
}

static void one_who_comes_late_waits_for_one_turn_of_each(void **state)
{
	struct flow_item items[8] = {0};

	(void)state;
	for (int i = 0; i < 7; i++)
		wait_as(&items[i], i < 5 ? ALICE : BOB);
	assert_int_equal(next_of(items, 8), 0);
	assert_int_equal(next_of(items, 8), 5);
	wait_as(&items[7], CAROL);
	assert_int_equal(next_of(items, 8), 1);
	assert_int_equal(next_of(items, 8), 6);
	assert_int_equal(next_of(items, 8), 7);
	leave(items, 8);
}

static void one_that_is_alone_never_waits(void **state)
{
	struct flow_item items[200] = {0};

	(void)state;
	for (int i = 0; i < 200; i++)
		wait_as(&items[i], ALICE);
	for (int i = 0; i < 200; i++) {
		struct flow_item *item = next();

		assert_ptr_equal(item, &items[i]);
		flow_begin(item, now_us);
	}
	leave(items, 200);
}

static void beside_others_few_are_in_hand_at_once(void **state)
{
	struct flow_item items[20] = {0}, other = {0};
	int most = FLOW_CREDIT_US / FLOW_LEAST_US;

	(void)state;
	join(&other, BOB);
	for (int i = 0; i < 20; i++)
		wait_as(&items[i], ALICE);
	for (int i = 0; i < most; i++)
		flow_begin(next(), now_us);
	assert_null(next());
	/* One that is done at once makes room for one more. */
	flow_done(&items[0], now_us);
	assert_ptr_equal(next(), &items[most]);
	/* The other one does not wait for them. */
	flow_wait(&other);
	assert_ptr_equal(next(), &other);
	leave(items, 20);
	flow_leave(&flows, &other, now_us);
}

/* Two processors: 0.4 of the time. Each takes 20 ms. */
static void on_average_no_more_is_in_hand_than_the_share(void **state)
{
	struct flow_item items[100] = {0}, other = {0};
	int64_t began_us, want_us, used_us = 0;

	(void)state;
	join(&other, BOB);
	for (int i = 0; i < 100; i++)
		wait_as(&items[i], ALICE);
	began_us = now_us;
	for (int i = 0; i < 100; i++) {
		struct flow_item *item = next();

		while (item == NULL) {
			assert_true(again_us > now_us);
			assert_true(again_us < INT64_MAX);
			now_us = again_us;
			item = next();
		}
		use(item, 20 * MS);
		used_us += 20 * MS;
	}
	want_us = used_us * 100 / flows.share_percent;
	assert_in_range(now_us - began_us, want_us - 4 * FLOW_CREDIT_US,
			want_us + 4 * FLOW_CREDIT_US);
	leave(items, 100);
	flow_leave(&flows, &other, now_us);
}

static void what_ends_unasked_counts_too(void **state)
{
	struct flow_item item = {0}, ends = {0}, other = {0};

	(void)state;
	join(&other, BOB);
	join(&ends, ALICE);
	use_up(&ends);
	wait_as(&item, ALICE);
	assert_null(next());
	assert_in_range(again_us, now_us + 1, now_us + 4 * FLOW_CREDIT_US);
	flow_leave(&flows, &other, now_us);
	assert_ptr_equal(next(), &item); /* alone now */
	flow_leave(&flows, &item, now_us);
	flow_leave(&flows, &ends, now_us);
}

static void what_hangs_does_not_stop_its_flow(void **state)
{
	struct flow_item items[9] = {0}, other = {0};

	(void)state;
	join(&other, BOB);
	for (int i = 0; i < 9; i++)
		join(&items[i], ALICE);
	for (int i = 0; i < 8; i++)
		flow_begin(&items[i], now_us);
	now_us += 3600 * 1000 * MS;
	for (int i = 0; i < 8; i++)
		flow_done(&items[i], now_us);
	flow_wait(&items[8]);
	assert_null(next());
	assert_true(again_us - now_us <= 3 * FLOW_DEBT_MAX_US);
	now_us = again_us;
	assert_ptr_equal(next(), &items[8]);
	leave(items, 9);
	flow_leave(&flows, &other, now_us);
}

/* None is ever done. */
static void a_slow_machine_begins_some_all_the_same(void **state)
{
	struct flow_item items[50] = {0}, other = {0};
	int64_t from_us = now_us;

	(void)state;
	join(&other, BOB);
	for (int i = 0; i < 50; i++)
		wait_as(&items[i], ALICE);
	for (int i = 0; i < 50; i++) {
		struct flow_item *item = next();

		while (item == NULL) {
			assert_true(again_us > now_us);
			assert_true(again_us < INT64_MAX);
			now_us = again_us;
			item = next();
		}
		flow_begin(item, now_us);
	}
	assert_true(now_us - from_us <= (int64_t)50 * 3 * FLOW_MOST_US);
	leave(items, 50);
	flow_leave(&flows, &other, now_us);
}

static void what_it_owes_is_not_forgotten_by_leaving(void **state)
{
	struct flow_item item = {0}, other = {0};

	(void)state;
	join(&other, BOB);
	join(&item, ALICE);
	use_up(&item);
	flow_leave(&flows, &item, now_us);
	wait_as(&item, ALICE);
	assert_null(next());
	flow_leave(&flows, &item, now_us);
	now_us += 1000 * MS;
	flow_leave(&flows, &other, now_us);
	assert_null(flows.first); /* and nothing is kept for ever */
}

static void what_does_not_fit_holds_up_its_own_flow_only(void **state)
{
	struct flow_item mine = {0}, item = {0};
	bool fit = false;

	(void)state;
	wait_as(&mine, ALICE);
	assert_null(flow_next(&flows, now_us, fits, &fit, &again_us));
	assert_true(again_us == INT64_MAX);
	wait_as(&item, BOB);
	assert_ptr_equal(next(), &mine); /* it has not lost its turn */
	assert_ptr_equal(next(), &item);
	flow_leave(&flows, &mine, now_us);
	flow_leave(&flows, &item, now_us);
}

static void one_that_ends_while_it_waits_has_no_turn(void **state)
{
	struct flow_item items[3] = {0};

	(void)state;
	for (int i = 0; i < 3; i++)
		wait_as(&items[i], ALICE);
	flow_begin(&items[1], now_us); /* its end */
	flow_leave(&flows, &items[0], now_us);
	assert_int_equal(next_of(items, 3), 2);
	assert_null(next());
	flow_leave(&flows, &items[1], now_us);
	flow_leave(&flows, &items[2], now_us);
}

static void more_processors_give_a_larger_share(void **state)
{
	static const struct {
		int processors;
		int64_t percent;
	} rows[] = {{1, 40}, {2, 40}, {5, 100}, {10, 200}, {64, 400}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct flows fs;

		flows_init(&fs, rows[i].processors);
		assert_int_equal(fs.share_percent, rows[i].percent);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FTEST(of_one_flow_the_oldest_is_first),
	    FTEST(flows_take_turns_however_many_wait_for_one),
	    FTEST(one_who_comes_late_waits_for_one_turn_of_each),
	    FTEST(one_that_is_alone_never_waits),
	    FTEST(beside_others_few_are_in_hand_at_once),
	    FTEST(on_average_no_more_is_in_hand_than_the_share),
	    FTEST(what_ends_unasked_counts_too),
	    FTEST(what_hangs_does_not_stop_its_flow),
	    FTEST(a_slow_machine_begins_some_all_the_same),
	    FTEST(what_it_owes_is_not_forgotten_by_leaving),
	    FTEST(what_does_not_fit_holds_up_its_own_flow_only),
	    FTEST(one_that_ends_while_it_waits_has_no_turn),
	    FTEST(more_processors_give_a_larger_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

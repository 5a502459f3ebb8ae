#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "fcgi/share.h"

#define MANY 16

/* Requests of a tenant. */
static void open_requests(struct request *rq, size_t n, const char *tenant)
{
	for (size_t i = 0; i < n; i++) {
		rq[i] = (struct request){.client_fd = -1};
		snprintf(rq[i].auth.tenant, sizeof(rq[i].auth.tenant), "%s",
			 tenant);
	}
}

static void end_requests(struct request *rq, size_t n)
{
	for (size_t i = 0; i < n; i++)
		share_end(&rq[i]);
}

/* How many of them may hold ${each}. */
static unsigned taken(struct request *rq, size_t n, size_t each)
{
	unsigned took = 0;

	for (size_t i = 0; i < n; i++)
		took += share_room(&rq[i], each);
	return took;
}

static void one_tenant_gets_no_more_than_its_part(void **state)
{
	struct request a[MANY], b[MANY];

	(void)state;
	open_requests(a, MANY, "a");
	open_requests(b, MANY, "b");
	assert_int_equal(taken(a, MANY, 128 * MIB),
			 SHARE_BYTES_TENANT_MAX / (128 * MIB));
	assert_int_equal(taken(b, MANY, 128 * MIB),
			 SHARE_BYTES_TENANT_MAX / (128 * MIB));
	end_requests(a, MANY);
	end_requests(b, MANY);
}

static void all_together_get_no_more_than_there_is(void **state)
{
	struct request rq[3][MANY];
	unsigned n = 0;

	(void)state;
	open_requests(rq[0], MANY, "a");
	open_requests(rq[1], MANY, "b");
	open_requests(rq[2], MANY, "c");
	for (int i = 0; i < 3; i++)
		n += taken(rq[i], MANY, 100 * MIB);
	assert_int_equal(n, SHARE_BYTES_MAX / (100 * MIB));
	for (int i = 0; i < 3; i++)
		end_requests(rq[i], MANY);
}

static void what_is_given_back_can_be_had_again(void **state)
{
	struct request rq[2];

	(void)state;
	open_requests(rq, 2, "a");
	assert_true(share_room(&rq[0], SHARE_BYTES_TENANT_MAX));
	assert_false(share_room(&rq[1], 100 * MIB));
	share_back(&rq[0], 100 * MIB);
	assert_true(share_room(&rq[1], 100 * MIB));
	share_end(&rq[0]);
	assert_true(share_room(&rq[1], SHARE_BYTES_TENANT_MAX));
	end_requests(rq, 2);
	assert_null(rq[0].share);
	assert_int_equal(rq[1].held_bytes, 0);
}

static void one_that_is_larger_than_a_part_goes_alone(void **state)
{
	struct request rq[2];

	(void)state;
	open_requests(rq, 2, "a");
	assert_true(share_room(&rq[0], SHARE_BYTES_TENANT_MAX + 1));
	assert_false(share_room(&rq[1], 2 * SHARE_STEP));
	end_requests(rq, 2);
}

static void small_ones_are_not_counted(void **state)
{
	struct request rq[2];

	(void)state;
	open_requests(rq, 2, "a");
	assert_true(share_room(&rq[0], SHARE_BYTES_TENANT_MAX));
	assert_true(share_room(&rq[1], SHARE_STEP));
	assert_int_equal(rq[1].held_bytes, 0);
	end_requests(rq, 2);
}

static void a_tenant_s_long_waits_leave_room_for_others(void **state)
{
	static struct request a[SHARE_LONG_MAX + 1], b;
	struct errinfo e = {0};

	(void)state;
	open_requests(a, SHARE_LONG_MAX + 1, "a");
	open_requests(&b, 1, "b");
	for (unsigned i = 0; i < SHARE_LONG_MAX; i++)
		assert_int_equal(pool_long(&a[i], &e), ERR_NONE);
	assert_int_equal(pool_long(&a[SHARE_LONG_MAX], &e), ERR_LIMIT);
	assert_int_equal(a[SHARE_LONG_MAX].failure.code, HTTP_LIMIT_EXCEEDED);
	assert_int_equal(pool_long(&b, &e), ERR_NONE);
	pool_long_end(&a[0]);
	assert_int_equal(pool_long(&a[SHARE_LONG_MAX], &e), ERR_NONE);
	pool_long_end(&b);
	for (unsigned i = 0; i <= SHARE_LONG_MAX; i++)
		pool_long_end(&a[i]);
	end_requests(a, SHARE_LONG_MAX + 1);
	share_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_tenant_gets_no_more_than_its_part),
	    cmocka_unit_test(all_together_get_no_more_than_there_is),
	    cmocka_unit_test(what_is_given_back_can_be_had_again),
	    cmocka_unit_test(one_that_is_larger_than_a_part_goes_alone),
	    cmocka_unit_test(small_ones_are_not_counted),
	    cmocka_unit_test(a_tenant_s_long_waits_leave_room_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

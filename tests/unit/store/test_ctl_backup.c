#include <pthread.h>

#include "base/clock.h"
#include "store/ctl_backup.h"
#include "store/ctl_plan.h"
#include "store/stmt.h"
#include "store_unit.h"

#define MIB (INT64_C(1) << 20)

/* A row in making that counts ${bytes}. */
static enum err backup_of(struct unit *u, const struct ctl_tenant *t,
			  int64_t bytes, int64_t expires_ms,
			  struct ctl_backup *b)
{
	id_text_t id;

	id_uuid(id);
	*b = (struct ctl_backup){.size_bytes = bytes,
				 .expires_ms = expires_ms,
				 .dir = strdup("/work\xff space"),
				 .name = strdup("n"),
				 .archive_path = strdup("")};
	memcpy(b->id, id, sizeof(b->id));
	memcpy(b->tenant, t->id, sizeof(b->tenant));
	snprintf(b->sandbox, sizeof(b->sandbox), "s%021d", 1);
	snprintf(b->sandbox_name, sizeof(b->sandbox_name), "box");
	return ctl_backup_add(u->c, b, &u->e);
}

static int64_t used(struct unit *u, const struct ctl_tenant *t)
{
	int64_t n = -1, most = -1;

	OK(ctl_backup_room(u->c, t->id, &n, &most, &u->e));
	return n;
}

static void limit_to(struct unit *u, const struct ctl_tenant *t, int64_t most)
{
	struct ctl_allowance a;

	OK(ctl_plan_allowance(u->c, t->id, &a, &u->e));
	a.own.of[LIMIT_BACKUP] = most;
	OK(ctl_plan_allow(u->c, t->id, &a, &u->e));
}

static void only_a_random_uuid_is_an_id(void **state)
{
	id_text_t id;

	(void)state;
	id_init();
	for (int i = 0; i < 1000; i++) {
		id_uuid(id);
		assert_true(ctl_backup_id_ok(id));
	}
	id[0] = 'G';
	assert_false(ctl_backup_id_ok(id));
	assert_false(ctl_backup_id_ok(""));
	assert_false(ctl_backup_id_ok("../../../../../../../../etc/passwd.."));
	assert_false(ctl_backup_id_ok("00000000-0000-1000-8000-000000000000"));
	assert_false(ctl_backup_id_ok("00000000-0000-4000-7000-000000000000"));
	assert_true(ctl_backup_id_ok("00000000-0000-4000-8000-000000000000"));
}

static void a_backup_counts_from_its_first_byte_to_its_removal(void **state)
{
	struct unit *u = *state;
	OWN(ctl_backup_free) struct ctl_backup b = {.id = ""};
	OWN(ctl_backup_free) struct ctl_backup got = {.id = ""};
	int64_t later = clock_unix_ms() + 60000;

	limit_to(u, &u->a, 10 * MIB);
	OK(backup_of(u, &u->a, 4096, later, &b));
	assert_int_equal(used(u, &u->a), 4096);
	assert_int_equal(used(u, &u->b), 0);
	OK(ctl_backup_grow(u->c, &b, 8 * MIB, &u->e));
	FAILS(ctl_backup_grow(u->c, &b, 2 * MIB, &u->e), ERR_LIMIT);
	assert_int_equal(used(u, &u->a), 8 * MIB + 4096);
	FAILS(ctl_backup_get(u->c, u->a.id, b.id, &got, &u->e), ERR_NOT_FOUND);
	FAILS(ctl_backup_deleting(u->c, u->a.id, b.id, &u->e), ERR_NOT_FOUND);
	FAILS(ctl_backup_ready(u->c, &b, 9 * MIB, &u->e), ERR_STATE);
	b.entries = 3;
	b.content_bytes = 7;
	memset(b.hash, 9, sizeof(b.hash));
	OK(ctl_backup_ready(u->c, &b, 5 * MIB, &u->e));
	assert_int_equal(used(u, &u->a), 5 * MIB);
	FAILS(ctl_backup_ready(u->c, &b, 1, &u->e), ERR_STATE);
	FAILS(ctl_backup_grow(u->c, &b, 1, &u->e), ERR_LIMIT);
	OK(ctl_backup_get(u->c, u->a.id, b.id, &got, &u->e));
	assert_string_equal(got.dir, "/work\xff space");
	assert_int_equal(got.entries, 3);
	assert_int_equal(got.size_bytes, 5 * MIB);
	assert_memory_equal(got.hash, b.hash, sizeof(b.hash));
	OK(ctl_backup_deleting(u->c, u->a.id, b.id, &u->e));
	assert_int_equal(used(u, &u->a), 5 * MIB);
	FAILS(ctl_backup_get(u->c, u->a.id, b.id, &got, &u->e), ERR_NOT_FOUND);
	b.state = BACKUP_DELETING;
	OK(ctl_backup_removed(u->c, &b, &u->e));
	OK(ctl_backup_removed(u->c, &b, &u->e));
	assert_int_equal(used(u, &u->a), 0);
}

static void another_tenants_backup_is_not_found(void **state)
{
	struct unit *u = *state;
	OWN(ctl_backup_free) struct ctl_backup b = {.id = ""};
	OWN(ctl_backup_free) struct ctl_backup got = {.id = ""};
	OWN(ctl_backup_list_free) struct ctl_backup_list l = {.n = 0};
	struct ctl_backup theirs;

	OK(backup_of(u, &u->a, 4096, clock_unix_ms() + 60000, &b));
	theirs = b;
	memcpy(theirs.tenant, u->b.id, sizeof(theirs.tenant));
	FAILS(ctl_backup_grow(u->c, &theirs, 1, &u->e), ERR_LIMIT);
	FAILS(ctl_backup_ready(u->c, &theirs, 1, &u->e), ERR_STATE);
	OK(ctl_backup_ready(u->c, &b, 4096, &u->e));
	FAILS(ctl_backup_get(u->c, u->b.id, b.id, &got, &u->e), ERR_NOT_FOUND);
	FAILS(ctl_backup_at(u->c, u->b.id, b.sandbox, "", &got, &u->e),
	      ERR_NOT_FOUND);
	FAILS(ctl_backup_deleting(u->c, u->b.id, b.id, &u->e), ERR_NOT_FOUND);
	OK(ctl_backup_list(u->c, u->b.id, "", "", 10, &l, &u->e));
	assert_int_equal(l.n, 0);
}

static void a_name_used_again_replaces_the_one_before(void **state)
{
	struct unit *u = *state;
	struct ctl_backup b[2];
	OWN(ctl_backup_free) struct ctl_backup got = {.id = ""};
	OWN(ctl_backup_list_free) struct ctl_backup_list open = {.n = 0};

	for (int i = 0; i < 2; i++) {
		id_text_t id;

		OK(backup_of(u, &u->a, 4096, clock_unix_ms() + 60000, &b[i]));
		/* As one that is called that. */
		b[i].state = BACKUP_MAKING;
		OK(ctl_backup_removed(u->c, &b[i], &u->e));
		free(b[i].archive_path);
		b[i].archive_path = strdup("/var/backups/x");
		id_uuid(id);
		memcpy(b[i].id, id, sizeof(b[i].id));
		OK(ctl_backup_add(u->c, &b[i], &u->e));
	}
	OK(ctl_backup_ready(u->c, &b[0], 4096, &u->e));
	OK(ctl_backup_at(u->c, u->a.id, b[0].sandbox, "/var/backups/x", &got,
			 &u->e));
	assert_string_equal(got.id, b[0].id);
	ctl_backup_free(&got);
	OK(ctl_backup_ready(u->c, &b[1], 4096, &u->e));
	OK(ctl_backup_at(u->c, u->a.id, b[0].sandbox, "/var/backups/x", &got,
			 &u->e));
	assert_string_equal(got.id, b[1].id);
	OK(ctl_backup_open(u->c, &open, &u->e));
	assert_int_equal(open.n, 1);
	assert_string_equal(open.rows[0].id, b[0].id);
	assert_int_equal(open.rows[0].state, BACKUP_DELETING);
	ctl_backup_free(&b[0]);
	ctl_backup_free(&b[1]);
}

static void
one_whose_time_is_over_is_told_as_that_and_counts_no_more(void **state)
{
	struct unit *u = *state;
	OWN(ctl_backup_free) struct ctl_backup b = {.id = ""};
	OWN(ctl_backup_free) struct ctl_backup got = {.id = ""};
	OWN(ctl_backup_list_free) struct ctl_backup_list open = {.n = 0};
	OWN(ctl_backup_list_free) struct ctl_backup_list l = {.n = 0};
	int64_t now = clock_unix_ms();
	enum ctl_backup_state s;
	bool due;

	OK(backup_of(u, &u->a, 4096, now - 1, &b));
	OK(ctl_backup_ready(u->c, &b, 4096, &u->e));
	/* Also before anybody has seen to it. */
	OK(ctl_backup_get(u->c, u->a.id, b.id, &got, &u->e));
	assert_int_equal(got.state, BACKUP_EXPIRED);
	OK(ctl_backup_list(u->c, u->a.id, "", "", 10, &l, &u->e));
	assert_int_equal(l.n, 0);
	OK(ctl_backup_due(u->c, now, 0, &due, &u->e));
	assert_true(due);
	OK(ctl_backup_expire(u->c, now, 0, &u->e));
	OK(ctl_backup_open(u->c, &open, &u->e));
	assert_int_equal(open.n, 1);
	assert_int_equal(open.rows[0].state, BACKUP_EXPIRING);
	OK(ctl_backup_removed(u->c, &open.rows[0], &u->e));
	assert_int_equal(used(u, &u->a), 0);
	OK(ctl_backup_due(u->c, now, 0, &due, &u->e));
	assert_false(due);
	OK(ctl_backup_state(u->c, b.id, &s, &u->e));
	assert_int_equal(s, BACKUP_EXPIRED);
	OK(ctl_backup_expire(u->c, now, now, &u->e));
	OK(ctl_backup_state(u->c, b.id, &s, &u->e));
	assert_int_equal(s, BACKUP_NONE);
}

struct racer {
	struct unit *u;
	struct ctl_backup b;
	int64_t grown;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	OWN(store_close) struct store_conn *c = NULL;
	struct errinfo e;

	if (store_open(r->u->dir, &c, &e) != ERR_NONE)
		return NULL;
	while (ctl_backup_grow(c, &r->b, 300001, &e) == ERR_NONE)
		r->grown += 300001;
	return r;
}

static void many_at_once_never_pass_the_limit(void **state)
{
	struct unit *u = *state;
	struct racer r[4];
	pthread_t t[4];
	int64_t all = 0;
	void *ok;

	limit_to(u, &u->a, 10 * MIB);
	for (int i = 0; i < 4; i++) {
		r[i] = (struct racer){.u = u};
		OK(backup_of(u, &u->a, 4096, clock_unix_ms() + 60000, &r[i].b));
		all += 4096;
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, race, &r[i]), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(t[i], &ok), 0);
		assert_non_null(ok);
		all += r[i].grown;
		ctl_backup_free(&r[i].b);
	}
	assert_int_equal(used(u, &u->a), all);
	assert_true(all <= 10 * MIB && all > 10 * MIB - 300001);
	OWN(ctl_backup_free) struct ctl_backup more = {.id = ""};
	FAILS(backup_of(u, &u->a, 10 * MIB, 1, &more), ERR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_a_random_uuid_is_an_id),
	    TEST(a_backup_counts_from_its_first_byte_to_its_removal),
	    TEST(another_tenants_backup_is_not_found),
	    TEST(a_name_used_again_replaces_the_one_before),
	    TEST(one_whose_time_is_over_is_told_as_that_and_counts_no_more),
	    TEST(many_at_once_never_pass_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

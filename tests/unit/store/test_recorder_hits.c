/* What nginx counts for previews, sent to a recorder by this test. */
#include "store/node_port.h"
#include "store/stmt.h"
#include "tests/unit/store/recorder_unit.h"

#define NOBODY "s00000aaaaaaaaaaaaaaaa"

static void tell(struct bench *b, const char *text)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	OWN(own_fd) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/preview/hits.sock",
		 b->run);
	assert_true(fd >= 0);
	assert_int_equal(
	    sendto(fd, text, strlen(text), 0, (struct sockaddr *)&a, sizeof(a)),
	    (ssize_t)strlen(text));
	recorder_step(b->r, WAIT_MS);
}

/* Lines in which %s is the sandbox's id. */
static void tell_of(struct bench *b, const char *port, const char *counts)
{
	char text[256];

	snprintf(text, sizeof(text), "%s-%s %s\n", port, b->box.id, counts);
	tell(b, text);
}

static void expect(struct bench *b, size_t n, const struct node_port *want)
{
	OWN(node_port_list_free) struct node_port_list l = {.n = 0};

	OK(node_port_list(b->u->c, b->box.id, &l, &b->u->e));
	assert_int_equal(l.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(l.rows[i].port, want[i].port);
		assert_int_equal(l.rows[i].requests, want[i].requests);
		assert_int_equal(l.rows[i].bytes_in, want[i].bytes_in);
		assert_int_equal(l.rows[i].bytes_out, want[i].bytes_out);
		assert_int_equal(l.rows[i].errors, want[i].errors);
		assert_int_equal(l.rows[i].last_ms, want[i].last_ms);
	}
}

static void counts_are_added_for_each_port(void **state)
{
	struct bench *b = *state;
	char text[256];

	tell_of(b, "8000", "2 300 4000 1 1700000000000");
	snprintf(text, sizeof(text),
		 "80-%s 1 5 6 0 1700000000001\n"
		 "8000-%s 1 10 20 0 1600000000000\n",
		 b->box.id, b->box.id);
	tell(b, text);
	expect(b, 2,
	       (struct node_port[]){
		   {80, 1, 5, 6, 0, INT64_C(1700000000001)},
		   {8000, 3, 310, 4020, 1, INT64_C(1700000000000)}});
	OK(node_port_drop(b->u->c, b->box.id, 8000, &b->u->e));
	expect(b, 1,
	       (struct node_port[]){{80, 1, 5, 6, 0, INT64_C(1700000000001)}});
}

static void a_sum_that_would_be_too_large_stays_a_number(void **state)
{
	struct bench *b = *state;
	int64_t most = INT64_C(1) << 50;

	tell_of(b, "80", "18446744073709551615 1 18446744073709551615 0 1");
	expect(b, 1,
	       (struct node_port[]){
		   {80, (uint64_t)most, 1, (uint64_t)most, 0, 1}});
}

static void what_is_no_count_is_passed_over(void **state)
{
	static const char *const wrong[] = {
	    "x",
	    "0-%s 1 1 1 1 1",
	    "65536-%s 1 1 1 1 1",
	    "80 1 1 1 1 1",
	    "80-%s 1 1 1 1",
	    "80-%s 1 1 1 1 1 1",
	    "80-%s -1 1 1 1 1",
	    "80-%s 1 1 1 1 -1",
	    "80-%sx 1 1 1 1 1",
	    "80-%s 1  1 1 1 1",
	    "80-%s 1 1 1 1 1x",
	    "080 -%s 1 1 1 1 1",
	    "80-%s 1 1 1 1 99999999999999999999",
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *at = strstr(wrong[i], "%s");
		char text[256];

		snprintf(text, sizeof(text), "%.*s%s%s\n",
			 at != NULL ? (int)(at - wrong[i]) : 100, wrong[i],
			 at != NULL ? b->box.id : "", at != NULL ? at + 2 : "");
		tell(b, text);
		expect(b, 0, NULL);
	}
	tell_of(b, "80", "1 2 3 0 5");
	expect(b, 1, (struct node_port[]){{80, 1, 2, 3, 0, 5}});
}

static void nothing_is_kept_of_a_sandbox_that_is_gone(void **state)
{
	struct bench *b = *state;
	OWN(node_port_list_free) struct node_port_list l = {.n = 0};
	id_sandbox_t id;

	tell(b, "80-" NOBODY " 1 2 3 0 5\n");
	OK(node_port_list(b->u->c, NOBODY, &l, &b->u->e));
	assert_int_equal(l.n, 0);
	tell_of(b, "80", "1 2 3 0 5");
	expect(b, 1, (struct node_port[]){{80, 1, 2, 3, 0, 5}});
	OK(ctl_sandbox_deleting(b->u->c, b->u->a.id, "box", id, &b->u->e));
	OK(ctl_sandbox_remove(b->u->c, b->box.id, &b->u->e));
	expect(b, 0, NULL);
	tell_of(b, "80", "1 2 3 0 5");
	expect(b, 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RTEST(counts_are_added_for_each_port),
	    RTEST(a_sum_that_would_be_too_large_stays_a_number),
	    RTEST(what_is_no_count_is_passed_over),
	    RTEST(nothing_is_kept_of_a_sandbox_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

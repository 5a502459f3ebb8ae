/*
 * The recorder against a keeper that this test plays (recorder_unit.h). Long,
 * since all cases play the same keeper: what they differ in is only what it
 * says.
 */
#include "store/node_context.h"
#include "store/node_execution.h"
#include "store/node_process.h"
#include "store/stmt.h"
#include "tests/unit/store/recorder_unit.h"

static void add_process(struct bench *b, const char *id)
{
	const struct node_process_new n = {.sandbox = b->box.id, .id = id};

	OK(node_process_add(b->u->c, &n, &b->u->e));
}

static void expect_process(struct bench *b, const char *id,
			   enum end_reason reason, int code)
{
	struct node_process p;

	OK(node_process_get(b->u->c, b->box.id, id, &p, &b->u->e));
	assert_int_equal(p.state,
			 reason == END_NONE ? NODE_RUNNING : NODE_ENDED);
	assert_int_equal(p.end.reason, reason);
	assert_int_equal(p.end.exit_code, code);
	node_process_free(&p);
}

/* ---- claims ---- */

static void events_become_chunks_and_an_end_sets_the_row(void **state)
{
	struct bench *b = *state;
	struct fake k;
	uint32_t tag;

	add_process(b, "p1");
	connect_fake(b, &k);
	say(&k, KM_OK, k.ping, NULL);
	say_item(&k, "p1", EXEC_PROCESS, EXEC_RUNNING, 1);
	tag = expect_attach(b, &k, "p1", 0);
	say_out(&k, tag, 1, "one");
	say_out(&k, tag, 2, "two");
	expect_ack(b, &k, "p1", 2);
	expect_log(b, "p1", "1:one 2:two");
	expect_process(b, "p1", END_NONE, 0);
	say_end(&k, tag, 3, 5);
	expect_ack(b, &k, "p1", 3);
	expect_log(b, "p1", "1:one 2:two 3:end");
	expect_process(b, "p1", END_EXITED, 5);
	fake_close(&k);
}

static void each_kind_ends_its_own_row(void **state)
{
	struct bench *b = *state;
	const struct node_context_new ctx = {.sandbox = b->box.id,
					     .id = "c1",
					     .kernel = "k1",
					     .language = "python"};
	const struct node_execution_new run = {
	    .sandbox = b->box.id, .id = "r1", .kind = EXEC_RUN};
	const struct node_execution_new git = {
	    .sandbox = b->box.id, .id = "g1", .kind = EXEC_GIT};
	OWN(node_context_free) struct node_context c = {.pid = 0};
	OWN(node_execution_free) struct node_execution x = {.started_ms = 0};
	OWN(node_execution_free) struct node_execution y = {.started_ms = 0};
	struct fake k;
	uint32_t tag;

	OK(node_context_add(b->u->c, &ctx, 0, &b->u->e));
	OK(node_execution_add(b->u->c, &run, &b->u->e));
	OK(node_execution_add(b->u->c, &git, &b->u->e));
	connect_fake(b, &k);
	say_item(&k, "k1", EXEC_KERNEL, EXEC_RUNNING, 1);
	tag = expect_attach(b, &k, "k1", 0);
	say_end(&k, tag, 1, 1);
	expect_ack(b, &k, "k1", 1);
	say_item(&k, "r1", EXEC_RUN, EXEC_RUNNING, 1);
	tag = expect_attach(b, &k, "r1", 0);
	say_event(&k, tag, 1, EVENT_RESULT, "{}", 2);
	say_end(&k, tag, 2, 2);
	expect_ack(b, &k, "r1", 2);
	say_item(&k, "g1", EXEC_GIT, EXEC_RUNNING, 1);
	tag = expect_attach(b, &k, "g1", 0);
	say_out(&k, tag, 1, "progress");
	say_end(&k, tag, 2, 3);
	expect_ack(b, &k, "g1", 2);
	OK(node_context_get(b->u->c, b->box.id, "c1", &c, &b->u->e));
	assert_int_equal(c.state, NODE_ENDED);
	assert_int_equal(c.end.exit_code, 1);
	OK(node_execution_get(b->u->c, b->box.id, "r1", &x, &b->u->e));
	assert_int_equal(x.end.exit_code, 2);
	assert_int_equal(x.end.stdout_bytes, 11);
	OK(node_execution_get(b->u->c, b->box.id, "g1", &y, &b->u->e));
	assert_int_equal(y.end.exit_code, 3);
	expect_log(b, "r1", "1:{} 2:end");
	expect_log(b, "g1", "");
	fake_close(&k);
}

static void a_restart_leaves_no_gap_and_no_double(void **state)
{
	struct bench *b = *state;
	struct fake k;
	uint32_t tag;

	add_process(b, "p1");
	connect_fake(b, &k);
	say_item(&k, "p1", EXEC_PROCESS, EXEC_RUNNING, 1);
	tag = expect_attach(b, &k, "p1", 0);
	say_out(&k, tag, 1, "one");
	say_out(&k, tag, 2, "two");
	expect_ack(b, &k, "p1", 2);
	/* Heard, but killed before the group was committed. */
	say_out(&k, tag, 3, "three");
	recorder_step(b->r, 0);
	recorder_close(&b->r);
	fake_close(&k);
	expect_log(b, "p1", "1:one 2:two");
	OK(recorder_open(&b->conf, &b->r, &b->u->e));
	connect_fake(b, &k);
	say_item(&k, "p1", EXEC_PROCESS, EXEC_RUNNING, 4);
	tag = expect_attach(b, &k, "p1", 2);
	say_out(&k, tag, 3, "three");
	say_end(&k, tag, 4, 0);
	expect_ack(b, &k, "p1", 4);
	expect_log(b, "p1", "1:one 2:two 3:three 4:end");
	fake_close(&k);
}

static void an_end_whose_row_was_not_set_is_set_after_a_restart(void **state)
{
	struct bench *b = *state;
	struct fake k;
	uint32_t tag;

	add_process(b, "p1");
	connect_fake(b, &k);
	say_item(&k, "p1", EXEC_PROCESS, EXEC_RUNNING, 1);
	tag = expect_attach(b, &k, "p1", 0);
	say_end(&k, tag, 1, 4);
	expect_ack(b, &k, "p1", 1);
	/* As if killed between the commits of the two files. */
	OK(db_exec(b->u->c->db[STORE_NODE],
		   "UPDATE processes SET state = 'running', reason = ''",
		   &b->u->e));
	recorder_close(&b->r);
	fake_close(&k);
	OK(recorder_open(&b->conf, &b->r, &b->u->e));
	connect_fake(b, &k);
	say_item(&k, "p1", EXEC_PROCESS, EXEC_ENDED, 2);
	expect_ack(b, &k, "p1", 1);
	expect_process(b, "p1", END_EXITED, 4);
	expect_log(b, "p1", "1:end");
	fake_close(&k);
}

static void a_gap_of_the_keepers_ring_is_counted(void **state)
{
	struct bench *b = *state;
	OWN(buf_free) struct buf gap = BUF_INIT(64);
	struct log_state s;
	struct fake k;
	uint32_t tag;

	connect_fake(b, &k);
	say_item(&k, "x1", EXEC_CALL, EXEC_RUNNING, 9);
	tag = expect_attach(b, &k, "x1", 0);
	wire_u64(&gap, 6);
	say(&k, KM_GAP, tag, &gap);
	say_out(&k, tag, 6, "six");
	expect_ack(b, &k, "x1", 6);
	OK(log_chunk_state(b->u->c, b->box.id, "x1", &s, &b->u->e));
	assert_int_equal(s.dropped_events, 5);
	expect_log(b, "x1", "6:six");
	fake_close(&k);
}

/* ---- keepers that lie ---- */

static void a_keeper_whose_events_go_back_is_dropped(void **state)
{
	struct bench *b = *state;
	struct fake k;
	uint32_t tag;

	connect_fake(b, &k);
	say_item(&k, "x1", EXEC_CALL, EXEC_RUNNING, 1);
	tag = expect_attach(b, &k, "x1", 0);
	say_out(&k, tag, 2, "two");
	say_out(&k, tag, 1, "one");
	expect_hangup(b, &k);
	/* What it said before stays. */
	expect_log(b, "x1", "2:two");
}

static void an_event_after_the_end_drops_the_keeper(void **state)
{
	struct bench *b = *state;
	struct fake k;
	uint32_t tag;

	connect_fake(b, &k);
	say_item(&k, "x1", EXEC_CALL, EXEC_RUNNING, 1);
	tag = expect_attach(b, &k, "x1", 0);
	say_end(&k, tag, 1, 0);
	say_out(&k, tag, 2, "more");
	expect_hangup(b, &k);
	expect_log(b, "x1", "1:end");
}

static void garbage_drops_that_keeper_only(void **state)
{
	struct bench *b = *state;
	OWN(ctl_sandbox_free) struct ctl_sandbox other = {.labels = NULL};
	const struct ctl_sandbox box = b->box;
	const char junk[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct fake bad, good;
	uint32_t tag;

	connect_fake(b, &good);
	say_item(&good, "x1", EXEC_CALL, EXEC_RUNNING, 1);
	tag = expect_attach(b, &good, "x1", 0);
	unit_sandbox(b->u, &b->u->a, "other", &other);
	b->box = other;
	connect_fake(b, &bad);
	assert_int_equal(write(bad.fd, junk, sizeof(junk)), sizeof(junk));
	expect_hangup(b, &bad);
	b->box = box;
	say_out(&good, tag, 1, "still here");
	expect_ack(b, &good, "x1", 1);
	expect_log(b, "x1", "1:still here");
	fake_close(&good);
}

static void bad_items_and_frames_drop_the_keeper(void **state)
{
	struct bench *b = *state;
	static const char *const ids[] = {"../x", "", "a b", "x\n"};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
		struct ctl_sandbox had = b->box;
		struct fake k;
		char name[16];

		snprintf(name, sizeof(name), "bad%zu", i);
		unit_sandbox(b->u, &b->u->a, name, &s);
		b->box = s;
		connect_fake(b, &k);
		say_item(&k, ids[i], EXEC_CALL, EXEC_RUNNING, 1);
		expect_hangup(b, &k);
		b->box = had;
	}
}

static void too_many_executions_drop_the_keeper(void **state)
{
	struct bench *b = *state;
	struct wire_msg *m = NULL;
	struct fake k;

	connect_fake(b, &k);
	for (int i = 0; i < 5000; i++) {
		char id[16];
		struct errinfo e;
		OWN(buf_free) struct buf p = BUF_INIT(4096);
		const struct keeper_item item = {.id = id,
						 .kind = EXEC_CALL,
						 .state = EXEC_RUNNING,
						 .next = 1};

		snprintf(id, sizeof(id), "x%d", i);
		keeper_put_item(&p, &item);
		if (wire_send(k.fd, KM_ITEM, k.subscribe, &p, 0, &e) !=
		    ERR_NONE)
			break;
		m = hear(b, &k);
		if (m == NULL)
			break;
	}
	assert_null(m);
	fake_close(&k);
}

/* ---- keepers that vanish ---- */

static void a_keeper_that_vanishes_ends_what_ran(void **state)
{
	struct bench *b = *state;
	struct fake k;
	uint32_t tag;
	int64_t deadline = clock_mono_ms() + WAIT_MS;
	int64_t n = 1;

	add_process(b, "p1");
	add_process(b, "p2");
	connect_fake(b, &k);
	say_item(&k, "p1", EXEC_PROCESS, EXEC_RUNNING, 1);
	tag = expect_attach(b, &k, "p1", 0);
	say_item(&k, "p2", EXEC_PROCESS, EXEC_RUNNING, 1);
	expect_attach(b, &k, "p2", 0);
	/* Its last words count. */
	say_out(&k, tag, 1, "last");
	say_end(&k, tag, 2, 9);
	fake_close(&k);
	while (n > 0 && clock_mono_ms() < deadline) {
		recorder_step(b->r, 5);
		OK(db_int(b->u->c->db[STORE_NODE],
			  "SELECT count(*) FROM processes WHERE state = "
			  "'running'",
			  &n, &b->u->e));
	}
	expect_process(b, "p1", END_EXITED, 9);
	expect_process(b, "p2", END_SANDBOX_GONE, -1);
	expect_log(b, "p1", "1:last 2:end");
	/* It may come back under the same name. */
	connect_fake(b, &k);
	fake_close(&k);
}

static void a_deleted_sandboxs_last_words_are_removed(void **state)
{
	struct bench *b = *state;
	int64_t deadline = clock_mono_ms() + WAIT_MS;
	int64_t n = 1;
	id_sandbox_t id;
	struct fake k;
	uint32_t tag;

	connect_fake(b, &k);
	say_item(&k, "x1", EXEC_CALL, EXEC_RUNNING, 1);
	tag = expect_attach(b, &k, "x1", 0);
	OK(ctl_sandbox_deleting(b->u->c, b->u->a.id, "box", id, &b->u->e));
	OK(ctl_sandbox_remove(b->u->c, id, &b->u->e));
	say_out(&k, tag, 1, "late");
	expect_ack(b, &k, "x1", 1);
	fake_close(&k);
	while (n > 0 && clock_mono_ms() < deadline) {
		recorder_step(b->r, 5);
		OK(db_int(b->u->c->db[STORE_LOGS], "SELECT count(*) FROM logs",
			  &n, &b->u->e));
	}
	assert_int_equal(n, 0);
}

static void rows_without_a_keeper_are_gone_at_start(void **state)
{
	struct bench *b = *state;

	add_process(b, "p1");
	recorder_close(&b->r);
	OK(recorder_open(&b->conf, &b->r, &b->u->e));
	expect_process(b, "p1", END_SANDBOX_GONE, -1);
}

static void rows_that_a_new_keeper_does_not_know_are_gone(void **state)
{
	struct bench *b = *state;
	int64_t deadline = clock_mono_ms() + WAIT_MS;
	int64_t n = 2;
	struct fake k;

	add_process(b, "old");
	add_process(b, "live");
	OK(db_exec(b->u->c->db[STORE_NODE],
		   "UPDATE processes SET started_at = 1", &b->u->e));
	connect_fake(b, &k);
	say_item(&k, "live", EXEC_PROCESS, EXEC_RUNNING, 1);
	say(&k, KM_OK, k.ping, NULL);
	expect_attach(b, &k, "live", 0);
	/* A row that came after we connected is not judged. */
	add_process(b, "young");
	while (n > 0 && clock_mono_ms() < deadline) {
		recorder_step(b->r, 5);
		OK(db_int(b->u->c->db[STORE_NODE],
			  "SELECT count(*) FROM processes WHERE state = "
			  "'running' AND id = 'old'",
			  &n, &b->u->e));
	}
	expect_process(b, "old", END_SANDBOX_GONE, -1);
	expect_process(b, "live", END_NONE, 0);
	expect_process(b, "young", END_NONE, 0);
	fake_close(&k);
}

/* ---- sockets that come and go ---- */

static int listen_at(struct bench *b)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/keepers/%s.sock", b->run,
		 b->box.id);
	unlink(a.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

static void accept_fake(struct bench *b, int listen_fd, struct fake *k)
{
	int64_t deadline = clock_mono_ms() + WAIT_MS;
	int fd = -1;

	while (fd < 0 && clock_mono_ms() < deadline) {
		recorder_step(b->r, 5);
		fd = accept4(listen_fd, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
	}
	assert_true(fd >= 0);
	*k = (struct fake){.fd = fd};
	wire_rx_init(&k->rx, 1 << 16);
	expect_hello(b, k);
}

static void a_keeper_that_appears_is_found(void **state)
{
	struct bench *b = *state;
	OWN(own_fd) int fd = listen_at(b);
	struct fake k;

	accept_fake(b, fd, &k);
	fake_close(&k);
	/* It lives, so it is tried again. */
	accept_fake(b, fd, &k);
	fake_close(&k);
}

static void keepers_that_are_there_are_found_at_start(void **state)
{
	struct bench *b = *state;
	OWN(own_fd) int fd = -1;
	struct fake k;

	recorder_close(&b->r);
	fd = listen_at(b);
	OK(recorder_open(&b->conf, &b->r, &b->u->e));
	accept_fake(b, fd, &k);
	fake_close(&k);
}

static void a_stale_socket_means_gone_until_somebody_listens(void **state)
{
	struct bench *b = *state;
	int64_t deadline = clock_mono_ms() + WAIT_MS;
	OWN(own_fd) int fd = listen_at(b);
	int64_t n = 1;
	struct fake k;

	own_fd(&fd);
	recorder_close(&b->r);
	add_process(b, "p1");
	OK(recorder_open(&b->conf, &b->r, &b->u->e));
	while (n > 0 && clock_mono_ms() < deadline) {
		recorder_step(b->r, 5);
		OK(db_int(b->u->c->db[STORE_NODE],
			  "SELECT count(*) FROM processes WHERE state = "
			  "'running'",
			  &n, &b->u->e));
	}
	expect_process(b, "p1", END_SANDBOX_GONE, -1);
	fd = listen_at(b);
	accept_fake(b, fd, &k);
	fake_close(&k);
}

static void many_events_are_committed_in_groups(void **state)
{
	struct bench *b = *state;
	struct log_state s;
	struct fake k;
	uint32_t tag;

	connect_fake(b, &k);
	say_item(&k, "x1", EXEC_CALL, EXEC_RUNNING, 1);
	tag = expect_attach(b, &k, "x1", 0);
	for (uint64_t i = 1; i <= 2000; i++) {
		say_out(&k, tag, i, "0123456789");
		if (i % 100 == 0)
			recorder_step(b->r, 0);
	}
	expect_ack(b, &k, "x1", 2000);
	OK(log_chunk_state(b->u->c, b->box.id, "x1", &s, &b->u->e));
	assert_int_equal(s.last, 2000);
	assert_int_equal(s.dropped_events, 0);
	fake_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RTEST(events_become_chunks_and_an_end_sets_the_row),
	    RTEST(each_kind_ends_its_own_row),
	    RTEST(a_restart_leaves_no_gap_and_no_double),
	    RTEST(an_end_whose_row_was_not_set_is_set_after_a_restart),
	    RTEST(a_gap_of_the_keepers_ring_is_counted),
	    RTEST(a_keeper_whose_events_go_back_is_dropped),
	    RTEST(an_event_after_the_end_drops_the_keeper),
	    RTEST(garbage_drops_that_keeper_only),
	    RTEST(bad_items_and_frames_drop_the_keeper),
	    RTEST(too_many_executions_drop_the_keeper),
	    RTEST(a_keeper_that_vanishes_ends_what_ran),
	    RTEST(a_deleted_sandboxs_last_words_are_removed),
	    RTEST(rows_without_a_keeper_are_gone_at_start),
	    RTEST(rows_that_a_new_keeper_does_not_know_are_gone),
	    RTEST(a_keeper_that_appears_is_found),
	    RTEST(keepers_that_are_there_are_found_at_start),
	    RTEST(a_stale_socket_means_gone_until_somebody_listens),
	    RTEST(many_events_are_committed_in_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

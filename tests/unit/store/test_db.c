#include <pthread.h>

#include "base/clock.h"
#include "store/log_chunk.h"
#include "store/node_process.h"
#include "store/stmt.h"
#include "store_unit.h"

#define BOX "s00000aaaaaaaaaaaaaaaa"
#define WRITERS 6
#define ROWS 100

static off_t size_of(struct unit *u, const char *name)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/db/%s", u->dir, name);
	return stat(path, &st) == 0 ? st.st_size : 0;
}

static void the_checkpoint_thread_moves_the_log_into_the_file(void **state)
{
	struct unit *u = *state;
	OWN(store_ckpt_stop) struct store_ckpt *k = NULL;
	static char data[65536];
	const struct log_bounds wide = {1 << 28, 1 << 28, 1 << 28};
	struct keeper_event ev = {
	    .seq = 1, .kind = EVENT_OUT, .data = data, .len = sizeof(data)};
	int64_t deadline = clock_mono_ms() + 10000;
	off_t before = size_of(u, "logs.db");

	OK(store_ckpt_start(u->dir, true, &k, &u->e));
	for (; ev.seq <= 64; ev.seq++) {
		OK(log_chunk_begin(u->c, &u->e));
		OK(unit_append(u, BOX, "x", &ev, &wide));
		OK(log_chunk_commit(u->c, &u->e));
	}
	/* No writer does it. */
	assert_true(size_of(u, "logs.db-wal") > 4 << 20);
	while (size_of(u, "logs.db") < before + (4 << 20) &&
	       clock_mono_ms() < deadline)
		usleep(10000);
	assert_true(size_of(u, "logs.db") >= before + (4 << 20));
}

static void a_checkpoint_thread_that_stops_leaves_nothing_behind(void **state)
{
	struct unit *u = *state;
	struct store_ckpt *k = NULL;
	off_t before = size_of(u, "node.db");
	int64_t began;

	OK(store_ckpt_start(u->dir, true, &k, &u->e));
	for (int i = 0; i < 200; i++) {
		char id[16];
		const struct node_process_new n = {.sandbox = BOX, .id = id};

		snprintf(id, sizeof(id), "p%d", i);
		OK(node_process_add(u->c, &n, &u->e));
	}
	began = clock_mono_ms();
	store_ckpt_stop(&k);
	assert_null(k);
	assert_true(clock_mono_ms() - began < 2000);
	assert_true(size_of(u, "node.db") > before);
	store_ckpt_stop(&k);
	FAILS(store_ckpt_start("/nonexistent", true, &k, &u->e), ERR_NOT_FOUND);
}

/* ---- many writers ---- */

struct writer {
	const char *dir;
	int number;
	enum err err;
};

static void *write_rows(void *arg)
{
	struct writer *w = arg;
	OWN(store_close) struct store_conn *c = NULL;
	struct errinfo e;

	w->err = store_open(w->dir, &c, &e);
	for (int i = 0; i < ROWS && w->err == ERR_NONE; i++) {
		char id[32];
		const struct node_process_new n = {.sandbox = BOX, .id = id};

		snprintf(id, sizeof(id), "w%d-%d", w->number, i);
		w->err = node_process_add(c, &n, &e);
		if (w->err == ERR_NONE && i % 10 == 0) {
			w->err = node_begin(c, &e);
			if (w->err == ERR_NONE)
				w->err = node_process_pid(c, BOX, id, 5, &e);
			if (w->err == ERR_NONE)
				w->err = node_commit(c, &e);
		}
	}
	return NULL;
}

static void many_writers_wait_for_one_another(void **state)
{
	struct unit *u = *state;
	struct writer w[WRITERS];
	pthread_t t[WRITERS];
	int64_t n = 0;

	for (int i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){.dir = u->dir, .number = i};
		assert_int_equal(pthread_create(&t[i], NULL, write_rows, &w[i]),
				 0);
	}
	for (int i = 0; i < WRITERS; i++) {
		pthread_join(t[i], NULL);
		OK(w[i].err);
	}
	OK(db_int(u->c->db[STORE_NODE], "SELECT count(*) FROM processes", &n,
		  &u->e));
	assert_int_equal(n, WRITERS * ROWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(the_checkpoint_thread_moves_the_log_into_the_file),
	    TEST(a_checkpoint_thread_that_stops_leaves_nothing_behind),
	    TEST(many_writers_wait_for_one_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The checkpoint thread. Traps that were measured: a checkpoint on a handle
 * that has not read yet does nothing and says OK, so each round reads first;
 * PASSIVE cannot reset a log under constant writing, so a large one is reset
 * by TRUNCATE; and that keeps writers out while it works and waits for
 * readers, so PASSIVE moves nearly all before it, and it waits only briefly.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "store/db.h"
#include "store/stmt.h"

#define CKPT_ROUND_MS 500
#define CKPT_PASSIVE_BYTES (1 << 20)
#define CKPT_TRUNCATE_BYTES (32 << 20)
#define CKPT_BUSY_MS 20
#define CKPT_REST_PAGES 512
#define CKPT_ROUNDS 8

struct store_ckpt {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	bool stop;
	bool soon;
	bool started;
	sqlite3 *db[STORE_DBS];
	char wal[STORE_DBS][PATH_MAX];
};

/* How many pages were not moved. */
static int ckpt_do(struct store_ckpt *k, int i, int mode)
{
	struct errinfo e;
	int all = 0, moved = 0;
	int code = sqlite3_wal_checkpoint_v2(k->db[i], NULL, mode, &all,
					     &moved);

	if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY) {
		db_fail(k->db[i], "checkpoint", &e);
		log_err("checkpoint", &e);
	}
	return all - moved;
}

/* What came while most was moved is less each time. */
static void ckpt_most(struct store_ckpt *k, int i)
{
	int round = 0;

	while (ckpt_do(k, i, SQLITE_CHECKPOINT_PASSIVE) > CKPT_REST_PAGES &&
	       ++round < CKPT_ROUNDS)
		continue;
}

static void ckpt_one(struct store_ckpt *k, int i, bool whole)
{
	struct errinfo e;
	struct stat st;
	int64_t ignored;

	if (k->db[i] == NULL || stat(k->wal[i], &st) != 0)
		return;
	if (!whole && st.st_size < CKPT_PASSIVE_BYTES)
		return;
	if (db_int(k->db[i], "SELECT count(*) FROM sqlite_schema", &ignored,
		   &e) != ERR_NONE) {
		log_err("checkpoint", &e);
		return;
	}
	ckpt_most(k, i);
	if (st.st_size >= CKPT_TRUNCATE_BYTES)
		ckpt_do(k, i, SQLITE_CHECKPOINT_TRUNCATE);
}

static void *ckpt_main(void *arg)
{
	struct store_ckpt *k = arg;
	bool stop = false;

	while (!stop) {
		struct timespec t;
		bool soon;

		clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_nsec += CKPT_ROUND_MS * 1000000L;
		t.tv_sec += t.tv_nsec / 1000000000L;
		t.tv_nsec %= 1000000000L;
		pthread_mutex_lock(&k->mutex);
		while (!k->stop && !k->soon &&
		       pthread_cond_timedwait(&k->wake, &k->mutex, &t) !=
			   ETIMEDOUT)
			continue;
		stop = k->stop;
		soon = k->soon;
		k->soon = false;
		pthread_mutex_unlock(&k->mutex);
		for (int i = 0; i < STORE_DBS; i++)
			ckpt_one(k, i, stop || soon);
	}
	return NULL;
}

static enum err ckpt_open(struct store_ckpt *k, const char *data_dir, bool logs,
			  struct errinfo *e)
{
	for (int i = 0; i < (logs ? STORE_DBS : STORE_LOGS); i++) {
		enum store_db db = (enum store_db)i;
		enum err r = db_path(data_dir, db, "-wal", k->wal[i],
				     sizeof(k->wal[i]), e);

		if (r == ERR_NONE)
			r = db_open(data_dir, db, SQLITE_OPEN_READWRITE,
				    &k->db[i], e);
		if (r != ERR_NONE)
			return r;
		sqlite3_busy_timeout(k->db[i], CKPT_BUSY_MS);
	}
	return ERR_NONE;
}

enum err store_ckpt_start(const char *data_dir, bool logs,
			  struct store_ckpt **k, struct errinfo *e)
{
	OWN(store_ckpt_stop) struct store_ckpt *n = calloc(1, sizeof(*n));
	pthread_condattr_t a;
	enum err r;
	int code;

	if (n == NULL)
		return err_set(e, ERR_NOMEM, 0, "checkpoint thread");
	must(pthread_mutex_init(&n->mutex, NULL) == 0);
	must(pthread_condattr_init(&a) == 0);
	must(pthread_condattr_setclock(&a, CLOCK_MONOTONIC) == 0);
	must(pthread_cond_init(&n->wake, &a) == 0);
	pthread_condattr_destroy(&a);
	r = ckpt_open(n, data_dir, logs, e);
	if (r != ERR_NONE)
		return r;
	code = pthread_create(&n->thread, NULL, ckpt_main, n);
	if (code != 0)
		return err_set(e, ERR_IO, code, "checkpoint thread");
	n->started = true;
	*k = STEAL(n);
	return ERR_NONE;
}

void store_ckpt_soon(struct store_ckpt *k)
{
	if (k == NULL)
		return;
	pthread_mutex_lock(&k->mutex);
	k->soon = true;
	pthread_cond_signal(&k->wake);
	pthread_mutex_unlock(&k->mutex);
}

void store_ckpt_stop(struct store_ckpt **k)
{
	if (*k == NULL)
		return;
	if ((*k)->started) {
		pthread_mutex_lock(&(*k)->mutex);
		(*k)->stop = true;
		pthread_cond_signal(&(*k)->wake);
		pthread_mutex_unlock(&(*k)->mutex);
		must(pthread_join((*k)->thread, NULL) == 0);
	}
	for (int i = 0; i < STORE_DBS; i++)
		db_close(&(*k)->db[i]);
	pthread_cond_destroy(&(*k)->wake);
	pthread_mutex_destroy(&(*k)->mutex);
	free(*k);
	*k = NULL;
}

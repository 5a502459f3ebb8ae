#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/backup_file.h"
#include "fcgi/backup_s3.h"
#include "fcgi/backup_sweep.h"
#include "fcgi/store_pool.h"

#define STEP_S 5
#define FILES_EVERY 720 /* steps: an hour */
/* So long it is told of an expired one that it has expired. */
#define REMEMBER_MS (INT64_C(30) * 86400 * 1000)

static struct {
	struct backup_conf conf;
	const struct worker *worker;
	int lock;
} sweep = {.lock = -1};

const struct backup_conf *backup_sweep_conf(void)
{
	return &sweep.conf;
}

enum err backup_sweep_one(const char *data_dir, struct store_conn *c,
			  const struct ctl_backup *b, struct errinfo *e)
{
	const struct backup_s3 s = {.conf = &sweep.conf};
	enum err r = backup_file_remove(data_dir, b, e);

	if (r == ERR_NONE && b->remote && !sweep.conf.remote)
		return err_set(e, ERR_STATE, 0,
			       "backup %s is in an object store that is not "
			       "configured",
			       b->id);
	if (r == ERR_NONE && b->remote)
		r = backup_s3_remove(&s, b, e);
	return r == ERR_NONE ? ctl_backup_removed(c, b, e) : r;
}

static void sweep_rows(struct store_conn *c)
{
	OWN(ctl_backup_list_free) struct ctl_backup_list open = {.n = 0};
	int64_t now = clock_unix_ms();
	struct errinfo e;
	bool due;

	if (ctl_backup_due(c, now, now - REMEMBER_MS, &due, &e) != ERR_NONE ||
	    !due)
		return;
	if (ctl_backup_expire(c, now, now - REMEMBER_MS, &e) != ERR_NONE ||
	    ctl_backup_open(c, &open, &e) != ERR_NONE) {
		log_err("expired backups", &e);
		return;
	}
	for (size_t i = 0; i < open.n; i++) {
		const struct ctl_backup *b = &open.rows[i];

		if (b->state == BACKUP_MAKING &&
		    backup_file_made(sweep.worker->data_dir, b))
			continue;
		if (backup_sweep_one(sweep.worker->data_dir, c, b, &e) !=
		    ERR_NONE)
			log_err("remove a backup", &e);
	}
}

/* A file that no row needs. */
static bool is_waste(void *ctx, const char *id, bool part)
{
	enum ctl_backup_state state;
	struct errinfo e;

	if (ctl_backup_state(ctx, id, &state, &e) != ERR_NONE)
		return false;
	return state == BACKUP_NONE || state == BACKUP_EXPIRED ||
	       (part && state != BACKUP_MAKING);
}

/* Another worker does it as long as it lives. */
static bool sweep_mine(void)
{
	char path[PATH_MAX];

	if (sweep.lock >= 0)
		return true;
	snprintf(path, sizeof(path), "%s/backups", sweep.worker->data_dir);
	sweep.lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sweep.lock >= 0 && flock(sweep.lock, LOCK_EX | LOCK_NB) < 0)
		own_fd(&sweep.lock);
	return sweep.lock >= 0;
}

static void *sweep_run(void *arg)
{
	const struct timespec step = {.tv_sec = STEP_S};

	(void)arg;
	for (unsigned n = 0;; nanosleep(&step, NULL)) {
		struct store_conn *c = NULL;
		struct errinfo e;

		if (!sweep_mine() || store_pool_take(&c, &e) != ERR_NONE)
			continue;
		sweep_rows(c);
		if (n++ % FILES_EVERY == 0)
			backup_file_each(sweep.worker->data_dir, is_waste, c);
		store_pool_give(&c);
	}
	return NULL;
}

enum err backup_sweep_start(const struct worker *w, struct errinfo *e)
{
	pthread_t t;
	pthread_attr_t a;
	enum err r;
	int why;

	sweep.worker = w;
	r = backup_conf_read(w->data_dir, &sweep.conf, e);
	if (r != ERR_NONE)
		return r;
	if (sweep.conf.remote)
		backup_s3_init();
	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	why = pthread_create(&t, &a, sweep_run, NULL);
	pthread_attr_destroy(&a);
	return why == 0 ? ERR_NONE : err_set(e, ERR_IO, why, "thread");
}

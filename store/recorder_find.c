/* Which keepers there are: inotify on R/keepers, tries, and those gone. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/ctl_sandbox.h"
#include "store/node_live.h"
#include "store/recorder_link.h"

#define FIND_SUFFIX ".sock"

/* "<sandbox id>.sock" -> the id. */
static bool find_id(const char *name, id_sandbox_t id)
{
	if (strlen(name) != ID_SANDBOX_LEN + sizeof(FIND_SUFFIX) - 1 ||
	    strcmp(name + ID_SANDBOX_LEN, FIND_SUFFIX) != 0)
		return false;
	memcpy(id, name, ID_SANDBOX_LEN);
	id[ID_SANDBOX_LEN] = '\0';
	return id_sandbox_ok(id);
}

/* Nobody listens: what ran in it has ended; if it was deleted, all goes. */
static enum err find_gone(struct recorder *r, const char *id, struct errinfo *e)
{
	bool exists;
	enum err err = node_gone(r->store, id, clock_unix_ms(), e);

	if (err == ERR_NONE)
		err = ctl_sandbox_exists(r->store, id, &exists, e);
	if (err != ERR_NONE || exists)
		return err;
	err = node_forget(r->store, id, e);
	return err == ERR_NONE ? log_chunk_remove(r->store, id, NULL, e) : err;
}

static void find_try(struct rec_link *l)
{
	struct recorder *r = l->rec;
	struct errinfo e;
	int fd = -1;
	enum err err;

	if (r->broken || l->fd >= 0)
		return;
	err = keeper_connect(r->conf.run_dir, l->id, &fd, &e);
	if (err == ERR_NONE)
		err = recorder_link_begin(l, fd, &e);
	if (err == ERR_NONE)
		return;
	if (err != ERR_NOT_FOUND) {
		log_err("connect to a keeper", &e);
		recorder_link_drop(l);
	} else if (!l->dead) {
		bool no_socket = e.sys == ENOENT;

		/* Its own transactions: the group must not be open. */
		recorder_commit(r);
		if (r->broken)
			return;
		if (find_gone(r, l->id, &e) != ERR_NONE) {
			recorder_broken(r, &e);
			return;
		}
		l->dead = true;
		if (no_socket) {
			recorder_link_free(l);
			return;
		}
	} else if (e.sys == ENOENT) {
		recorder_link_free(l);
		return;
	}
	recorder_find_retry(l, false);
}

static void on_retry(void *arg)
{
	find_try(arg);
}

void recorder_find_retry(struct rec_link *l, bool now)
{
	/* At once only if it behaved: one that never settles waits longer. */
	bool wait = !now || l->retry_ms > LINK_RETRY_MIN_MS;

	loop_timer_set(&l->rec->loop, &l->timer,
		       clock_mono_ms() + (wait ? l->retry_ms : 0), on_retry, l);
	if (l->retry_ms < LINK_RETRY_MAX_MS)
		l->retry_ms *= 2;
}

/* ---- rows that the keeper has not ---- */

static bool settle_known(const struct rec_link *l, const char *id)
{
	struct rec_exec *x;

	HASH_FIND(hh_id, l->by_id, id, strlen(id), x);
	return x != NULL;
}

static enum err settle_rows(struct rec_link *l, struct errinfo *e)
{
	OWN(node_live_free) struct node_live_list rows = {.n = 0};
	const struct node_end gone = {.exit_code = -1,
				      .reason = END_SANDBOX_GONE,
				      .ended_ms = clock_unix_ms()};
	enum err r = node_live_list(l->rec->store, l->id, &rows, e);

	for (size_t i = 0; i < rows.n && r == ERR_NONE; i++) {
		const struct node_live *row = &rows.rows[i];

		if (row->started_ms < l->connected_ms &&
		    !settle_known(l, row->id))
			r = node_end_set(l->rec->store, l->id, row->id,
					 row->kind, &gone, e);
	}
	return r;
}

static void on_settle(void *arg)
{
	struct rec_link *l = arg;
	struct errinfo e;

	recorder_commit(l->rec);
	if (l->rec->broken || l->fd < 0)
		return;
	/* It stayed, so the next loss is tried again at once. */
	l->retry_ms = LINK_RETRY_MIN_MS;
	if (settle_rows(l, &e) != ERR_NONE)
		recorder_broken(l->rec, &e);
}

void recorder_find_settle(struct rec_link *l)
{
	loop_timer_set(&l->rec->loop, &l->timer,
		       clock_mono_ms() + l->rec->conf.settle_ms, on_settle, l);
}

/* ---- the directory ---- */

static void find_name(struct recorder *r, const char *name)
{
	id_sandbox_t id;
	struct rec_link *l;

	if (!find_id(name, id))
		return;
	HASH_FIND_STR(r->links, id, l);
	if (l == NULL)
		l = recorder_link_new(r, id);
	if (l == NULL)
		log_line(LOG_ERROR, "no memory for the keeper of %s", id);
	if (l != NULL && l->fd < 0) {
		l->retry_ms = LINK_RETRY_MIN_MS;
		recorder_find_retry(l, true);
	}
}

static enum err find_scan(struct recorder *r, const char *path,
			  struct errinfo *e)
{
	DIR *d = opendir(path);
	struct dirent *entry;

	if (d == NULL)
		return err_set(e, ERR_IO, errno, "%.180s", path);
	while ((entry = readdir(d)) != NULL)
		find_name(r, entry->d_name);
	closedir(d);
	return ERR_NONE;
}

static enum err find_path(const struct recorder *r, char *out, size_t size,
			  struct errinfo *e)
{
	int n = snprintf(out, size, "%s/keepers", r->conf.run_dir);

	if (n < 0 || (size_t)n >= size)
		return err_set(e, ERR_ARG, 0, "run directory's name too long");
	return ERR_NONE;
}

static void find_again(struct recorder *r)
{
	char path[PATH_MAX];
	struct errinfo e;

	if (find_path(r, path, sizeof(path), &e) != ERR_NONE ||
	    find_scan(r, path, &e) != ERR_NONE)
		log_err("scan for keepers", &e);
}

static void on_inotify(void *arg, uint32_t events)
{
	struct recorder *r = arg;
	union {
		struct inotify_event align;
		char space[16384];
	} in;
	ssize_t n = read(r->inotify, &in, sizeof(in));

	(void)events;
	for (ssize_t at = 0; at < n;) {
		struct inotify_event ev;
		const char *name = in.space + at + sizeof(ev);

		memcpy(&ev, in.space + at, sizeof(ev));
		if ((ev.mask & IN_Q_OVERFLOW) != 0) {
			find_again(r);
		} else if ((ev.mask & IN_IGNORED) != 0) {
			r->lost = true;
			loop_stop(&r->loop);
		} else if (ev.len > 0) {
			find_name(r, name);
		}
		at += (ssize_t)(sizeof(ev) + ev.len);
	}
}

/* What ran in sandboxes that have no keeper ended while nobody looked. */
static enum err find_sweep(struct recorder *r, struct errinfo *e)
{
	id_sandbox_t id = "";
	enum err err;

	while ((err = node_running(r->store, id, id, e)) == ERR_NONE) {
		struct rec_link *l;

		HASH_FIND_STR(r->links, id, l);
		if (l == NULL)
			err = find_gone(r, id, e);
		if (err != ERR_NONE)
			return err;
	}
	return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

enum err recorder_find_open(struct recorder *r, struct errinfo *e)
{
	char path[PATH_MAX];
	enum err err = find_path(r, path, sizeof(path), e);

	if (err != ERR_NONE)
		return err;
	r->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (r->inotify < 0 ||
	    inotify_add_watch(r->inotify, path,
			      IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0)
		return err_set(e, ERR_IO, errno, "watch %.180s", path);
	err = loop_add(&r->loop, &r->inotify_watch, r->inotify, EPOLLIN,
		       on_inotify, r, e);
	if (err == ERR_NONE)
		err = find_scan(r, path, e);
	return err == ERR_NONE ? find_sweep(r, e) : err;
}

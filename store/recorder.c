#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/recorder.h"
#include "store/recorder_link.h"

#define BROKEN_RETRY_MS 1000

static void on_broken(void *arg)
{
	struct recorder *r = arg;
	struct rec_link *l, *lt;

	r->broken = false;
	HASH_ITER(hh, r->links, l, lt)
	{
		recorder_find_retry(l, true);
	}
}

void recorder_broken(struct recorder *r, const struct errinfo *e)
{
	struct rec_link *l, *lt;

	log_err("record", e);
	log_chunk_rollback(r->store);
	node_rollback(r->store);
	recorder_group_reset(r);
	HASH_ITER(hh, r->links, l, lt)
	{
		recorder_link_drop(l);
	}
	r->broken = true;
	loop_timer_set(&r->loop, &r->broken_timer,
		       clock_mono_ms() + BROKEN_RETRY_MS, on_broken, r);
}

/* ---- life ---- */

enum err recorder_open(const struct recorder_conf *conf, struct recorder **r,
		       struct errinfo *e)
{
	OWN(recorder_close) struct recorder *n = calloc(1, sizeof(*n));
	enum err err;

	if (n == NULL)
		return err_set(e, ERR_NOMEM, 0, "recorder");
	n->conf = *conf;
	n->inotify = n->signals = n->hits = -1;
	n->inotify_watch.fd = n->signals_watch.fd = n->hits_watch.fd = -1;
	n->loop.epfd = -1;
	err = loop_open(&n->loop, e);
	if (err == ERR_NONE)
		err = recorder_group_open(n, e);
	if (err == ERR_NONE)
		err = store_open(conf->data_dir, &n->store, e);
	if (err == ERR_NONE)
		err = recorder_find_open(n, e);
	if (err != ERR_NONE)
		return err;
	if (recorder_hits_open(n, e) != ERR_NONE)
		log_err("requests of previews are not counted", e);
	recorder_tidy_begin(n);
	*r = STEAL(n);
	return ERR_NONE;
}

static void on_signal(void *arg, uint32_t events)
{
	struct recorder *r = arg;
	struct signalfd_siginfo info;

	(void)events;
	if (read(r->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		loop_stop(&r->loop);
}

enum err recorder_watch_signals(struct recorder *r, struct errinfo *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return err_set(e, ERR_IO, 0, "sigprocmask");
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->signals < 0)
		return err_set(e, ERR_IO, 0, "signalfd");
	return loop_add(&r->loop, &r->signals_watch, r->signals, EPOLLIN,
			on_signal, r, e);
}

enum err recorder_adopt(struct recorder *r, const char *sandbox, int fd,
			struct errinfo *e)
{
	OWN(own_fd) int own = fd;
	struct rec_link *l;

	if (!id_sandbox_ok(sandbox))
		return err_set(e, ERR_ARG, 0, "sandbox id");
	HASH_FIND_STR(r->links, sandbox, l);
	if (l != NULL)
		return err_set(e, ERR_EXISTS, 0, "it has a keeper");
	l = recorder_link_new(r, sandbox);
	if (l == NULL)
		return err_set(e, ERR_NOMEM, 0, "keeper");
	return recorder_link_begin(l, STEAL_FD(own), e);
}

void recorder_step(struct recorder *r, int timeout_ms)
{
	loop_step(&r->loop, timeout_ms);
}

enum err recorder_run(struct recorder *r, struct errinfo *e)
{
	enum err err = store_ckpt_start(r->conf.data_dir, true, &r->ckpt, e);

	if (err != ERR_NONE)
		return err;
	loop_run(&r->loop);
	recorder_commit(r);
	if (r->broken)
		return err_set(e, ERR_STORE, 0, "the last group is not stored");
	if (r->lost)
		return err_set(e, ERR_IO, 0, "the run directory went away");
	return ERR_NONE;
}

void recorder_close(struct recorder **r)
{
	struct rec_link *l, *lt;

	if (*r == NULL)
		return;
	HASH_ITER(hh, (*r)->links, l, lt)
	{
		recorder_link_free(l);
	}
	if ((*r)->store != NULL)
		log_chunk_rollback((*r)->store);
	store_ckpt_stop(&(*r)->ckpt);
	store_close(&(*r)->store);
	loop_del(&(*r)->loop, &(*r)->inotify_watch);
	loop_del(&(*r)->loop, &(*r)->signals_watch);
	recorder_hits_close(*r);
	own_fd(&(*r)->inotify);
	own_fd(&(*r)->signals);
	loop_close(&(*r)->loop);
	recorder_group_close(*r);
	free(*r);
	*r = NULL;
}

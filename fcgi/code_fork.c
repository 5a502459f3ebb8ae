#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fork_msg.h"
#include "base/init_msg.h"
#include "base/own.h"
#include "fcgi/code_fork.h"
#include "fcgi/pool.h"

#define FORK_LIMIT_MS 4000

struct fork_fds {
	int at[FORK_FDS];
};

static void fork_fds_close(struct fork_fds *f)
{
	for (int i = 0; i < FORK_FDS; i++)
		own_fd(&f->at[i]);
}

static void fork_done_close(struct fork_done *d)
{
	own_fd(&d->listener);
}

/* The program's ends of what the keeper made for it. */
static enum err fork_prepare(struct link *l, const struct keeper_start *s,
			     struct fork_fds *f, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(KEEPER_PAYLOAD_MAX);
	struct keeper_start forked = *s;
	struct wire_msg *m;
	enum err r;

	forked.flags = KF_FORKED | (s->flags & KF_SPARE);
	keeper_put_start(&b, &forked);
	r = link_call(l, KM_START, &b, &m, e);
	if (r != ERR_NONE)
		return r;
	if (m->type != KM_FDS || m->nfds != FORK_FDS)
		return err_set(e, ERR_GONE, 0, "keeper's FDS");
	for (int i = 0; i < FORK_FDS; i++)
		f->at[i] = STEAL_FD(m->fds[i]);
	return ERR_NONE;
}

static enum err fork_ask(struct link *l, const char *user, const char *language,
			 const struct fork_fds *f, struct fork_done *out,
			 struct errinfo *e)
{
	const struct ctl_sandbox *box = &l->rq->sandbox;
	struct fork_req req = {.user = strcmp(user, "sandbox") == 0
					   ? INIT_USER_SANDBOX
					   : INIT_USER_ROOT};

	snprintf(req.id, sizeof(req.id), "%s", box->id);
	snprintf(req.image, sizeof(req.image), "%s", box->image);
	snprintf(req.language, sizeof(req.language), "%s", language);
	return fork_call(l->rq->worker->run_dir, &req, f->at,
			 clock_mono_ms() + FORK_LIMIT_MS, out, e);
}

/* Tell the keeper how it went: pid 0 if it did not. */
static enum err fork_tell(struct link *l, const char *id,
			  const struct fork_done *d, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(256);
	struct wire_msg *m;
	enum err r;

	wire_str(&b, id);
	wire_u32(&b, d->pid);
	r = link_call_fds(l, KM_FORKED, &b, &d->listener, d->listener >= 0, &m,
			  e);
	if (r == ERR_NONE && m->type != (d->pid > 0 ? KM_STARTED : KM_OK))
		return err_set(e, ERR_GONE, 0, "keeper's STARTED");
	return r;
}

enum err code_fork(struct link *l, const struct keeper_start *s,
		   const char *language, uint32_t *pid, struct errinfo *e)
{
	OWN(fork_fds_close) struct fork_fds f = {{-1, -1, -1, -1}};
	OWN(fork_done_close) struct fork_done d = {.listener = -1};
	struct errinfo told;
	enum err r = pool_long(l->rq, e); /* what is forked can be stopped */

	if (r == ERR_NONE)
		r = fork_prepare(l, s, &f, e);
	if (r != ERR_NONE)
		return r;
	r = fork_ask(l, s->user, language, &f, &d, e);
	fork_fds_close(&f);
	if (r != ERR_NONE)
		return fork_tell(l, s->id, &d, &told) == ERR_NONE
			   ? r
			   : err_set(e, told.code, told.sys, "%s", told.text);
	r = fork_tell(l, s->id, &d, e);
	if (r == ERR_NONE)
		*pid = d.pid;
	return r;
}

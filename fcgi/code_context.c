#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/code_context.h"
#include "fcgi/code_fork.h"
#include "fcgi/code_spare.h"
#include "fcgi/exec_hits.h"
#include "fcgi/launch.h"

#define CONTEXT_ENV_MAX (64U * KIB)
#define CONTEXT_GRACE_MS 500U
#define CONTEXT_END_MS 5000
/* How long a kernel that somebody starts may be unknown to the keeper. */
#define CONTEXT_YOUNG_MS 5000
#define CONTEXT_POLL_NS 20000000L

enum err code_context_lang(struct request *rq, const char *name,
			   const struct code_lang **lang, struct errinfo *e)
{
	OWN(buf_free) struct buf why = BUF_INIT(1024);

	*lang = code_lang_find(name);
	if (*lang != NULL)
		return ERR_NONE;
	buf_adds(&why, "must be one of ");
	code_lang_names(&why);
	return err_http_field(rq, e, "language", buf_str(&why));
}

/* ---- kernels ---- */

/* The launch's environment and, where it says nothing of it, a plain TERM. */
static enum err context_env(const struct launch *x, const char ***env,
			    uint32_t *envc, struct errinfo *e)
{
	bool term = false;

	*env = calloc((size_t)x->envc + 1, sizeof(**env));
	if (*env == NULL)
		return err_set(e, ERR_NOMEM, 0, "env");
	for (uint32_t i = 0; i < x->envc; i++) {
		(*env)[i] = x->env[i];
		term = term || strncmp(x->env[i], "TERM=", 5) == 0;
	}
	*envc = x->envc;
	if (!term)
		(*env)[(*envc)++] = "TERM=dumb";
	return ERR_NONE;
}

/* What the keeper would not do, as the tenant may know it. */
static enum err context_refused(struct request *rq,
				const struct code_lang *lang,
				const struct launch *x, enum err r,
				struct errinfo *e)
{
	if (r != ERR_NOT_FOUND || strcmp(e->text, "argv") != 0)
		return launch_refused(rq, x, r, e);
	if (strcmp(lang->name, "python") == 0)
		return err_http_fail(rq, e, HTTP_PYTHON_NOT_AVAILABLE,
				     "This image has no Python for contexts");
	if (strstr(lang->argv[0], "node") == NULL)
		return err_http_fail(rq, e, HTTP_LANGUAGE_NOT_AVAILABLE,
				     "This image has no %s for contexts",
				     lang->argv[0]);
	return err_http_fail(rq, e, HTTP_JAVASCRIPT_NOT_AVAILABLE,
			     "This image has no Node.js for contexts");
}

/*
 * Debian has the interpreters in /usr/bin, images that were made by others
 * often in /usr/local/bin.
 */
static enum err context_exec(struct link *l, struct keeper_start *s,
			     uint32_t *pid, struct errinfo *e)
{
	OWN(own_mem) const char **argv = NULL;
	char program[64];
	enum err r = link_start(l, s, NULL, 0, pid, e);

	if (r != ERR_NOT_FOUND || strcmp(e->text, "argv") != 0)
		return r;
	argv = calloc((size_t)s->argc, sizeof(*argv));
	if (argv == NULL)
		return err_set(e, ERR_NOMEM, 0, "argv");
	memcpy(argv, s->argv, s->argc * sizeof(*argv));
	snprintf(program, sizeof(program), "/usr/local/bin%s",
		 strrchr(argv[0], '/'));
	argv[0] = program;
	s->argv = argv;
	r = link_start(l, s, NULL, 0, pid, e);
	s->argv = NULL;
	return r;
}

static enum err context_kernel(struct request *rq, struct link *l,
			       const struct node_context *ctx,
			       struct json_object *env, struct errinfo *e)
{
	const struct code_lang *lang = code_lang_find(ctx->language);
	OWN(launch_free) struct launch x = {0};
	OWN(own_mem) const char **all = NULL;
	struct keeper_start s = {
	    .id = ctx->kernel,
	    .kind = EXEC_KERNEL,
	    .grace_ms = CONTEXT_GRACE_MS,
	    .ring_bytes = RING_BYTES_DEFAULT,
	};
	uint32_t pid = 0;
	enum err r;

	if (lang == NULL)
		return err_set(e, ERR_STORE, 0, "context of no language");
	r = launch_cwd(rq, &x, ctx->cwd, e);
	if (r == ERR_NONE)
		r = launch_env(rq, &x, env, e);
	if (r != ERR_NONE)
		return r;
	launch_fill(rq, &x, &s);
	r = context_env(&x, &all, &s.envc, e);
	if (r != ERR_NONE)
		return r;
	s.env = all;
	s.argv = lang->argv;
	s.argc = lang->argc;
	r = code_spare_claim(l, &s, lang, &pid, e);
	if (r != ERR_NONE && r != ERR_GONE)
		r = code_fork(l, &s, lang->name, &pid, e);
	if (r != ERR_NONE && r != ERR_GONE)
		r = context_exec(l, &s, &pid, e);
	if (r != ERR_NONE)
		return context_refused(rq, lang, &x, r, e);
	code_spare_fill(rq, lang);
	return node_context_pid(rq->store, rq->sandbox.id, ctx->id, pid, e);
}

/* ---- rows ---- */

static enum err context_row(struct request *rq,
			    const struct node_context_new *row,
			    struct errinfo *e)
{
	enum err r = node_context_add(
	    rq->store, row, (uint32_t)rq->sandbox.limits.of[LIMIT_CONTEXTS], e);

	if (r != ERR_LIMIT)
		return r;
	return exec_hits_refuse(rq, e, LIMIT_CONTEXTS, "context_limit",
				"code contexts");
}

enum err code_context_create(struct request *rq, struct link *l,
			     const struct code_context_want *want,
			     struct node_context *out, struct errinfo *e)
{
	OWN(launch_free) struct launch x = {0};
	OWN(json_out_free) struct json_out env;
	struct node_context_new row = {
	    .sandbox = rq->sandbox.id,
	    .id = want->id,
	    .language = want->lang->name,
	};
	struct errinfo ignored;
	id_text_t kernel;
	enum err r;

	id_stamped("kernel", kernel);
	json_out_init(&env, CONTEXT_ENV_MAX);
	r = launch_cwd(rq, &x, want->cwd, e);
	if (r != ERR_NONE)
		return r;
	if (want->env != NULL) {
		json_out_value(&env, NULL, want->env);
	} else {
		json_out_object(&env, NULL);
		json_out_end(&env);
	}
	if (!json_out_ok(&env))
		return err_http_field(rq, e, "env_vars", "is too long");
	row.kernel = kernel;
	row.cwd = x.cwd;
	row.env = buf_str(&env.b);
	r = context_row(rq, &row, e);
	if (r == ERR_NONE)
		r = code_context_get(rq, want->id, out, e);
	if (r != ERR_NONE)
		return r;
	r = context_kernel(rq, l, out, want->env, e);
	if (r != ERR_NONE &&
	    node_context_remove(rq->store, rq->sandbox.id, want->id,
				&ignored) != ERR_NONE)
		log_err("remove a context that did not start", &ignored);
	return r;
}

enum err code_context_get(struct request *rq, const char *id,
			  struct node_context *out, struct errinfo *e)
{
	enum err r = node_context_get(rq->store, rq->sandbox.id, id, out, e);

	if (r != ERR_NOT_FOUND)
		return r;
	err_http_text(rq, "contextId", id);
	return err_http_fail(rq, e, HTTP_CONTEXT_NOT_FOUND,
			     "Context %.128s not found", id);
}

/* ---- lost kernels ---- */

static enum err context_reload(struct request *rq, struct node_context *ctx,
			       struct errinfo *e)
{
	struct node_context fresh = {0};
	enum err r = code_context_get(rq, ctx->id, &fresh, e);

	if (r != ERR_NONE)
		return r;
	node_context_free(ctx);
	*ctx = fresh;
	return ERR_NONE;
}

static void context_never_ran(struct request *rq,
			      const struct node_context *ctx)
{
	struct node_end end = {
	    .exit_code = EXIT_FAILURE,
	    .reason = END_EXITED,
	    .ended_ms = clock_unix_ms(),
	};
	struct errinfo e;

	if (node_end_set(rq->store, rq->sandbox.id, ctx->kernel, EXEC_KERNEL,
			 &end, &e) != ERR_NONE)
		log_err("end of a kernel that did not start", &e);
}

enum err code_context_restart(struct request *rq, struct link *l,
			      struct node_context *ctx, struct errinfo *e)
{
	OWN(json_in_free) struct json_in env = {0};
	id_text_t kernel;
	enum err r;

	id_stamped("kernel", kernel);
	r = node_context_restart(rq->store, rq->sandbox.id, ctx->id,
				 ctx->kernel, kernel, e);
	if (r == ERR_STATE)
		return context_reload(rq, ctx, e); /* somebody else did */
	if (r == ERR_NONE)
		r = context_reload(rq, ctx, e);
	if (r == ERR_NONE)
		r = json_in_parse(&env, ctx->env, strlen(ctx->env), e);
	if (r != ERR_NONE)
		return r;
	r = context_kernel(rq, l, ctx, env.root, e);
	if (r != ERR_NONE)
		context_never_ran(rq, ctx);
	return r;
}

enum err code_context_revive(struct request *rq, struct link *l,
			     struct node_context *ctx, struct errinfo *e)
{
	static const struct timespec a_moment = {.tv_nsec = CONTEXT_POLL_NS};
	id_text_t kernel;
	bool young;
	enum err r;

	memcpy(kernel, ctx->kernel, sizeof(kernel));
	r = context_reload(rq, ctx, e);
	if (r != ERR_NONE || strcmp(kernel, ctx->kernel) != 0)
		return r;
	young = ctx->state == NODE_RUNNING && ctx->pid == 0 &&
		clock_unix_ms() - ctx->started_ms < CONTEXT_YOUNG_MS;
	if (!young)
		return code_context_restart(rq, l, ctx, e);
	nanosleep(&a_moment, NULL);
	return ERR_NONE;
}

/* ---- ending ---- */

static enum err context_wait_end(struct link *l, int64_t deadline_ms,
				 struct keeper_end *end, struct errinfo *e)
{
	for (;;) {
		struct link_event got;
		enum err r = link_next(l, deadline_ms, &got, e);

		if (r != ERR_NONE)
			return r;
		if (got.got == LINK_TICK)
			return err_set(e, ERR_TIMEOUT, 0, "end of kernel");
		if (got.got == LINK_EVENT && got.ev.kind == EVENT_END) {
			*end = got.ev.end;
			return ERR_NONE;
		}
	}
}

enum err code_context_end(struct request *rq, const char *id, uint32_t grace_ms,
			  enum end_reason reason, struct keeper_end *end,
			  struct errinfo *e)
{
	OWN(link_close) struct link watch = LINK_INIT;
	OWN(link_close) struct link l = LINK_INIT;
	struct keeper_end got = {0};
	struct keeper_item item;
	enum err r = link_open(rq, LINK_LIVE, &l, e);

	if (r == ERR_NONE)
		r = link_status(&l, id, &item, e);
	if (r == ERR_GONE || r == ERR_NOT_FOUND)
		return ERR_NONE;
	if (r != ERR_NONE || item.state == EXEC_ENDED)
		return r;
	r = link_open(rq, LINK_LIVE, &watch, e);
	if (r == ERR_NONE)
		r = link_attach(&watch, id, item.next - 1, true, e);
	if (r == ERR_NONE)
		r = link_kill(&l, id, grace_ms, reason, e);
	if (r == ERR_NONE || r == ERR_STATE) /* ended just now */
		r = context_wait_end(
		    &watch, clock_mono_ms() + grace_ms + CONTEXT_END_MS, &got,
		    e);
	if (r == ERR_GONE || r == ERR_PEER || r == ERR_NOT_FOUND)
		r = ERR_NONE; /* the keeper's end is everybody's */
	if (r == ERR_NONE && end != NULL)
		*end = got;
	return r;
}

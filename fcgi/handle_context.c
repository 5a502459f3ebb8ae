/* Code contexts: create, list, delete, interrupt, restart. */
#include <json-c/json.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/code_context.h"
#include "fcgi/retry.h"
#include "store/node_execution.h"

#define CONTEXT_GRACE_MS 500U
#define CONTEXT_INTERRUPT_MS 4000U
#define CONTEXT_ANSWER_MAX (1U * MIB)
#define CONTEXT_RUNS_MAX 200U

struct context_body {
	const char *language;
	const char *cwd;
	struct json_object *env;
	int64_t timeout_ms;
};

#define AT(member) offsetof(struct context_body, member)

static const struct json_field context_fields[] = {
    {"language", NULL, JSON_TEXT, AT(language), false, 0, 64},
    {"cwd", NULL, JSON_TEXT, AT(cwd), false, 0, NODE_CWD_MAX},
    {"env_vars", "envVars", JSON_ENV, AT(env), false, 0, 0},
    /* Clients bound their own call by it; a start takes no time here. */
    {"timeout_ms", "timeoutMs", JSON_INT, AT(timeout_ms), false, 1, INT32_MAX},
    {"timeout", NULL, JSON_INT, AT(timeout_ms), false, 1, INT32_MAX},
    {"sessionId", NULL, JSON_SKIP, 0, false, 0, 0},
};

#undef AT

/* The first try may have made it, and then this takes it up. */
static enum err context_make(struct request *rq, struct link *l,
			     const struct retry *again,
			     struct code_context_want *want,
			     struct node_context *ctx, struct errinfo *e)
{
	enum err r = ERR_NOT_FOUND;

	want->id = again->row.made;
	if (!again->first)
		r = node_context_get(rq->store, rq->sandbox.id, want->id, ctx,
				     e);
	if (r != ERR_NOT_FOUND)
		return r;
	r = code_context_create(rq, l, want, ctx, e);
	if (r != ERR_NONE)
		retry_drop(rq, again);
	return r;
}

static enum err context_made(struct request *rq, const struct retry *again,
			     const struct node_context *ctx, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;

	json_out_init(&o, CONTEXT_ANSWER_MAX);
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "contextId", ctx->id);
	json_out_text(&o, "language", ctx->language);
	json_out_text(&o, "cwd", ctx->cwd);
	json_out_now(&o);
	json_out_end(&o);
	retry_done(rq, again, &o);
	return answer_json(rq, 200, &o, e);
}

enum err context_create(struct request *rq, struct errinfo *e)
{
	OWN(node_context_free) struct node_context ctx = {0};
	OWN(link_close) struct link l = LINK_INIT;
	OWN(retry_free) struct retry again = RETRY_INIT;
	struct context_body body = {.language = "python"};
	struct code_context_want want = {0};
	enum err r;

	err_http_operation(rq, "code.context.create");
	r = body_json(rq, context_fields, JSON_COUNT(context_fields), &body, e);
	if (r == ERR_NONE)
		r = code_context_lang(rq, body.language, &want.lang, e);
	if (r == ERR_NONE)
		r = link_open(rq, LINK_CREATE, &l, e);
	if (r != ERR_NONE)
		return r;
	id_uuid(again.row.made);
	r = retry_begin(rq, rq->sandbox.id, &again, e);
	if (r == ERR_NONE)
		r = retry_wait(rq, &again, e);
	if (r == ERR_NONE && retry_answered(&again))
		return retry_replay(rq, &again, e);
	want.cwd = body.cwd;
	want.env = body.env;
	if (r == ERR_NONE)
		r = context_make(rq, &l, &again, &want, &ctx, e);
	return r == ERR_NONE ? context_made(rq, &again, &ctx, e) : r;
}

/* ---- list ---- */

/* Whether the kernel lives is the keeper's to say, not the row's. */
static bool context_lives(struct link *l, bool up,
			  const struct node_context *ctx)
{
	struct keeper_item item;
	struct errinfo ignored;

	return up && ctx->state == NODE_RUNNING &&
	       link_status(l, ctx->kernel, &item, &ignored) == ERR_NONE &&
	       item.state != EXEC_ENDED;
}

static void context_put(struct json_out *o, const struct node_context *ctx,
			bool lives)
{
	json_out_object(o, NULL);
	json_out_text(o, "id", ctx->id);
	json_out_text(o, "language", ctx->language);
	json_out_text(o, "cwd", ctx->cwd);
	json_out_text(o, "state", lives ? "running" : "lost");
	if (lives)
		json_out_int(o, "pid", ctx->pid);
	else if (ctx->state == NODE_ENDED)
		json_out_text(o, "reason", end_reason_name(ctx->end.reason));
	else
		json_out_text(o, "reason", end_reason_name(END_SANDBOX_GONE));
	json_out_time(o, "createdAt", ctx->created_ms);
	json_out_end(o);
}

enum err context_list(struct request *rq, struct errinfo *e)
{
	OWN(node_context_list_free) struct node_context_list rows = {0};
	OWN(link_close) struct link l = LINK_INIT;
	OWN(json_out_free) struct json_out o;
	bool up;
	enum err r;

	json_out_init(&o, CONTEXT_ANSWER_MAX);
	r = link_open(rq, LINK_LIVE, &l, e);
	up = r == ERR_NONE;
	if (r == ERR_NONE || r == ERR_GONE)
		r = node_context_list(rq->store, rq->sandbox.id, &rows, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_array(&o, "contexts");
	for (size_t i = 0; i < rows.n; i++)
		context_put(&o, &rows.rows[i],
			    context_lives(&l, up, &rows.rows[i]));
	json_out_end(&o);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

/* ---- one context ---- */

static enum err context_of_path(struct request *rq, struct node_context *ctx,
				struct errinfo *e)
{
	enum err r = link_find(rq, e);

	if (r != ERR_NONE)
		return r;
	return code_context_get(rq, route_param(rq, "id"), ctx, e);
}

static enum err context_answer(struct request *rq,
			       const struct node_context *ctx,
			       const char *state, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;

	json_out_init(&o, CONTEXT_ANSWER_MAX);
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "contextId", ctx->id);
	if (state != NULL)
		json_out_text(&o, "state", state);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

enum err context_delete(struct request *rq, struct errinfo *e)
{
	OWN(node_context_free) struct node_context ctx = {0};
	enum err r;

	err_http_operation(rq, "code.context.delete");
	r = context_of_path(rq, &ctx, e);
	if (r == ERR_NONE)
		r = code_context_end(rq, ctx.kernel, CONTEXT_GRACE_MS,
				     END_KILLED, NULL, e);
	if (r == ERR_NONE)
		r = node_context_remove(rq->store, rq->sandbox.id, ctx.id, e);
	if (r == ERR_NOT_FOUND && rq->failure.code == HTTP_CODE_NONE)
		r = ERR_NONE; /* another call was quicker */
	if (r != ERR_NONE)
		return r;
	return context_answer(rq, &ctx, NULL, e);
}

/*
 * Interrupt what runs, newest first: the keeper sends SIGINT, again, and
 * kills the kernel in the end. Whether that was needed is in ${lost}.
 */
static enum err context_interrupt_runs(struct request *rq,
				       const struct node_context *ctx,
				       bool *lost, struct errinfo *e)
{
	OWN(node_execution_list_free) struct node_execution_list runs = {0};
	enum err r = node_execution_list(rq->store, rq->sandbox.id,
					 CONTEXT_RUNS_MAX, &runs, e);

	for (size_t i = 0; r == ERR_NONE && i < runs.n; i++) {
		const struct node_execution *x = &runs.rows[i];
		struct keeper_end end = {0};

		if (x->kind != EXEC_RUN || x->state != NODE_RUNNING ||
		    strcmp(x->context, ctx->id) != 0)
			continue;
		r = code_context_end(rq, x->id, CONTEXT_INTERRUPT_MS,
				     END_INTERRUPTED, &end, e);
		*lost = *lost || end.kernel_lost;
	}
	return r;
}

enum err context_interrupt(struct request *rq, struct errinfo *e)
{
	OWN(node_context_free) struct node_context ctx = {0};
	OWN(link_close) struct link l = LINK_INIT;
	bool lost = false;
	enum err r;

	err_http_operation(rq, "code.context.interrupt");
	r = context_of_path(rq, &ctx, e);
	if (r == ERR_NONE)
		r = context_interrupt_runs(rq, &ctx, &lost, e);
	if (r != ERR_NONE)
		return r;
	if (!lost) {
		r = link_open(rq, LINK_LIVE, &l, e);
		if (r != ERR_NONE && r != ERR_GONE)
			return r;
		lost = !context_lives(&l, r == ERR_NONE, &ctx);
	}
	return context_answer(rq, &ctx, lost ? "lost" : "kept", e);
}

enum err context_restart(struct request *rq, struct errinfo *e)
{
	OWN(node_context_free) struct node_context ctx = {0};
	OWN(link_close) struct link l = LINK_INIT;
	enum err r;

	err_http_operation(rq, "code.context.restart");
	r = context_of_path(rq, &ctx, e);
	if (r == ERR_NONE)
		r = code_context_end(rq, ctx.kernel, CONTEXT_GRACE_MS,
				     END_KILLED, NULL, e);
	if (r == ERR_NONE)
		r = link_open(rq, LINK_START, &l, e);
	if (r == ERR_NONE)
		r = code_context_restart(rq, &l, &ctx, e);
	if (r != ERR_NONE)
		return r;
	return context_answer(rq, &ctx, "lost", e);
}

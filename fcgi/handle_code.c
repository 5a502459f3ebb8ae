/* Code runs in contexts, and whether there are interpreters at all. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/code_context.h"
#include "fcgi/code_run.h"
#include "fcgi/launch.h"
#include "fcgi/retry.h"
#include "store/node_execution.h"

#define CODE_MAX (8U * MIB)
#define CODE_STDIN_MAX MIB
#define CODE_PAYLOAD_MAX (56U * MIB) /* each byte may need six */
#define CODE_RING_BYTES (4U * MIB)
#define CODE_KERNEL_MS 15000
#define CODE_ANSWER_MAX (64U * KIB)

struct code_body {
	const char *context;
	const char *code;
	const char *language;
	const char *cwd;
	const char *input;
	const char *on_disconnect;
	struct json_object *env;
	int64_t timeout_ms;
	uint32_t flags; /* KF_WALL, or none */
};

#define AT(member) offsetof(struct code_body, member)

static const struct json_field code_fields[] = {
    {"context_id", "contextId", JSON_TEXT, AT(context), false, 0, ID_MAX},
    {"code", NULL, JSON_TEXT, AT(code), true, 0, CODE_MAX},
    {"language", NULL, JSON_TEXT, AT(language), false, 0, 64},
    {"cwd", NULL, JSON_TEXT, AT(cwd), false, 0, NODE_CWD_MAX},
    {"stdin", NULL, JSON_TEXT, AT(input), false, 0, CODE_STDIN_MAX},
    {"env_vars", "envVars", JSON_ENV, AT(env), false, 0, 0},
    {"timeout_ms", "timeoutMs", JSON_INT, AT(timeout_ms), false, 0,
     LAUNCH_TIMEOUT_MAX_MS},
    {"onDisconnect", NULL, JSON_TEXT, AT(on_disconnect), false, 0, 16},
    {"sessionId", NULL, JSON_SKIP, 0, false, 0, 0},
};

#undef AT

/* ---- which context ---- */

static enum err code_default(struct request *rq, struct link *l,
			     const struct code_lang *lang,
			     struct node_context *ctx, struct errinfo *e)
{
	struct code_context_want want = {.lang = lang};
	id_text_t id;
	enum err r;

	snprintf(id, sizeof(id), "default-%s", lang->name);
	want.id = id;
	r = node_context_get(rq->store, rq->sandbox.id, id, ctx, e);
	if (r != ERR_NOT_FOUND)
		return r;
	r = code_context_create(rq, l, &want, ctx, e);
	if (r == ERR_EXISTS) /* another call was quicker */
		r = code_context_get(rq, id, ctx, e);
	return r;
}

static enum err code_named(struct request *rq, const struct code_body *body,
			   const struct code_lang *lang,
			   struct node_context *ctx, struct errinfo *e)
{
	enum err r = code_context_get(rq, body->context, ctx, e);

	if (r == ERR_NONE && body->language != NULL &&
	    strcmp(lang->name, ctx->language) != 0)
		return err_http_field(rq, e, "language",
				      "is not the context's");
	return r;
}

static enum err code_context(struct request *rq, struct link *l,
			     const struct code_body *body,
			     struct node_context *ctx, struct errinfo *e)
{
	const struct code_lang *lang;
	enum err r = code_context_lang(
	    rq, body->language != NULL ? body->language : "python", &lang, e);

	if (r != ERR_NONE)
		return r;
	if (body->context == NULL) {
		r = link_open(rq, LINK_CREATE, l, e);
		return r == ERR_NONE ? code_default(rq, l, lang, ctx, e) : r;
	}
	/* A context that does not exist neither makes nor wakes a sandbox. */
	r = link_find(rq, e);
	if (r == ERR_NONE)
		r = code_named(rq, body, lang, ctx, e);
	return r == ERR_NONE ? link_open(rq, LINK_START, l, e) : r;
}

/* ---- the run ---- */

/* A null in a call's environment is ignored. */
static void code_json_env(struct json_object *env, struct json_out *o)
{
	struct json_object_iterator it = json_object_iter_begin(env);
	struct json_object_iterator end = json_object_iter_end(env);

	json_out_object(o, "env");
	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		struct json_object *v = json_object_iter_peek_value(&it);

		if (v != NULL)
			json_out_value(o, json_object_iter_peek_name(&it), v);
	}
	json_out_end(o);
}

static enum err code_json(struct request *rq, const struct code_body *body,
			  struct json_out *o, struct errinfo *e)
{
	json_out_object(o, NULL);
	json_out_text(o, "code", body->code);
	if (body->input != NULL)
		json_out_text(o, "stdin", body->input);
	if (body->env != NULL)
		code_json_env(body->env, o);
	if (body->cwd != NULL && body->cwd[0] != '\0') {
		OWN(launch_free) struct launch x = {0};
		enum err r = launch_cwd(rq, &x, body->cwd, e);

		if (r != ERR_NONE)
			return r;
		json_out_text(o, "cwd", x.cwd);
	}
	json_out_end(o);
	return json_out_ok(o) ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "code");
}

/* One that may be sent again goes on, so that there is something to find. */
static bool code_keeps(const struct request *rq, const struct code_body *body)
{
	if (body->on_disconnect == NULL)
		return retry_asked(rq);
	return strcmp(body->on_disconnect, "keep") == 0;
}

static void code_payload(struct buf *b, const struct node_context *ctx,
			 const char *run, const struct code_body *body,
			 bool keep, const struct json_out *json)
{
	buf_reset(b);
	wire_str(b, ctx->kernel);
	wire_str(b, run);
	wire_u32(b, KF_ATTACH | (keep ? 0U : KF_KILL_ON_CLOSE) | body->flags);
	wire_u64(b, (uint64_t)body->timeout_ms);
	wire_u64(b, CODE_RING_BYTES);
	wire_bytes(b, json->b.data, json->b.len);
}

/* The keeper has no such kernel, or it has ended. */
static bool code_kernel_lost(enum err r)
{
	return r == ERR_NOT_FOUND || r == ERR_STATE || r == ERR_GONE;
}

/* Hand the run to the context's kernel; a lost one is replaced first. */
static enum err code_submit(struct request *rq, struct link *l,
			    struct node_context *ctx, const char *run,
			    const struct code_body *body, struct errinfo *e)
{
	OWN(buf_free) struct buf payload = BUF_INIT(CODE_PAYLOAD_MAX + 1024);
	OWN(json_out_free) struct json_out json;
	int64_t deadline = clock_mono_ms() + CODE_KERNEL_MS;
	struct wire_msg *msg;
	enum err r;

	json_out_init(&json, CODE_PAYLOAD_MAX);
	r = code_json(rq, body, &json, e);
	if (r != ERR_NONE)
		return r;
	for (;;) {
		code_payload(&payload, ctx, run, body, code_keeps(rq, body),
			     &json);
		r = link_call(l, KM_RUN, &payload, &msg, e);
		if (!code_kernel_lost(r) || rq->broken)
			return r;
		if (clock_mono_ms() > deadline)
			return err_http_fail(rq, e, HTTP_INTERPRETER_NOT_READY,
					     "The interpreter did not start");
		r = code_context_revive(rq, l, ctx, e);
		if (r != ERR_NONE)
			return r;
	}
}

static enum err code_record(struct request *rq, const struct node_context *ctx,
			    const char *run, const struct code_body *body,
			    struct errinfo *e)
{
	const struct node_execution_new row = {
	    .sandbox = rq->sandbox.id,
	    .id = run,
	    .kind = EXEC_RUN,
	    .context = ctx->id,
	    .command = body->code,
	    .cwd = body->cwd != NULL ? body->cwd : ctx->cwd,
	};

	return node_execution_add(rq->store, &row, e);
}

/* ---- one call ---- */

struct code_call {
	struct request *rq;
	struct code_body body;
	struct link link;
	struct node_context ctx;
	struct retry retry;
	id_text_t id;
	bool taken_up; /* the first try has started it */
};

static void code_call_close(struct code_call *x)
{
	link_close(&x->link);
	node_context_free(&x->ctx);
	retry_free(&x->retry);
}

static enum err code_add(struct code_call *x, struct errinfo *e)
{
	struct request *rq = x->rq;
	enum err r;

	memcpy(x->retry.row.made, x->id, sizeof(x->id));
	r = retry_begin(rq, rq->sandbox.id, &x->retry, e);
	if (r == ERR_NONE && x->retry.first)
		return code_record(rq, &x->ctx, x->id, &x->body, e);
	memcpy(x->id, x->retry.row.made, sizeof(x->id));
	return r;
}

/* Both rows or none: a worker may end at any moment. */
static enum err code_rows(struct code_call *x, struct errinfo *e)
{
	enum err r;

	if (!retry_asked(x->rq))
		return code_add(x, e);
	r = node_begin(x->rq->store, e);
	if (r != ERR_NONE)
		return r;
	r = code_add(x, e);
	if (r == ERR_NONE)
		return node_commit(x->rq->store, e);
	node_rollback(x->rq->store);
	return r;
}

static void code_forget(struct code_call *x)
{
	struct request *rq = x->rq;
	struct errinfo e;

	if (route_unpark(rq, &e) != ERR_NONE ||
	    node_execution_remove(rq->store, rq->sandbox.id, x->id, &e) !=
		ERR_NONE)
		log_err("forget a run that did not start", &e);
	retry_drop(rq, &x->retry);
}

static enum err code_start(struct code_call *x, struct errinfo *e)
{
	struct request *rq = x->rq;
	bool open = true;
	enum err r = code_rows(x, e);

	if (r == ERR_NONE && !x->retry.first)
		r = retry_open(rq, x->id, &open, e);
	x->taken_up = !open;
	if (r != ERR_NONE || !open)
		return r;
	r = code_submit(rq, &x->link, &x->ctx, x->id, &x->body, e);
	if (r == ERR_EXISTS) {
		x->taken_up = true;
		return ERR_NONE;
	}
	/* Gone while it was asked for: it may run, and then it is recorded. */
	if (r != ERR_NONE && !(rq->broken && code_keeps(rq, &x->body)))
		code_forget(x);
	return r;
}

static bool code_wants_json(const struct request *rq)
{
	const char *accept = route_header(rq, "HTTP_ACCEPT");
	char stream[8];

	if (route_query(rq, "stream", stream, sizeof(stream)))
		return strcmp(stream, "false") == 0 || strcmp(stream, "0") == 0;
	return accept != NULL && strstr(accept, "application/json") != NULL &&
	       strstr(accept, "text/event-stream") == NULL;
}

static enum err code_read(struct request *rq, struct code_body *body,
			  struct errinfo *e)
{
	enum err r = body_json(rq, code_fields, JSON_COUNT(code_fields), body,
			       e);
	const char *on = body->on_disconnect;

	if (r == ERR_NONE && on != NULL && strcmp(on, "keep") != 0 &&
	    strcmp(on, "kill") != 0)
		return err_http_field(rq, e, "onDisconnect",
				      "must be \"kill\" or \"keep\"");
	return r;
}

enum err code_execute(struct request *rq, struct errinfo *e)
{
	OWN(code_call_close)
	struct code_call x = {.rq = rq, .link = LINK_INIT, .retry = RETRY_INIT};
	OWN(code_run_free) struct code_run run = {0};
	struct code_body *body = &x.body;
	uint64_t after;
	enum err r;

	err_http_operation(rq, "code.execute");
	r = code_read(rq, body, e);
	if (r == ERR_NONE)
		r = sse_after(rq, &after, e);
	if (r == ERR_NONE)
		r = code_context(rq, &x.link, body, &x.ctx, e);
	if (r != ERR_NONE)
		return r;
	id_stamped("run", x.id);
	r = launch_timeout(rq, "timeout_ms", &body->timeout_ms, &body->flags,
			   e);
	if (r == ERR_NONE)
		r = code_start(&x, e);
	if (r != ERR_NONE)
		return r;
	code_run_init(&run, rq, x.id, !code_wants_json(rq));
	if (x.taken_up && run.live)
		run.after = after;
	run.kernel_ms = x.ctx.state == NODE_RUNNING ? x.ctx.started_ms
						    : INT64_MAX;
	return code_run_follow(&run, x.taken_up ? NULL : &x.link, e);
}

enum err code_health(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;
	enum err r = link_find(rq, e);

	json_out_init(&o, CODE_ANSWER_MAX);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "status", "healthy");
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

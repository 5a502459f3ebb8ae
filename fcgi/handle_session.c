/* Sessions: create, list, one, delete. */
#include <json-c/json.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/launch.h"
#include "fcgi/retry.h"
#include "fcgi/session.h"
#include "store/node_session.h"

#define SESSION_JSON_MAX (1U * MIB)

struct session_body {
	const char *id;
	const char *cwd;
	struct json_object *env;
	int64_t timeout_ms;
};

#define AT(member) offsetof(struct session_body, member)

static const struct json_field create_fields[] = {
    {"id", "sessionId", JSON_TEXT, AT(id), false, 1, ID_MAX},
    {"cwd", NULL, JSON_TEXT, AT(cwd), false, 0, LAUNCH_PATH_MAX},
    {"env", "env_vars", JSON_ENV, AT(env), false, 0, 0},
    {"commandTimeoutMs", "command_timeout_ms", JSON_INT, AT(timeout_ms), false,
     0, LAUNCH_TIMEOUT_MAX_MS},
    /* The wire's clients send these; they mean nothing here. */
    {"isolation", NULL, JSON_SKIP, 0, false, 0, 0},
    {"name", NULL, JSON_SKIP, 0, false, 0, 0},
};

static const struct json_field delete_fields[] = {
    {"sessionId", "id", JSON_TEXT, AT(id), true, 1, ID_MAX},
};

#undef AT

static enum err session_unknown(struct request *rq, const char *id,
				struct errinfo *e)
{
	err_http_text(rq, "sessionId", id);
	return err_http_fail(rq, e, HTTP_SESSION_NOT_FOUND,
			     "Session %s not found", id);
}

static enum err session_id_check(struct request *rq, const char *id,
				 struct errinfo *e)
{
	if (id_text_ok(id) && strcmp(id, SESSION_NONE) != 0)
		return ERR_NONE;
	return err_http_field(rq, e, "id",
			      "must be 1 to 128 of A-Z a-z 0-9 . _ -, "
			      "starting with none of . -");
}

static void session_put(struct json_out *o, const char *key,
			const struct keeper_session *s, int64_t timeout_ms)
{
	json_out_object(o, key);
	json_out_text(o, "id", s->id);
	json_out_text(o, "cwd", s->cwd);
	json_out_bool(o, "busy", s->busy);
	json_out_time(o, "createdAt", s->created_ms);
	if (timeout_ms > 0)
		json_out_int(o, "commandTimeoutMs", timeout_ms);
	json_out_end(o);
}

/* ---- create ---- */

/* What its commands will find: a shell, and a cwd that can be entered. */
static enum err create_probe(struct link *l, const char *cwd, struct errinfo *e)
{
	static const char *const argv[] = {"/bin/bash", "-c", ":"};
	struct keeper_start s = {.kind = EXEC_CALL,
				 .user = l->rq->sandbox.user,
				 .cwd = cwd,
				 .argv = argv,
				 .argc = 3};
	struct launch told = {.cwd_given = true};
	id_text_t id;
	enum err r;

	id_stamped("probe", id);
	s.id = id;
	r = link_start(l, &s, NULL, 0, NULL, e);
	if (r == ERR_NONE)
		return ERR_NONE;
	if (r == ERR_NOT_FOUND && strcmp(e->text, "argv") == 0)
		return launch_no_shell(l->rq, &told, e);
	memcpy(told.cwd, cwd, strlen(cwd) + 1);
	return launch_refused(l->rq, &told, r, e);
}

static enum err create_cwd(struct link *l, const char *given,
			   struct launch *place, struct errinfo *e)
{
	enum err r = launch_cwd(l->rq, place, given, e);

	if (r != ERR_NONE)
		return r;
	if (place->cwd_given)
		return create_probe(l, place->cwd, e);
	/* The machine's own /usr has bash. */
	return strcmp(l->rq->sandbox.image, "host") == 0
		   ? ERR_NONE
		   : create_probe(l, "/", e);
}

static enum err create_taken(struct request *rq, const char *id,
			     struct errinfo *e)
{
	err_http_text(rq, "sessionId", id);
	json_out_null(err_http_context(rq), "containerPlacementId");
	return err_http_fail(rq, e, HTTP_SESSION_ALREADY_EXISTS,
			     "Session %s exists already", id);
}

static enum err create_make(struct link *l, const struct session_body *in,
			    const char *id, bool first, struct errinfo *e)
{
	struct request *rq = l->rq;
	struct launch place = {0};
	struct node_session_new row = {
	    .sandbox = rq->sandbox.id, .id = id, .timeout_ms = in->timeout_ms};
	enum err r = create_cwd(l, in->cwd, &place, e);

	if (r != ERR_NONE)
		return r;
	row.cwd = place.cwd_given ? place.cwd : "";
	if (in->env != NULL)
		row.env = json_object_to_json_string_ext(
		    in->env, JSON_C_TO_STRING_PLAIN);
	r = session_make(rq, l, id, row.cwd, in->env, e);
	if (r == ERR_EXISTS && first)
		return create_taken(rq, id, e);
	if (r == ERR_LIMIT)
		return err_http_fail(rq, e, HTTP_LIMIT_EXCEEDED,
				     "The sandbox has too many sessions");
	if (r != ERR_NONE && r != ERR_EXISTS)
		return r;
	return node_session_set(rq->store, &row, e);
}

static enum err create_answer(struct request *rq, const struct retry *again,
			      const struct session_body *in, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(SESSION_JSON_MAX);

	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "id", again->row.made);
	json_out_object(&o, "data");
	json_out_text(&o, "id", again->row.made);
	if (in->timeout_ms > 0)
		json_out_int(&o, "commandTimeoutMs", in->timeout_ms);
	json_out_end(&o);
	json_out_null(&o, "containerPlacementId");
	json_out_now(&o);
	json_out_end(&o);
	retry_done(rq, again, &o);
	return answer_json(rq, 200, &o, e);
}

enum err session_create(struct request *rq, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	OWN(retry_free) struct retry again = RETRY_INIT;
	struct session_body in = {0};
	enum err r;

	err_http_operation(rq, "session.create");
	r = body_json(rq, create_fields, JSON_COUNT(create_fields), &in, e);
	if (r == ERR_NONE && in.id != NULL)
		r = session_id_check(rq, in.id, e);
	if (r == ERR_NONE)
		r = link_open(rq, LINK_CREATE, &l, e);
	if (r != ERR_NONE)
		return r;
	id_stamped("session", again.row.made);
	if (in.id != NULL)
		memcpy(again.row.made, in.id, strlen(in.id) + 1);
	r = retry_begin(rq, rq->sandbox.id, &again, e);
	if (r == ERR_NONE)
		r = retry_wait(rq, &again, e);
	if (r == ERR_NONE && retry_answered(&again))
		return retry_replay(rq, &again, e);
	if (r != ERR_NONE)
		return r;
	r = create_make(&l, &in, again.row.made, again.first, e);
	if (r == ERR_NONE)
		return create_answer(rq, &again, &in, e);
	retry_drop(rq, &again);
	return r;
}

/* ---- list and get ---- */

struct session_list {
	struct request *rq;
	struct json_out ids;
	struct json_out rows;
};

static void session_list_free(struct session_list *x)
{
	json_out_free(&x->ids);
	json_out_free(&x->rows);
}

static enum err session_list_add(void *ctx, const struct keeper_session *s,
				 struct errinfo *e)
{
	struct session_list *x = ctx;
	int64_t timeout_ms;
	enum err r = session_timeout(x->rq, s->id, &timeout_ms, e);

	if (r != ERR_NONE)
		return r;
	json_out_text(&x->ids, NULL, s->id);
	session_put(&x->rows, NULL, s, timeout_ms);
	return ERR_NONE;
}

enum err session_list(struct request *rq, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	OWN(session_list_free)
	struct session_list x = {.rq = rq,
				 .ids = JSON_OUT_INIT(SESSION_JSON_MAX),
				 .rows = JSON_OUT_INIT(4 * SESSION_JSON_MAX)};
	OWN(json_out_free)
	struct json_out o = JSON_OUT_INIT(8 * SESSION_JSON_MAX);
	enum err r;

	err_http_operation(rq, "session.list");
	json_out_array(&x.ids, NULL);
	json_out_array(&x.rows, NULL);
	r = link_open(rq, LINK_LIVE, &l, e);
	if (r == ERR_NONE)
		r = session_each(&l, session_list_add, &x, e);
	if (r != ERR_NONE && (r != ERR_GONE || rq->broken))
		return r;
	json_out_end(&x.ids);
	json_out_end(&x.rows);
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_raw(&o, "data", buf_str(&x.ids.b));
	json_out_raw(&o, "sessions", buf_str(&x.rows.b));
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

enum err session_one(struct request *rq, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(SESSION_JSON_MAX);
	const char *id = route_param(rq, "id");
	struct keeper_session s;
	int64_t timeout_ms = 0;
	enum err r;

	err_http_operation(rq, "session.get");
	r = link_open(rq, LINK_LIVE, &l, e);
	if (r == ERR_NONE)
		r = session_get(&l, id, &s, e);
	if ((r == ERR_GONE && !rq->broken) ||
	    (r == ERR_NOT_FOUND && rq->sandbox.id[0] != '\0'))
		return session_unknown(rq, id, e);
	if (r == ERR_NONE)
		r = session_timeout(rq, id, &timeout_ms, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	session_put(&o, "session", &s, timeout_ms);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

/* ---- delete ---- */

static enum err session_remove(struct request *rq, const char *id,
			       struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(SESSION_JSON_MAX);
	enum err r = link_open(rq, LINK_LIVE, &l, e);
	bool ended = false;

	if (r == ERR_NONE) {
		r = session_end(&l, id, e);
		ended = r == ERR_NONE;
	}
	if (rq->sandbox.id[0] == '\0' || rq->broken)
		return r;
	if (r != ERR_NONE && r != ERR_NOT_FOUND && r != ERR_GONE)
		return r;
	r = node_session_remove(rq->store, rq->sandbox.id, id, e);
	if (r != ERR_NONE)
		return r;
	if (!ended)
		return session_unknown(rq, id, e);
	json_out_object(&o, NULL);
	json_out_bool(&o, "success", true);
	json_out_text(&o, "sessionId", id);
	json_out_now(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

enum err session_delete(struct request *rq, struct errinfo *e)
{
	struct session_body in = {0};
	enum err r;

	err_http_operation(rq, "session.delete");
	r = body_json(rq, delete_fields, JSON_COUNT(delete_fields), &in, e);
	return r == ERR_NONE ? session_remove(rq, in.id, e) : r;
}

enum err session_delete_one(struct request *rq, struct errinfo *e)
{
	err_http_operation(rq, "session.delete");
	return session_remove(rq, route_param(rq, "id"), e);
}

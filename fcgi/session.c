#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "fcgi/launch.h"
#include "fcgi/session.h"
#include "store/node_session.h"

#define END_GRACE_MS 5000U

static bool session_asked(struct request *rq, const char *given, char *out,
			  size_t size)
{
	const char *header = route_header(rq, "HTTP_X_SESSION_ID");

	if (given == NULL || given[0] == '\0')
		given = header;
	if (given == NULL || given[0] == '\0')
		return route_query(rq, "session", out, size) ||
		       route_query(rq, "sessionId", out, size);
	snprintf(out, size, "%s", given);
	return true;
}

enum err session_choose(struct request *rq, const char *given, id_text_t out,
			bool *named, struct errinfo *e)
{
	char id[2 * ID_MAX] = SESSION_DEFAULT;

	*named = session_asked(rq, given, id, sizeof(id));
	if (strcmp(id, SESSION_NONE) == 0)
		id[0] = '\0';
	else if (!id_text_ok(id))
		return err_http_field(rq, e, "sessionId",
				      "must be 1 to 128 of A-Z a-z 0-9 . _ -, "
				      "starting with none of . -");
	memcpy(out, id, strlen(id) + 1);
	return ERR_NONE;
}

/* ---- making one ---- */

/* The sandbox's, with ${env} over it; owned by the caller. */
static struct json_object *session_env(const struct request *rq,
				       struct json_object *env)
{
	const char *stored = rq->sandbox.env;
	struct json_object *all = NULL;
	struct json_object_iterator it, end;

	if (stored != NULL && stored[0] == '{')
		all = json_tokener_parse(stored);
	if (all == NULL)
		all = json_object_new_object();
	if (all == NULL || env == NULL)
		return all;
	it = json_object_iter_begin(env);
	end = json_object_iter_end(env);
	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it))
		json_object_object_add(
		    all, json_object_iter_peek_name(&it),
		    json_object_get(json_object_iter_peek_value(&it)));
	return all;
}

enum err session_make(struct request *rq, struct link *l, const char *id,
		      const char *cwd, struct json_object *env,
		      struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(KEEPER_PAYLOAD_MAX);
	struct json_object *all = session_env(rq, env);
	char **list = NULL;
	uint32_t n = 0;
	enum err r = json_in_env_nulls(all, &list, &n, e);

	json_object_put(all);
	if (r != ERR_NONE)
		return r;
	wire_str(&b, id);
	wire_str(&b, cwd);
	wire_u32(&b, n);
	for (uint32_t i = 0; i < n; i++)
		wire_str(&b, list[i]);
	json_in_env_free(list, n);
	return link_call(l, KM_SESSION_NEW, &b, NULL, e);
}

/* With the settings that are stored for that id, if there are any. */
static enum err session_remake(struct request *rq, struct link *l,
			       const char *id, struct errinfo *e)
{
	OWN(node_session_free) struct node_session row = {.timeout_ms = 0};
	struct json_object *env = NULL;
	enum err r = route_unpark(rq, e);

	if (r == ERR_NONE)
		r = node_session_get(rq->store, rq->sandbox.id, id, &row, e);
	if (r != ERR_NONE && r != ERR_NOT_FOUND)
		return r;
	if (row.env != NULL)
		env = json_tokener_parse(row.env);
	r = session_make(rq, l, id, row.cwd != NULL ? row.cwd : "", env, e);
	json_object_put(env);
	return r == ERR_EXISTS ? ERR_NONE : r;
}

static enum err session_try(struct request *rq, struct link *l,
			    const struct keeper_start *s, uint32_t *pid,
			    struct errinfo *e)
{
	enum err r;

	route_park(rq);
	l->patient = true;
	r = link_start(l, s, NULL, 0, pid, e);
	l->patient = false;
	return r;
}

enum err session_start(struct request *rq, struct link *l,
		       struct keeper_start *s, uint32_t *pid, struct errinfo *e)
{
	enum err r;

	s->flags |= KF_SESSION_HAVE;
	r = session_try(rq, l, s, pid, e);
	if (r == ERR_NOT_FOUND && strcmp(e->text, "session") == 0) {
		r = session_remake(rq, l, s->session, e);
		if (r == ERR_NONE)
			r = session_try(rq, l, s, pid, e);
	}
	if (r != ERR_STATE)
		return r;
	err_http_text(rq, "sessionId", s->session);
	if (strcmp(e->text, "session") == 0)
		return err_http_fail(rq, e, HTTP_SESSION_DESTROYED,
				     "Session %s was deleted", s->session);
	return err_http_fail(rq, e, HTTP_OPERATION_INTERRUPTED,
			     "It was killed before its turn came");
}

enum err session_timeout(struct request *rq, const char *id, int64_t *ms,
			 struct errinfo *e)
{
	OWN(node_session_free) struct node_session row = {.timeout_ms = 0};
	enum err r = node_session_get(rq->store, rq->sandbox.id, id, &row, e);

	*ms = row.timeout_ms;
	return r == ERR_NOT_FOUND ? ERR_NONE : r;
}

/* ---- what it is like ---- */

enum err session_get(struct link *l, const char *id, struct keeper_session *out,
		     struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);
	struct wire_msg *m = NULL;
	enum err r;

	wire_str(&b, id);
	r = link_call(l, KM_SESSION_GET, &b, &m, e);
	if (r != ERR_NONE)
		return r;
	r = keeper_get_session(m, out, e);
	return r == ERR_PEER ? err_set(e, ERR_GONE, 0, "keeper's SESSION") : r;
}

enum err session_each(struct link *l,
		      enum err (*each)(void *ctx,
				       const struct keeper_session *s,
				       struct errinfo *e),
		      void *ctx, struct errinfo *e)
{
	int64_t deadline = clock_mono_ms() + LINK_CALL_MS;
	uint32_t tag = ++l->tag;
	enum err r = wire_send(l->fd, KM_SESSION_LIST, tag, NULL, deadline, e);

	while (r == ERR_NONE) {
		struct keeper_session s;
		struct wire_msg *m = NULL;

		r = wire_recv(&l->rx, l->fd, -1, deadline, &m, e);
		if (r != ERR_NONE || (m->type == KM_OK && m->tag == tag))
			break;
		r = keeper_get_session(m, &s, e);
		if (r == ERR_NONE)
			r = each(ctx, &s, e);
	}
	if (r == ERR_PEER)
		return err_set(e, ERR_GONE, 0, "keeper ended");
	return r;
}

enum err session_path(struct link *l, const char *id, const char *path,
		      struct buf *out, struct errinfo *e)
{
	struct keeper_session s = {.cwd = LAUNCH_CWD};
	enum err r = ERR_NONE;

	if (path[0] != '/' && id[0] != '\0')
		r = session_get(l, id, &s, e);
	if (r != ERR_NONE && r != ERR_NOT_FOUND)
		return r;
	if (path[0] != '/')
		buf_addf(out, "%s/", strcmp(s.cwd, "/") == 0 ? "" : s.cwd);
	buf_adds(out, path);
	return buf_ok(out) ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "path");
}

enum err session_end(struct link *l, const char *id, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);

	wire_str(&b, id);
	wire_u32(&b, END_GRACE_MS);
	return link_call(l, KM_SESSION_END, &b, NULL, e);
}

bool session_compat(const struct request *rq)
{
	const char *want = route_header(rq, "HTTP_X_WARREN_COMPAT");

	return want != NULL && strcmp(want, "0.12") == 0;
}

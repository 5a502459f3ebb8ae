/* Links to one file, for who has no key: made, listed, revoked, followed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/body.h"
#include "fcgi/file_body.h"
#include "fcgi/signed_link.h"
#include "fcgi/until.h"
#include "store/ctl_link.h"

#define TTL_DEFAULT_MS (INT64_C(3600) * 1000)
#define TTL_MAX_MS (INT64_C(30) * 86400 * 1000)
#define LIST_MAX (CTL_LINKS_MAX * (6 * FS_CALL_PATH_MAX + 1024))

struct link_in {
	const char *path;
	const char *method;
	const char *ttl;
	const char *expires;
	bool download;
};

#define AT(member) offsetof(struct link_in, member)

static const struct json_field link_fields[] = {
    FILE_PATH_FIELD("path", AT(path)),
    {"method", NULL, JSON_TEXT, AT(method), false, 1, 16},
    {"ttl", NULL, JSON_TEXT, AT(ttl), false, 1, 32},
    {"expiresAt", NULL, JSON_TEXT, AT(expires), false, 1, 40},
    {"download", NULL, JSON_BOOL, AT(download), false, 0, 0},
    FILE_SESSION_FIELD,
};

/* Where the caller reached us. */
static void link_url(struct request *rq, struct json_out *o, const char *token)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);

	route_origin(rq, "http", &b);
	buf_addf(&b, "/v1/links/%s", token);
	json_out_text(o, "url", buf_str(&b));
}

static void link_put(struct json_out *o, const struct ctl_link *l)
{
	json_out_text(o, "id", l->id);
	json_out_text(o, "method", l->method);
	json_out_text(o, "path", l->path); /* or port and user, or terminal */
	json_out_bool(o, "download", l->download);
	json_out_time(o, "createdAt", l->created_ms);
	json_out_time(o, "expiresAt", l->expires_ms);
}

/* For the link's whole life the path means what it means now. */
static enum err link_path(struct request *rq, const char *given, char **out,
			  struct errinfo *e)
{
	OWN(link_close) struct link live = LINK_INIT;
	OWN(buf_free) struct buf b = BUF_INIT(2 * FS_CALL_PATH_MAX);
	enum err r = link_open(rq, LINK_LIVE, &live, e);
	bool runs = r == ERR_NONE;

	if (r != ERR_NONE && r != ERR_GONE)
		return r;
	r = fs_call_full(rq, runs ? &live : NULL, given, &b, e);
	if (r != ERR_NONE)
		return r;
	if (b.len > FS_CALL_PATH_MAX)
		return err_http_field(rq, e, "path", "is too long");
	*out = strdup(buf_str(&b));
	return *out != NULL ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "link");
}

static enum err link_read(struct request *rq, struct ctl_link *l,
			  struct errinfo *e)
{
	struct link_in in = {.method = "GET"};
	enum err r = body_json(rq, link_fields, JSON_COUNT(link_fields), &in,
			       e);
	bool writes = in.method != NULL && strcmp(in.method, "PUT") == 0;

	if (r == ERR_NONE)
		r = until_read(rq,
			       &(struct until){in.ttl, in.expires,
					       TTL_DEFAULT_MS, TTL_MAX_MS},
			       &l->expires_ms, e);
	if (r != ERR_NONE)
		return r;
	if (!writes && strcmp(in.method, "GET") != 0)
		return err_http_field(rq, e, "method", "must be GET or PUT");
	/* Nobody gives away what he may not do himself. */
	if (writes && rq->auth.scope < KEY_EXEC)
		return err_http_fail(rq, e, HTTP_FORBIDDEN,
				     "This API key may not write");
	snprintf(l->method, sizeof(l->method), "%s", in.method);
	l->download = in.download;
	return link_path(rq, in.path, &l->path, e);
}

enum err file_link_create(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;
	OWN(ctl_link_free) struct ctl_link l = {.path = NULL};
	char token[CTL_LINK_LEN + 1];
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	file_body_op(rq, "link.create");
	r = link_read(rq, &l, e);
	if (r != ERR_NONE)
		return r;
	r = signed_link_add(rq, &l, token, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	link_url(rq, &o, token);
	link_put(&o, &l);
	json_out_end(&o);
	return answer_json(rq, 201, &o, e);
}

enum err file_link_list(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;
	OWN(ctl_link_list_free) struct ctl_link_list all = {.n = 0};
	enum err r = link_find(rq, e);

	json_out_init(&o, LIST_MAX);
	if (r == ERR_NONE)
		r = ctl_link_list(rq->store, rq->auth.tenant, rq->sandbox.id,
				  &all, e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_array(&o, "links");
	for (size_t i = 0; i < all.n; i++) {
		json_out_object(&o, NULL);
		link_put(&o, &all.rows[i]);
		json_out_end(&o);
	}
	json_out_end(&o);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

/* The same for one that never was, is over, or is for something else. */
static enum err link_unknown(struct request *rq, struct errinfo *e)
{
	return err_http_fail(rq, e, HTTP_LINK_NOT_FOUND,
			     "This link does not exist, or not any more");
}

enum err file_link_delete(struct request *rq, struct errinfo *e)
{
	enum err r = link_find(rq, e);

	if (r == ERR_NONE)
		r = ctl_link_remove(rq->store, rq->auth.tenant, rq->sandbox.id,
				    route_param(rq, "id"), e);
	if (r == ERR_NOT_FOUND && rq->sandbox.id[0] != '\0')
		return link_unknown(rq, e);
	if (r == ERR_NONE)
		answer_empty(rq, 204);
	return r;
}

/* ---- following one ---- */

/* From here on it is the request of the key that made it, for this file. */
static enum err link_follow(struct request *rq, const char *method,
			    struct errinfo *e)
{
	OWN(ctl_link_free) struct ctl_link l = {.path = NULL};
	enum err r = route_unpark(rq, e);

	if (r == ERR_NONE)
		r = ctl_link_use(rq->store, route_param(rq, "token"), &l, e);
	if (r == ERR_NOT_FOUND ||
	    (r == ERR_NONE && strcmp(l.method, method) != 0))
		return link_unknown(rq, e);
	if (r != ERR_NONE)
		return r;
	rq->auth = l.auth;
	rq->attach = l.download;
	answer_header(rq, "Referrer-Policy", "no-referrer");
	r = route_param_add(rq, "sandbox", l.sandbox, e);
	return r == ERR_NONE ? route_param_add(rq, "path", l.path, e) : r;
}

enum err file_link_get(struct request *rq, struct errinfo *e)
{
	enum err r = link_follow(rq, "GET", e);

	return r == ERR_NONE ? file_raw_get(rq, e) : r;
}

enum err file_link_put(struct request *rq, struct errinfo *e)
{
	/* It was made for a whole file, and for nothing else. */
	static const char *const none[] = {NULL};
	enum err r = link_follow(rq, "PUT", e);

	if (r == ERR_NONE)
		r = route_query_only(rq, none, e);
	return r == ERR_NONE ? file_raw_put(rq, e) : r;
}

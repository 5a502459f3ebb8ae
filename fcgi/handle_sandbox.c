/* Sandboxes: list, create, one, delete. */
#include <string.h>

#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/life.h"
#include "fcgi/retry.h"
#include "fcgi/sandbox_link.h"
#include "fcgi/sandbox_row.h"
#include "store/ctl_audit.h"

#define LIST_JSON_MAX (64U * MIB)

void sandbox_audit(struct request *rq, const char *action, const char *target,
		   const char *name)
{
	struct ctl_audit a = {.tenant = rq->auth.tenant,
			      .actor = rq->auth.prefix,
			      .action = action,
			      .target = target,
			      .name = name};
	struct errinfo e;

	if (ctl_audit_add(rq->store, &a, &e) != ERR_NONE)
		log_err("audit", &e);
}

/* ---- list and get ---- */

static enum err list_filter(struct request *rq, struct ctl_sandbox_filter *f,
			    char text[3][512], struct errinfo *e)
{
	int64_t limit = 100;
	char *value;
	enum err r = route_query_int(rq, "limit", 1, CTL_SANDBOX_PAGE_MAX,
				     &limit, e);

	if (r != ERR_NONE)
		return r;
	f->limit = (uint32_t)limit;
	if (route_query(rq, "after", text[0], sizeof(text[0])))
		f->after = text[0];
	if (route_query(rq, "label", text[1], sizeof(text[1]))) {
		f->label_key = text[1];
		value = strchr(text[1], '=');
		if (value != NULL) {
			*value = '\0';
			f->label_value = value + 1;
		}
	}
	if (!route_query(rq, "state", text[2], sizeof(text[2])))
		return ERR_NONE;
	f->state = ctl_sandbox_state(text[2]);
	if (f->state == SANDBOX_NONE || f->state == SANDBOX_DELETING)
		return err_http_field(rq, e, "state",
				      "is not a sandbox' state");
	return ERR_NONE;
}

enum err sandbox_list(struct request *rq, struct errinfo *e)
{
	OWN(ctl_sandbox_list_free) struct ctl_sandbox_list rows = {0};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(LIST_JSON_MAX);
	struct ctl_sandbox_filter filter = {0};
	char text[3][512];
	enum err r = list_filter(rq, &filter, text, e);

	if (r == ERR_NONE)
		r = ctl_sandbox_list(rq->store, rq->auth.tenant, &filter, &rows,
				     e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_array(&o, "sandboxes");
	for (size_t i = 0; i < rows.n; i++)
		sandbox_row_put(rq, &o, NULL, &rows.rows[i]);
	json_out_end(&o);
	if (rows.more && rows.n > 0)
		json_out_text(&o, "next", rows.rows[rows.n - 1].name);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

enum err sandbox_get(struct request *rq, struct errinfo *e)
{
	enum err r = link_find(rq, e);

	return r == ERR_NONE ? sandbox_row_answer(rq, 200, e) : r;
}

/* ---- delete ---- */

enum err sandbox_delete(struct request *rq, struct errinfo *e)
{
	const char *name = route_param(rq, "sandbox");
	id_sandbox_t id;
	enum err r = link_find(rq, e);

	if (r == ERR_NONE) {
		name = rq->sandbox.name;
		life_close_ports(rq, rq->sandbox.id);
	} else if (r != ERR_NOT_FOUND || id_sandbox_ok(name)) {
		return r;
	}
	/* Also takes up a deletion that broke off. */
	r = ctl_sandbox_deleting(rq->store, rq->auth.tenant, name, id, e);
	if (r == ERR_NOT_FOUND) {
		err_http_text(rq, "sandbox", name);
		return err_http_fail(rq, e, HTTP_SANDBOX_NOT_FOUND,
				     "Sandbox not found");
	}
	if (r == ERR_NONE)
		r = life_destroy(rq, id, name, e);
	if (r != ERR_NONE)
		return r;
	answer_empty(rq, 204);
	return ERR_NONE;
}

/* ---- create ---- */

/* One that was just made and does not start must not stay. */
static void sandbox_unmake(struct request *rq)
{
	struct errinfo e;
	id_sandbox_t id;
	enum err r = ctl_sandbox_deleting(rq->store, rq->auth.tenant,
					  rq->sandbox.name, id, &e);

	if (r == ERR_NONE)
		r = life_destroy(rq, id, rq->sandbox.name, &e);
	if (r != ERR_NONE && r != ERR_NOT_FOUND)
		log_err("unmake a sandbox", &e);
}

enum err sandbox_create(struct request *rq, struct errinfo *e)
{
	OWN(link_close) struct link l = LINK_INIT;
	OWN(retry_free) struct retry again = RETRY_INIT;
	struct sandbox_want want;
	bool made;
	enum err r = sandbox_row_want(rq, &want, e);

	/* A retry finds it by its name; the key only tells requests apart. */
	if (r == ERR_NONE)
		r = retry_begin(rq, rq->auth.tenant, &again, e);
	if (r != ERR_NONE)
		return r;
	want.spec.actor = rq->auth.prefix;
	r = link_reserve(rq, &want.spec, &made, e);
	if (r != ERR_NONE)
		return r;
	if (!made && !sandbox_row_same(&want, &rq->sandbox)) {
		err_http_text(rq, "sandbox", want.name);
		return err_http_fail(rq, e, HTTP_SANDBOX_ALREADY_EXISTS,
				     "There is a sandbox of that name with "
				     "other settings");
	}
	if (!made)
		return sandbox_row_answer(rq, 200, e);
	r = link_open(rq, LINK_CREATE, &l, e);
	if (r != ERR_NONE) {
		struct failure keep = rq->failure;

		sandbox_unmake(rq);
		rq->failure = keep;
		return r;
	}
	return sandbox_row_answer(rq, 201, e);
}

/* Backups that there are: listed, told, deleted. */
#include <string.h>

#include "base/log.h"
#include "base/own.h"
#include "fcgi/answer.h"
#include "fcgi/backup_body.h"
#include "fcgi/backup_sweep.h"
#include "fcgi/sandbox_link.h"
#include "fcgi/sandbox_row.h"

#define PAGE_DEFAULT 100

static enum err list_page(struct request *rq, const char *sandbox,
			  struct ctl_backup_list *l, struct errinfo *e)
{
	char after[CTL_BACKUP_ID_LEN + 1] = "";
	int64_t limit = PAGE_DEFAULT;
	enum err r = route_query_int(rq, "limit", 1, CTL_BACKUP_PAGE_MAX,
				     &limit, e);

	if (r != ERR_NONE)
		return r;
	if (route_query_has(rq, "after") &&
	    (!route_query(rq, "after", after, sizeof(after)) ||
	     !ctl_backup_id_ok(after)))
		return err_http_field(rq, e, "after",
				      "must be the id of a backup");
	return ctl_backup_list(rq->store, rq->auth.tenant, sandbox, after,
			       limit, l, e);
}

static enum err list_answer(struct request *rq, const char *sandbox,
			    struct errinfo *e)
{
	OWN(ctl_backup_list_free) struct ctl_backup_list l = {.n = 0};
	OWN(json_out_free)
	struct json_out o = JSON_OUT_INIT(CTL_BACKUP_PAGE_MAX *
					  BACKUP_JSON_MAX);
	int64_t used, most;
	enum err r = list_page(rq, sandbox, &l, e);

	if (r == ERR_NONE)
		r = ctl_backup_room(rq->store, rq->auth.tenant, &used, &most,
				    e);
	if (r != ERR_NONE)
		return r;
	json_out_object(&o, NULL);
	json_out_array(&o, "backups");
	for (size_t i = 0; i < l.n; i++) {
		json_out_object(&o, NULL);
		backup_body_put(&o, &l.rows[i]);
		json_out_end(&o);
	}
	json_out_end(&o);
	if (l.more)
		json_out_text(&o, "next", l.rows[l.n - 1].id);
	json_out_int(&o, "usedBytes", used);
	json_out_int(&o, "limitBytes", most);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

enum err backup_list(struct request *rq, struct errinfo *e)
{
	char sandbox[ID_MAX + 1] = "";

	if (route_query_has(rq, "sandbox") &&
	    (!route_query(rq, "sandbox", sandbox, sizeof(sandbox)) ||
	     sandbox[0] == '\0'))
		return err_http_field(rq, e, "sandbox",
				      "must be the name or id of a sandbox");
	return list_answer(rq, sandbox, e);
}

enum err backup_list_of(struct request *rq, struct errinfo *e)
{
	enum err r = link_find(rq, e);

	return r == ERR_NONE ? list_answer(rq, rq->sandbox.id, e) : r;
}

static enum err find_one(struct request *rq, struct ctl_backup *b,
			 struct errinfo *e)
{
	const char *id = route_param(rq, "id");
	enum err r = ERR_NOT_FOUND;

	if (ctl_backup_id_ok(id))
		r = ctl_backup_get(rq->store, rq->auth.tenant, id, b, e);
	return r == ERR_NOT_FOUND ? backup_body_none(rq, id, e) : r;
}

enum err backup_get(struct request *rq, struct errinfo *e)
{
	OWN(ctl_backup_free) struct ctl_backup b = {.id = ""};
	OWN(json_out_free) struct json_out o = JSON_OUT_INIT(BACKUP_JSON_MAX);
	enum err r = find_one(rq, &b, e);

	if (r != ERR_NONE)
		return r;
	if (b.state == BACKUP_EXPIRED)
		return backup_body_none(rq, b.id, e);
	json_out_object(&o, NULL);
	backup_body_put(&o, &b);
	json_out_end(&o);
	return answer_json(rq, 200, &o, e);
}

/* What cannot be removed just now is by the sweep. */
enum err backup_delete(struct request *rq, struct errinfo *e)
{
	OWN(ctl_backup_free) struct ctl_backup b = {.id = ""};
	struct errinfo why;
	enum err r = find_one(rq, &b, e);

	if (r != ERR_NONE)
		return r;
	r = ctl_backup_deleting(rq->store, rq->auth.tenant, b.id, e);
	if (r == ERR_NOT_FOUND)
		return backup_body_none(rq, b.id, e);
	if (r != ERR_NONE)
		return r;
	sandbox_audit(rq, "backup.delete", b.id, b.name);
	b.state = BACKUP_DELETING;
	if (!b.remote && backup_sweep_one(rq->worker->data_dir, rq->store, &b,
					  &why) != ERR_NONE)
		log_err("remove a backup", &why);
	answer_empty(rq, 204);
	return ERR_NONE;
}

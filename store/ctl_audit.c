#include "store/ctl_audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "store/stmt.h"

#define AUDIT_TEXT_MAX 1024

enum err ctl_audit_add(struct store_conn *c, const struct ctl_audit *a,
		       struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	id_text_t id;
	enum err r = stmt_use(c, STMT_AUDIT_ADD, &q, e);

	if (r != ERR_NONE)
		return r;
	id_uuid(id);
	stmt_text(&q, ":id", id);
	stmt_int(&q, ":now", clock_unix_ms());
	stmt_text(&q, ":tenant", a->tenant);
	stmt_cut(&q, ":actor", a->actor, AUDIT_TEXT_MAX);
	stmt_cut(&q, ":action", a->action, AUDIT_TEXT_MAX);
	stmt_cut(&q, ":target", a->target, AUDIT_TEXT_MAX);
	stmt_cut(&q, ":name", a->name, AUDIT_TEXT_MAX);
	return stmt_run(&q, NULL, e);
}

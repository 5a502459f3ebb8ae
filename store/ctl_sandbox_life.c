/* The moves of a sandbox's row from creating to gone. */
#include <string.h>

#include "base/clock.h"
#include "store/ctl_sandbox.h"
#include "store/log_chunk.h"
#include "store/node.h"
#include "store/stmt.h"

#define SANDBOX_TOUCH_MS 10000

#define BIT(s) (1U << SANDBOX_##s)

/* Where one may go from each state; deleting has its own function. */
static const unsigned sandbox_moves[] = {
    [SANDBOX_NONE] = 0,
    [SANDBOX_CREATING] = BIT(RUNNING) | BIT(FAILED),
    [SANDBOX_RUNNING] = BIT(SLEEPING) | BIT(STOPPED) | BIT(FAILED),
    [SANDBOX_SLEEPING] = BIT(RUNNING) | BIT(STOPPED) | BIT(FAILED),
    [SANDBOX_STOPPED] = BIT(RUNNING) | BIT(FAILED),
    [SANDBOX_FAILED] = BIT(RUNNING) | BIT(STOPPED),
    [SANDBOX_DELETING] = 0,
};

enum err ctl_sandbox_confirm(struct store_conn *c, const char *id,
			     struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t n;
	enum err r = stmt_use(c, STMT_SANDBOX_CONFIRM, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", id);
	stmt_int(&q, ":now", clock_unix_ms());
	r = stmt_run(&q, &n, e);
	if (r == ERR_NONE && n == 0)
		return err_set(e, ERR_NOT_FOUND, 0, "deleted meanwhile");
	return r;
}

enum err ctl_sandbox_move(struct store_conn *c, const char *id,
			  enum sandbox_state from, enum sandbox_state to,
			  struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t n;
	enum err r;

	if ((sandbox_moves[from] & (1U << to)) == 0)
		return err_set(e, ERR_STATE, 0, "no way from %s to %s",
			       ctl_sandbox_state_name(from),
			       ctl_sandbox_state_name(to));
	r = stmt_use(c, STMT_SANDBOX_MOVE, &q, e);
	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", id);
	stmt_text(&q, ":from", ctl_sandbox_state_name(from));
	stmt_text(&q, ":to", ctl_sandbox_state_name(to));
	r = stmt_run(&q, &n, e);
	if (r == ERR_NONE && n == 0)
		return err_set(e, ERR_STATE, 0, "it is not %s any more",
			       ctl_sandbox_state_name(from));
	return r;
}

enum err ctl_sandbox_touch(struct store_conn *c, struct ctl_sandbox *s,
			   struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	int64_t now = clock_unix_ms();
	enum err r;

	if (now - s->last_active_ms < SANDBOX_TOUCH_MS)
		return ERR_NONE;
	r = stmt_use(c, STMT_SANDBOX_TOUCH, &q, e);
	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", s->id);
	stmt_int(&q, ":now", now);
	r = stmt_run(&q, NULL, e);
	if (r == ERR_NONE)
		s->last_active_ms = now;
	return r;
}

enum err ctl_sandbox_deleting(struct store_conn *c, const char *tenant,
			      const char *name, id_sandbox_t id,
			      struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	id_sandbox_t found;
	bool row;
	enum err r = stmt_use(c, STMT_SANDBOX_DELETING, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":name", name);
	r = stmt_row(&q, e);
	if (r == ERR_NOT_FOUND)
		return err_set(e, r, 0, "no such sandbox");
	if (r != ERR_NONE)
		return r;
	stmt_col_copy(&q, 0, found, sizeof(found));
	r = stmt_step(&q, &row, e);
	if (r == ERR_NONE)
		memcpy(id, found, sizeof(found));
	return r;
}

static enum err sandbox_remove_row(struct store_conn *c, const char *id,
				   struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_SANDBOX_REMOVE, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", id);
	return stmt_run(&q, NULL, e);
}

/* The row goes last: a crash before leaves something to finish. */
enum err ctl_sandbox_remove(struct store_conn *c, const char *id,
			    struct errinfo *e)
{
	enum err r = node_forget(c, id, e);

	if (r == ERR_NONE)
		r = log_chunk_remove(c, id, NULL, e);
	if (r == ERR_NONE)
		r = sandbox_remove_row(c, id, e);
	return r;
}

enum err ctl_sandbox_exists(struct store_conn *c, const char *id, bool *exists,
			    struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_SANDBOX_EXISTS, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", id);
	return stmt_step(&q, exists, e);
}

enum err ctl_sandbox_owner(struct store_conn *c, const char *id,
			   ctl_tenant_id_t tenant, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_SANDBOX_OWNER, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", id);
	r = stmt_row(&q, e);
	if (r == ERR_NONE)
		stmt_col_copy(&q, 0, tenant, CTL_TENANT_ID_LEN + 1);
	return r;
}

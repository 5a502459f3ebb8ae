/* The moves of a sandbox's row from creating to gone. */
#include <string.h>

#include "base/clock.h"
#include "store/ctl_sandbox.h"
#include "store/log_chunk.h"
#include "store/node.h"
#include "store/stmt.h"

#define SANDBOX_TOUCH_MS 10000
#define DELETE_AGAIN_MS 60000

#define BIT(s) (1U << SANDBOX_##s)

/* Where one may go from each state; deleting has its own function. */
static const unsigned sandbox_moves[] = {
    [SANDBOX_NONE] = 0,
    [SANDBOX_CREATING] = BIT(RUNNING) | BIT(FAILED),
    [SANDBOX_RUNNING] = BIT(SLEEPING) | BIT(STOPPED) | BIT(FAILED),
    [SANDBOX_SLEEPING] = BIT(RUNNING) | BIT(STOPPED) | BIT(FAILED),
    [SANDBOX_STOPPED] = BIT(RUNNING) | BIT(SLEEPING) | BIT(FAILED),
    [SANDBOX_FAILED] = BIT(RUNNING) | BIT(SLEEPING) | BIT(STOPPED),
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

enum err ctl_sandbox_used(struct store_conn *c, struct ctl_sandbox *s,
			  int64_t at_ms, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r;

	if (at_ms <= s->last_active_ms)
		return ERR_NONE;
	r = stmt_use(c, STMT_SANDBOX_TOUCH, &q, e);
	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", s->id);
	stmt_int(&q, ":now", at_ms);
	r = stmt_run(&q, NULL, e);
	if (r == ERR_NONE)
		s->last_active_ms = at_ms;
	return r;
}

/* The keeper knows the rest, as long as it lives. */
enum err ctl_sandbox_touch(struct store_conn *c, struct ctl_sandbox *s,
			   struct errinfo *e)
{
	int64_t now = clock_unix_ms();

	if (now - s->last_active_ms < SANDBOX_TOUCH_MS)
		return ERR_NONE;
	return ctl_sandbox_used(c, s, now, e);
}

static int64_t life_sooner(int64_t after_ms, bool holds, int64_t than_ms)
{
	return holds && after_ms > 0 && (than_ms == 0 || after_ms < than_ms)
		   ? after_ms
		   : than_ms;
}

/* Expression LIFE_DUE of stmt.def says the same. */
int64_t ctl_life_due(const struct ctl_life *life, enum sandbox_state state,
		     int64_t active_ms)
{
	bool awake = state == SANDBOX_RUNNING;
	int64_t after_ms = 0;

	if (life->keep_alive)
		return 0;
	after_ms = life_sooner(life->sleep_after_ms, awake, after_ms);
	after_ms = life_sooner(life->stop_after_ms,
			       awake || state == SANDBOX_SLEEPING, after_ms);
	after_ms = life_sooner(life->delete_after_ms, true, after_ms);
	return after_ms > 0 ? active_ms + after_ms : 0;
}

static enum err life_set(struct store_conn *c, const char *tenant,
			 const char *id, const struct ctl_life_change *change,
			 const char *labels, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t n;
	enum err r = stmt_use(c, STMT_SANDBOX_SET, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":id", id);
	stmt_int(&q, ":sleep_after_ms", change->sleep_after_ms);
	stmt_int(&q, ":keep_alive", change->keep_alive);
	stmt_int(&q, ":stop_after_ms", change->stop_after_ms);
	stmt_int(&q, ":delete_after_ms", change->delete_after_ms);
	stmt_text(&q, ":labels", labels);
	r = stmt_run(&q, &n, e);
	if (r == ERR_NONE && n == 0)
		return err_set(e, ERR_NOT_FOUND, 0, "no such sandbox");
	return r;
}

static enum err life_arm(struct store_conn *c, const char *tenant,
			 const char *id, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_SANDBOX_ARM, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":id", id);
	return stmt_run(&q, NULL, e);
}

enum err ctl_sandbox_set(struct store_conn *c, const char *tenant,
			 const char *id, const struct ctl_life_change *change,
			 const char *labels, struct errinfo *e)
{
	OWN(tx_end) struct tx t = TX_INIT;
	enum err r = tx_begin(&t, c, STORE_CTL, e);

	if (r == ERR_NONE)
		r = life_set(c, tenant, id, change, labels, e);
	if (r == ERR_NONE)
		r = life_arm(c, tenant, id, e);
	return r == ERR_NONE ? tx_commit(&t, e) : r;
}

enum err ctl_sandbox_later(struct store_conn *c, const char *id, int64_t at_ms,
			   struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_SANDBOX_LATER, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", id);
	stmt_int(&q, ":at", at_ms);
	return stmt_run(&q, NULL, e);
}

enum err ctl_sandbox_expire(struct store_conn *c, const char *id,
			    int64_t now_ms, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	uint64_t n;
	enum err r = stmt_use(c, STMT_SANDBOX_EXPIRE, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", id);
	stmt_int(&q, ":now", now_ms);
	stmt_int(&q, ":again", now_ms + DELETE_AGAIN_MS);
	r = stmt_run(&q, &n, e);
	if (r == ERR_NONE && n == 0)
		return err_set(e, ERR_STATE, 0, "not due any more");
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
	stmt_int(&q, ":again", clock_unix_ms() + DELETE_AGAIN_MS);
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

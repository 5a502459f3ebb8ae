#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/ctl_audit.h"
#include "store/ctl_sandbox.h"
#include "store/limit_row.h"
#include "store/stmt.h"

static const char *const state_names[] = {"",
#define X(name, text) text,
					  SANDBOX_STATES(X)
#undef X
};

#define STATE_COUNT (sizeof(state_names) / sizeof(state_names[0]))

const char *ctl_sandbox_state_name(enum sandbox_state s)
{
	return (size_t)s < STATE_COUNT ? state_names[s] : "";
}

enum sandbox_state ctl_sandbox_state(const char *text)
{
	for (size_t i = 1; i < STATE_COUNT; i++)
		if (strcmp(text, state_names[i]) == 0)
			return (enum sandbox_state)i;
	return SANDBOX_NONE;
}

void ctl_sandbox_free(struct ctl_sandbox *s)
{
	free(s->labels);
	free(s->env);
	s->labels = s->env = NULL;
}

/* SANDBOX_LIMIT_COLS: those of the sandbox, its tenant, its plan. */
static void sandbox_row_limits(struct stmt *q, struct ctl_limits *limits,
			       struct ctl_net *net)
{
	struct ctl_limits own, tenant, most;
	struct ctl_net own_net, tenant_net, most_net;

	limit_row_read(q, 0, &own, &own_net);
	limit_row_read(q, LIMIT_ROW_COLS, &tenant, &tenant_net);
	limit_row_read(q, 2 * LIMIT_ROW_COLS, &most, &most_net);
	ctl_limits_over(&tenant, &most, &most);
	ctl_limits_within(&own, &most, limits);
	if (net == NULL)
		return;
	ctl_net_over(&tenant_net, &most_net, &most_net);
	ctl_net_within(&own_net, &most_net, net);
}

static enum err sandbox_row(struct stmt *q, struct ctl_sandbox *out,
			    struct errinfo *e)
{
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	const int i = 3 * LIMIT_ROW_COLS;
	enum err r;

	sandbox_row_limits(q, &s.limits, &s.net);
	stmt_col_copy(q, i, s.id, sizeof(s.id));
	stmt_col_copy(q, i + 1, s.name, sizeof(s.name));
	s.state = ctl_sandbox_state(stmt_col_text(q, i + 2));
	stmt_col_copy(q, i + 3, s.image, sizeof(s.image));
	stmt_col_copy(q, i + 4, s.user, sizeof(s.user));
	s.labels = stmt_col_dup(q, i + 5);
	s.env = stmt_col_dup(q, i + 6);
	s.life.sleep_after_ms = stmt_col_int(q, i + 7);
	s.life.keep_alive = stmt_col_int(q, i + 8) != 0;
	s.life.stop_after_ms = stmt_col_int(q, i + 9);
	s.life.delete_after_ms = stmt_col_int(q, i + 10);
	s.expires_ms = stmt_col_int(q, i + 11);
	s.created_ms = stmt_col_int(q, i + 12);
	s.last_active_ms = stmt_col_int(q, i + 13);
	r = stmt_copied(q, e);
	if (r != ERR_NONE)
		return r;
	*out = s;
	s.labels = s.env = NULL;
	return ERR_NONE;
}

enum err ctl_sandbox_limits(struct store_conn *c, const char *id,
			    struct ctl_limits *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_SANDBOX_LIMITS, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":id", id);
	r = stmt_row(&q, e);
	if (r == ERR_NONE)
		sandbox_row_limits(&q, out, NULL);
	return r;
}

/* By name or id; one that is being deleted is in ${out} too. */
static enum err sandbox_any(struct store_conn *c, enum stmt_id id,
			    const char *tenant, const char *key,
			    struct ctl_sandbox *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, id, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, id == STMT_SANDBOX_FIND ? ":name" : ":id", key);
	r = stmt_row(&q, e);
	if (r == ERR_NOT_FOUND)
		return err_set(e, r, 0, "no such sandbox");
	return r == ERR_NONE ? sandbox_row(&q, out, e) : r;
}

static enum err sandbox_one(struct store_conn *c, enum stmt_id id,
			    const char *tenant, const char *key,
			    struct ctl_sandbox *out, struct errinfo *e)
{
	struct ctl_sandbox s;
	enum err r = sandbox_any(c, id, tenant, key, &s, e);

	if (r != ERR_NONE)
		return r;
	if (s.state == SANDBOX_DELETING) {
		ctl_sandbox_free(&s);
		return err_set(e, ERR_NOT_FOUND, 0, "no such sandbox");
	}
	*out = s;
	return ERR_NONE;
}

enum err ctl_sandbox_find(struct store_conn *c, const char *tenant,
			  const char *name, struct ctl_sandbox *out,
			  struct errinfo *e)
{
	return sandbox_one(c, STMT_SANDBOX_FIND, tenant, name, out, e);
}

enum err ctl_sandbox_get(struct store_conn *c, const char *tenant,
			 const char *id, struct ctl_sandbox *out,
			 struct errinfo *e)
{
	return sandbox_one(c, STMT_SANDBOX_GET, tenant, id, out, e);
}

static bool sandbox_fits(const char *s, size_t max)
{
	return strnlen(s != NULL ? s : "", max + 1) <= max;
}

static enum err sandbox_spec_ok(const struct ctl_sandbox_spec *s,
				struct errinfo *e)
{
	if (s->name[0] == '\0' || !sandbox_fits(s->name, CTL_SANDBOX_NAME_MAX))
		return err_set(e, ERR_ARG, 0, "name");
	if (!sandbox_fits(s->image, CTL_SANDBOX_IMAGE_MAX))
		return err_set(e, ERR_ARG, 0, "image");
	if (!sandbox_fits(s->user, CTL_SANDBOX_USER_MAX))
		return err_set(e, ERR_ARG, 0, "user");
	if (!sandbox_fits(s->labels, CTL_SANDBOX_LABELS_MAX))
		return err_set(e, ERR_ARG, 0, "labels");
	if (!sandbox_fits(s->env, CTL_SANDBOX_ENV_MAX))
		return err_set(e, ERR_ARG, 0, "env");
	return ERR_NONE;
}

static enum err sandbox_add(struct store_conn *c, const char *tenant,
			    const struct ctl_sandbox_spec *s, bool *made,
			    struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	int64_t now = clock_unix_ms();
	id_sandbox_t id;
	uint64_t n;
	enum err r = stmt_use(c, STMT_SANDBOX_ADD, &q, e);

	if (r != ERR_NONE)
		return r;
	id_sandbox(id);
	stmt_text(&q, ":id", id);
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":name", s->name);
	stmt_text(&q, ":image", s->image);
	stmt_text(&q, ":user", s->user);
	stmt_text(&q, ":labels", s->labels != NULL ? s->labels : "{}");
	stmt_text(&q, ":env", s->env != NULL ? s->env : "{}");
	limit_row_bind(&q, LIMIT_COUNT, &s->limits, &s->net);
	stmt_int(&q, ":sleep_after_ms", s->life.sleep_after_ms);
	stmt_int(&q, ":keep_alive", s->life.keep_alive);
	stmt_int(&q, ":stop_after_ms", s->life.stop_after_ms);
	stmt_int(&q, ":delete_after_ms", s->life.delete_after_ms);
	stmt_int(&q, ":expires_at",
		 ctl_life_due(&s->life, SANDBOX_CREATING, now));
	stmt_int(&q, ":now", now);
	r = stmt_run(&q, &n, e);
	if (r == ERR_NONE)
		*made = n == 1;
	return r;
}

enum err ctl_sandbox_room(struct store_conn *c, const char *tenant,
			  int64_t *used, int64_t *most, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_SANDBOX_ROOM, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":tenant", tenant);
	r = stmt_row(&q, e);
	if (r == ERR_NOT_FOUND)
		return err_set(e, r, 0, "no such tenant");
	if (r != ERR_NONE)
		return r;
	*used = stmt_col_int(&q, 0);
	*most = stmt_col_int(&q, 1);
	return ERR_NONE;
}

/* Why there is no row of that name after sandbox_add(). */
static enum err sandbox_not_made(struct store_conn *c, const char *tenant,
				 struct errinfo *e)
{
	int64_t used, most;
	enum err r = ctl_sandbox_room(c, tenant, &used, &most, e);

	if (r != ERR_NONE)
		return r;
	return err_set(e, ERR_LIMIT, 0, "%lld sandboxes of %lld",
		       (long long)used, (long long)most);
}

/* A row, and that it was made: both or none. */
static enum err sandbox_make(struct store_conn *c, const char *tenant,
			     const struct ctl_sandbox_spec *spec,
			     struct ctl_sandbox *out, bool *made,
			     struct errinfo *e)
{
	OWN(tx_end) struct tx t = TX_INIT;
	OWN(ctl_sandbox_free) struct ctl_sandbox s = {.labels = NULL};
	enum err r = tx_begin(&t, c, STORE_CTL, e);

	if (r == ERR_NONE)
		r = sandbox_add(c, tenant, spec, made, e);
	if (r == ERR_NONE)
		r = sandbox_any(c, STMT_SANDBOX_FIND, tenant, spec->name, &s,
				e);
	if (r == ERR_NOT_FOUND)
		r = sandbox_not_made(c, tenant, e);
	if (r == ERR_NONE && *made && spec->actor != NULL) {
		const struct ctl_audit a = {.tenant = tenant,
					    .actor = spec->actor,
					    .action = "sandbox.create",
					    .target = s.id,
					    .name = s.name};

		r = ctl_audit_add(c, &a, e);
	}
	if (r == ERR_NONE)
		r = tx_commit(&t, e);
	if (r != ERR_NONE)
		return r;
	*out = s;
	s = (struct ctl_sandbox){.labels = NULL};
	return ERR_NONE;
}

enum err ctl_sandbox_reserve(struct store_conn *c, const char *tenant,
			     const struct ctl_sandbox_spec *spec,
			     struct ctl_sandbox *out, bool *made,
			     struct errinfo *e)
{
	struct ctl_sandbox s;
	bool is_new = false;
	enum err r = sandbox_spec_ok(spec, e);

	if (r != ERR_NONE)
		return r;
	/* Most calls find it: look before taking the write lock. */
	r = sandbox_any(c, STMT_SANDBOX_FIND, tenant, spec->name, &s, e);
	if (r == ERR_NOT_FOUND)
		r = sandbox_make(c, tenant, spec, &s, &is_new, e);
	if (r != ERR_NONE)
		return r;
	if (s.state == SANDBOX_DELETING) {
		ctl_sandbox_free(&s);
		return err_set(e, ERR_STATE, 0, "it is being deleted");
	}
	*out = s;
	*made = is_new;
	return ERR_NONE;
}

enum err ctl_sandbox_list(struct store_conn *c, const char *tenant,
			  const struct ctl_sandbox_filter *filter,
			  struct ctl_sandbox_list *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	OWN(ctl_sandbox_list_free) struct ctl_sandbox_list l = {.n = 0};
	size_t limit = filter->limit != 0 ? filter->limit : 100;
	bool label = filter->label_key != NULL && filter->label_key[0] != '\0';
	bool row, more = false;
	enum err r = stmt_use(c, STMT_SANDBOX_LIST, &q, e);

	if (r != ERR_NONE)
		return r;
	if (limit > CTL_SANDBOX_PAGE_MAX)
		limit = CTL_SANDBOX_PAGE_MAX;
	stmt_text(&q, ":tenant", tenant);
	stmt_text(&q, ":after", filter->after);
	stmt_text(&q, ":state", ctl_sandbox_state_name(filter->state));
	stmt_text(&q, ":label", label ? filter->label_key : "");
	stmt_int(&q, ":any_value", filter->label_value == NULL);
	stmt_text(&q, ":value", filter->label_value);
	while ((r = stmt_step(&q, &row, e)) == ERR_NONE && row) {
		more = l.n == limit;
		if (more)
			break;
		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r == ERR_NONE)
			r = sandbox_row(&q, &l.rows[l.n], e);
		if (r != ERR_NONE)
			return r;
		l.n++;
	}
	if (r != ERR_NONE)
		return r;
	*out = (struct ctl_sandbox_list){STEAL(l.rows), l.n, more};
	l.n = 0;
	return ERR_NONE;
}

void ctl_sandbox_list_free(struct ctl_sandbox_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		ctl_sandbox_free(&l->rows[i]);
	free(l->rows);
	*l = (struct ctl_sandbox_list){.n = 0};
}

/* ---- for the sweep ---- */

static enum err sweep_rows(struct stmt *q, struct ctl_sandbox_sweep *out,
			   struct errinfo *e)
{
	OWN(ctl_sandbox_sweep_free) struct ctl_sandbox_sweep l = {.n = 0};
	bool row;
	enum err r;

	while ((r = stmt_step(q, &row, e)) == ERR_NONE && row) {
		struct ctl_sandbox_owned *o;

		r = stmt_grow(&l.rows, l.n, sizeof(*l.rows), e);
		if (r != ERR_NONE)
			return r;
		o = &l.rows[l.n];
		r = sandbox_row(q, &o->row, e);
		if (r != ERR_NONE)
			return r;
		l.n++;
		stmt_col_copy(q, 3 * LIMIT_ROW_COLS + 14, o->tenant,
			      sizeof(o->tenant));
	}
	if (r == ERR_NONE)
		r = stmt_copied(q, e);
	if (r != ERR_NONE)
		return r;
	*out = (struct ctl_sandbox_sweep){STEAL(l.rows), l.n};
	l.n = 0;
	return ERR_NONE;
}

enum err ctl_sandbox_due(struct store_conn *c, int64_t now_ms, uint32_t most,
			 struct ctl_sandbox_sweep *out, struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_SANDBOX_DUE, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_int(&q, ":now", now_ms);
	stmt_int(&q, ":limit", most);
	return sweep_rows(&q, out, e);
}

enum err ctl_sandbox_awake(struct store_conn *c, const char *after,
			   uint32_t most, struct ctl_sandbox_sweep *out,
			   struct errinfo *e)
{
	OWN(stmt_end) struct stmt q = STMT_INIT;
	enum err r = stmt_use(c, STMT_SANDBOX_AWAKE, &q, e);

	if (r != ERR_NONE)
		return r;
	stmt_text(&q, ":after", after);
	stmt_int(&q, ":limit", most);
	return sweep_rows(&q, out, e);
}

void ctl_sandbox_sweep_free(struct ctl_sandbox_sweep *l)
{
	for (size_t i = 0; i < l->n; i++)
		ctl_sandbox_free(&l->rows[i].row);
	free(l->rows);
	*l = (struct ctl_sandbox_sweep){.n = 0};
}

/*
 * Sandboxes as their tenant's rows. The life of a row:
 *
 *   ctl_sandbox_reserve (creating) -> broker START -> ctl_sandbox_confirm
 *   (running) … -> ctl_sandbox_deleting -> broker DESTROY
 *   -> ctl_sandbox_remove (the name is free again)
 *
 * A worker that dies between two of these leaves a row that the next call
 * takes further: START and DESTROY are idempotent. Whoever STARTs must
 * confirm; if that says ERR_NOT_FOUND the sandbox was deleted meanwhile, and
 * what was started must be DESTROYed.
 *
 * Every function takes the tenant's id first: another tenant's sandbox is
 * ERR_NOT_FOUND, as one that never was. Functions with "own" in their
 * contract take a sandbox id alone, which the caller has from its own row.
 */
#ifndef STORE_CTL_SANDBOX_H
#define STORE_CTL_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "store/ctl_limit.h"
#include "store/ctl_tenant.h"
#include "store/db.h"

#define CTL_SANDBOX_NAME_MAX 128
#define CTL_SANDBOX_IMAGE_MAX 31
#define CTL_SANDBOX_USER_MAX 31
#define CTL_SANDBOX_LABELS_MAX 16384
#define CTL_SANDBOX_ENV_MAX (1 << 20)
#define CTL_SANDBOX_PAGE_MAX 1000

#define SANDBOX_STATES(X)                                                      \
	X(CREATING, "creating")                                                \
	X(RUNNING, "running")                                                  \
	X(SLEEPING, "sleeping")                                                \
	X(STOPPED, "stopped")                                                  \
	X(FAILED, "failed")                                                    \
	X(DELETING, "deleting")

enum sandbox_state {
	SANDBOX_NONE = 0,
#define X(name, text) SANDBOX_##name,
	SANDBOX_STATES(X)
#undef X
};

/*
 * What becomes of a sandbox that is not used: so long after its last use it
 * sleeps, stops, is deleted. 0: never; and never any of it with keep_alive.
 */
struct ctl_life {
	int64_t sleep_after_ms;
	int64_t stop_after_ms;
	int64_t delete_after_ms;
	bool keep_alive;
};

/* Of these, what is to be another; -1: as it is. */
struct ctl_life_change {
	int64_t sleep_after_ms;
	int64_t stop_after_ms;
	int64_t delete_after_ms;
	int keep_alive;
};

/* What the tenant asks for. Borrowed texts. 0 and "" mean as written. */
struct ctl_sandbox_spec {
	const char *name;
	const char *image;  /* "host" */
	const char *user;   /* "root" or "sandbox" */
	const char *labels; /* JSON object of texts */
	const char *env;    /* JSON object; secret */
	struct ctl_life life;
	struct ctl_limits limits; /* 0: its tenant's */
	struct ctl_net net;
	const char *actor; /* a key's prefix, for the audit; NULL: none */
};

struct ctl_sandbox {
	id_sandbox_t id;
	char name[CTL_SANDBOX_NAME_MAX + 1];
	enum sandbox_state state;
	char image[CTL_SANDBOX_IMAGE_MAX + 1];
	char user[CTL_SANDBOX_USER_MAX + 1];
	char *labels;
	char *env;
	struct ctl_life life;
	int64_t expires_ms; /* unix; what is next of life, 0: nothing */
	int64_t created_ms;
	int64_t last_active_ms;
	struct ctl_limits limits; /* what holds for it, of its tenant's */
	struct ctl_net net;
};

struct ctl_sandbox_list {
	struct ctl_sandbox *rows;
	size_t n;
	bool more; /* there are rows after the last */
};

/* Of any tenant: for the sweep. */
struct ctl_sandbox_owned {
	struct ctl_sandbox row;
	ctl_tenant_id_t tenant;
};

struct ctl_sandbox_sweep {
	struct ctl_sandbox_owned *rows;
	size_t n;
};

/* Which rows a list has. NULL, "" and 0 mean: any. */
struct ctl_sandbox_filter {
	enum sandbox_state state;
	const char *label_key;
	const char *label_value; /* with label_key; NULL: the key is there */
	const char *after;       /* name of the last row of the page before */
	uint32_t limit;          /* 0: 100; at most CTL_SANDBOX_PAGE_MAX */
};

/** ctl_sandbox_state_name(s), ctl_sandbox_state(text): "running", …. */
const char *ctl_sandbox_state_name(enum sandbox_state s);
enum sandbox_state ctl_sandbox_state(const char *text);

/** ctl_sandbox_free(s): Free what the row ${s} holds. */
void ctl_sandbox_free(struct ctl_sandbox *s);
void ctl_sandbox_list_free(struct ctl_sandbox_list *l);

/**
 * ctl_sandbox_find(c, tenant, name, out, e), ctl_sandbox_get(… id …):
 * The tenant's sandbox by name, or by id. One that is being deleted is not
 * found. Owns: ${out}, free it by ctl_sandbox_free. Errors: ERR_NOT_FOUND.
 */
FALLIBLE enum err ctl_sandbox_find(struct store_conn *c, const char *tenant,
				   const char *name, struct ctl_sandbox *out,
				   struct errinfo *e);
FALLIBLE enum err ctl_sandbox_get(struct store_conn *c, const char *tenant,
				  const char *id, struct ctl_sandbox *out,
				  struct errinfo *e);

/**
 * ctl_sandbox_reserve(c, tenant, spec, out, made, e):
 * The row of that name: a new one in state creating (${made} true), or the
 * one that is there (false; its settings may differ from ${spec}). A new one
 * is in the audit by the same commit, if ${spec} has an actor.
 * Errors: ERR_ARG (a text too long), ERR_STATE (that name is being deleted:
 * try again), ERR_NOT_FOUND (no such tenant), ERR_LIMIT (the tenant has as
 * many as it may: ctl_sandbox_room).
 */
FALLIBLE enum err ctl_sandbox_reserve(struct store_conn *c, const char *tenant,
				      const struct ctl_sandbox_spec *spec,
				      struct ctl_sandbox *out, bool *made,
				      struct errinfo *e);

/** ctl_sandbox_room(c, tenant, used, most, e): How many sandboxes the tenant
 * has, and may have. Errors: ERR_NOT_FOUND. */
FALLIBLE enum err ctl_sandbox_room(struct store_conn *c, const char *tenant,
				   int64_t *used, int64_t *most,
				   struct errinfo *e);

/**
 * ctl_sandbox_limits(c, id, out, e):
 * What holds for a sandbox of whatever tenant. For the recorder.
 * Errors: ERR_NOT_FOUND.
 */
FALLIBLE enum err ctl_sandbox_limits(struct store_conn *c, const char *id,
				     struct ctl_limits *out, struct errinfo *e);

/**
 * ctl_sandbox_confirm(c, id, e):
 * After START: state running, active now. Own. Errors: ERR_NOT_FOUND when
 * the row is gone or being deleted: DESTROY what was started.
 */
FALLIBLE enum err ctl_sandbox_confirm(struct store_conn *c, const char *id,
				      struct errinfo *e);

/**
 * ctl_sandbox_move(c, id, from, to, e):
 * One allowed step of state (deleting excepted). Own.
 * Errors: ERR_STATE when the row is not in state ${from} any more.
 */
FALLIBLE enum err ctl_sandbox_move(struct store_conn *c, const char *id,
				   enum sandbox_state from,
				   enum sandbox_state to, struct errinfo *e);

/**
 * ctl_sandbox_touch(c, s, e):
 * It is used now. Writes only when the row's time is more than 10 s old.
 */
FALLIBLE enum err ctl_sandbox_touch(struct store_conn *c, struct ctl_sandbox *s,
				    struct errinfo *e);

/** ctl_sandbox_used(c, s, at_ms, e): It was used at that time (unix). */
FALLIBLE enum err ctl_sandbox_used(struct store_conn *c, struct ctl_sandbox *s,
				   int64_t at_ms, struct errinfo *e);

/** ctl_life_due(life, state, active_ms): When one in ${state} that was used
 * last at ${active_ms} (unix) sleeps, stops or is deleted; 0: never. */
int64_t ctl_life_due(const struct ctl_life *life, enum sandbox_state state,
		     int64_t active_ms);

/**
 * ctl_sandbox_set(c, tenant, id, change, labels, e):
 * Other settings; they hold at once. ${labels} NULL: as they are.
 * Errors: ERR_NOT_FOUND.
 */
FALLIBLE enum err ctl_sandbox_set(struct store_conn *c, const char *tenant,
				  const char *id,
				  const struct ctl_life_change *change,
				  const char *labels, struct errinfo *e);

/**
 * ctl_sandbox_due(c, now_ms, most, out, e):
 * Those whose time has come, the longest due first; also those in state
 * deleting whose deletion broke off. For the sweep, as the next two.
 */
FALLIBLE enum err ctl_sandbox_due(struct store_conn *c, int64_t now_ms,
				  uint32_t most, struct ctl_sandbox_sweep *out,
				  struct errinfo *e);

/** ctl_sandbox_later(c, id, at_ms, e): What is due of it failed: it is due
 * again at that time. */
FALLIBLE enum err ctl_sandbox_later(struct store_conn *c, const char *id,
				    int64_t at_ms, struct errinfo *e);

/** ctl_sandbox_awake(c, after, most, out, e): Rows that say running or
 * sleeping, by id, after ${after}. */
FALLIBLE enum err ctl_sandbox_awake(struct store_conn *c, const char *after,
				    uint32_t most,
				    struct ctl_sandbox_sweep *out,
				    struct errinfo *e);

/**
 * ctl_sandbox_expire(c, id, now_ms, e):
 * ctl_sandbox_deleting() of one whose time has come, or whose deletion broke
 * off. Errors: ERR_STATE when it was used, or changed, meanwhile.
 */
FALLIBLE enum err ctl_sandbox_expire(struct store_conn *c, const char *id,
				     int64_t now_ms, struct errinfo *e);

void ctl_sandbox_sweep_free(struct ctl_sandbox_sweep *l);

/**
 * ctl_sandbox_deleting(c, tenant, name, id, e):
 * First step of a deletion: nobody finds it any more. ${id} is what to
 * DESTROY; also given for one whose deletion was begun and not finished. One
 * that is not finished in a minute is due again.
 * Errors: ERR_NOT_FOUND.
 */
FALLIBLE enum err ctl_sandbox_deleting(struct store_conn *c, const char *tenant,
				       const char *name, id_sandbox_t id,
				       struct errinfo *e);

/**
 * ctl_sandbox_remove(c, id, e):
 * Last step: its ports, executions, processes, contexts and logs go, then
 * the row. Own. Done already: fine.
 */
FALLIBLE enum err ctl_sandbox_remove(struct store_conn *c, const char *id,
				     struct errinfo *e);

/** ctl_sandbox_list(c, tenant, filter, out, e): One page, by name. */
FALLIBLE enum err ctl_sandbox_list(struct store_conn *c, const char *tenant,
				   const struct ctl_sandbox_filter *filter,
				   struct ctl_sandbox_list *out,
				   struct errinfo *e);

/**
 * ctl_sandbox_exists(c, id, exists, e):
 * There is such a row, of whatever tenant and state. For the recorder.
 */
FALLIBLE enum err ctl_sandbox_exists(struct store_conn *c, const char *id,
				     bool *exists, struct errinfo *e);

/**
 * ctl_sandbox_owner(c, id, tenant, e):
 * Whose sandbox ${id} is, for a caller who proved the right to one of its
 * ports. Errors: ERR_NOT_FOUND.
 */
FALLIBLE enum err ctl_sandbox_owner(struct store_conn *c, const char *id,
				    ctl_tenant_id_t tenant, struct errinfo *e);

#endif

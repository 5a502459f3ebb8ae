/* Plans, and what each tenant may: see ctl_limit.h. */
#ifndef STORE_CTL_PLAN_H
#define STORE_CTL_PLAN_H

#include <stddef.h>

#include "store/ctl_limit.h"
#include "store/db.h"

#define CTL_PLAN_NAME_MAX 63
#define CTL_PLAN_DEFAULT "default"

struct ctl_plan {
	char name[CTL_PLAN_NAME_MAX + 1];
	struct ctl_limits limits;
	struct ctl_net net;
};

struct ctl_plan_list {
	struct ctl_plan *rows;
	size_t n;
};

/* ${own} is what the tenant has in place of its plan's, ${most} what holds. */
struct ctl_allowance {
	char plan[CTL_PLAN_NAME_MAX + 1];
	struct ctl_limits own;
	struct ctl_net own_net;
	struct ctl_limits most;
	struct ctl_net most_net;
};

/** ctl_plan_list(c, out, e): All, by name. Owns: ${out} is the caller's. */
FALLIBLE enum err ctl_plan_list(struct store_conn *c, struct ctl_plan_list *out,
				struct errinfo *e);
void ctl_plan_list_free(struct ctl_plan_list *l);

/** ctl_plan_get(c, name, out, e): Errors: ERR_NOT_FOUND. */
FALLIBLE enum err ctl_plan_get(struct store_conn *c, const char *name,
			       struct ctl_plan *out, struct errinfo *e);

/**
 * ctl_plan_add(c, plan, e), ctl_plan_set(c, plan, e):
 * A new plan; one that is there, or new. Every limit must have a value; the
 * lists may be empty. Errors: ERR_ARG, ERR_EXISTS (add).
 */
FALLIBLE enum err ctl_plan_add(struct store_conn *c,
			       const struct ctl_plan *plan, struct errinfo *e);
FALLIBLE enum err ctl_plan_set(struct store_conn *c,
			       const struct ctl_plan *plan, struct errinfo *e);

/** ctl_plan_allowance(c, tenant, out, e): Errors: ERR_NOT_FOUND. */
FALLIBLE enum err ctl_plan_allowance(struct store_conn *c, const char *tenant,
				     struct ctl_allowance *out,
				     struct errinfo *e);

/**
 * ctl_plan_allow(c, tenant, a, e):
 * Give a tenant the plan ${a->plan}, and ${a->own} in place of what that
 * says. Errors: ERR_NOT_FOUND (no such tenant or plan).
 */
FALLIBLE enum err ctl_plan_allow(struct store_conn *c, const char *tenant,
				 const struct ctl_allowance *a,
				 struct errinfo *e);

#endif

/* Plans, and what each tenant may: the operator's side of ctl_plan.h. */
#include <stdio.h>
#include <string.h>

#include "store/ctl_plan.h"
#include "store/ctl_tenant.h"
#include "store/warren_cli.h"

static void plan_print(const char *name, const struct ctl_limits *limits,
		       const struct ctl_net *net)
{
	printf("%s", name);
	for (int i = 0; i < LIMIT_ALL; i++)
		printf("\t%s=%lld", ctl_limit_table[i].name,
		       (long long)limits->of[i]);
	printf("\tnetwork=%s\tallow=%s\tdeny=%s\n", net->policy, net->allow,
	       net->deny);
}

/* All --limit of the command line. */
static enum err plan_limits(const struct cli *cli, struct ctl_limits *limits,
			    struct ctl_net *net, struct errinfo *e)
{
	enum err r = ERR_NONE;

	for (size_t i = 0; r == ERR_NONE && i < cli->nlimits; i++)
		r = ctl_limits_parse(cli->limits[i], limits, net, e);
	return r;
}

enum err warren_plan_list(struct cli *cli, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	OWN(ctl_plan_list_free) struct ctl_plan_list l = {.n = 0};
	enum err r = warren_cli_open(cli, &c, e);

	if (r == ERR_NONE)
		r = ctl_plan_list(c, &l, e);
	for (size_t i = 0; i < l.n; i++)
		plan_print(l.rows[i].name, &l.rows[i].limits, &l.rows[i].net);
	return r;
}

/* Beginning with the plan ${from}; "default" takes the value it has there. */
static enum err plan_write(struct cli *cli, const char *from,
			   enum err (*write)(struct store_conn *c,
					     const struct ctl_plan *plan,
					     struct errinfo *e),
			   const char *action, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	struct ctl_plan base, p;
	enum err r = warren_cli_open(cli, &c, e);

	if (r == ERR_NONE)
		r = ctl_plan_get(c, from, &base, e);
	if (r != ERR_NONE)
		return r;
	p = base;
	r = plan_limits(cli, &p.limits, &p.net, e);
	if (r != ERR_NONE)
		return r;
	ctl_limits_over(&p.limits, &base.limits, &p.limits);
	if (p.net.policy[0] == '\0')
		memcpy(p.net.policy, base.net.policy, sizeof(p.net.policy));
	snprintf(p.name, sizeof(p.name), "%.*s", CTL_PLAN_NAME_MAX,
		 cli->args[0]);
	r = write(c, &p, e);
	if (r != ERR_NONE)
		return r;
	plan_print(p.name, &p.limits, &p.net);
	return warren_cli_audit(c, "", action, p.name, e);
}

enum err warren_plan_add(struct cli *cli, struct errinfo *e)
{
	if (strlen(cli->args[0]) > CTL_PLAN_NAME_MAX)
		return err_set(e, ERR_ARG, 0, "that name is too long");
	return plan_write(cli, cli->plan != NULL ? cli->plan : CTL_PLAN_DEFAULT,
			  ctl_plan_add, "plan.add", e);
}

enum err warren_plan_set(struct cli *cli, struct errinfo *e)
{
	return plan_write(cli, cli->args[0], ctl_plan_set, "plan.set", e);
}

enum err warren_tenant_set(struct cli *cli, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	struct ctl_allowance a;
	struct ctl_tenant t;
	enum err r = warren_cli_open(cli, &c, e);

	if (r == ERR_NONE)
		r = ctl_tenant_find(c, cli->args[0], &t, e);
	if (r == ERR_NONE)
		r = ctl_plan_allowance(c, t.id, &a, e);
	if (r == ERR_NONE)
		r = plan_limits(cli, &a.own, &a.own_net, e);
	if (r == ERR_NONE && cli->plan != NULL) {
		if (strlen(cli->plan) > CTL_PLAN_NAME_MAX)
			return err_set(e, ERR_ARG, 0, "that name is too long");
		memcpy(a.plan, cli->plan, strlen(cli->plan) + 1);
	}
	if (r == ERR_NONE)
		r = ctl_plan_allow(c, t.id, &a, e);
	if (r == ERR_NONE)
		r = ctl_plan_allowance(c, t.id, &a, e);
	if (r != ERR_NONE)
		return r;
	printf("%s\t", t.name);
	plan_print(a.plan, &a.most, &a.most_net);
	return warren_cli_audit(c, t.id, "tenant.set", t.name, e);
}

#include <stdio.h>

#include "store/ctl_tenant.h"
#include "store/warren_cli.h"

enum err warren_tenant_add(struct cli *cli, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	struct ctl_tenant t;
	enum err r = warren_cli_open(cli, &c, e);

	if (r == ERR_NONE)
		r = ctl_tenant_add(c, cli->args[0], &t, e);
	if (r != ERR_NONE)
		return r;
	printf("%s\t%s\n", t.name, t.id);
	return warren_cli_audit(c, t.id, "tenant.add", t.name, e);
}

enum err warren_tenant_list(struct cli *cli, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	OWN(ctl_tenant_list_free) struct ctl_tenant_list l = {.n = 0};
	enum err r = warren_cli_open(cli, &c, e);

	if (r == ERR_NONE)
		r = ctl_tenant_list(c, &l, e);
	for (size_t i = 0; i < l.n; i++)
		printf("%s\t%s\n", l.rows[i].name, l.rows[i].id);
	return r;
}

enum err warren_tenant_remove(struct cli *cli, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	struct ctl_tenant t;
	enum err r = warren_cli_open(cli, &c, e);

	if (r == ERR_NONE)
		r = ctl_tenant_find(c, cli->args[0], &t, e);
	if (r == ERR_NONE)
		r = ctl_tenant_remove(c, t.id, e);
	if (r != ERR_NONE)
		return r;
	return warren_cli_audit(c, t.id, "tenant.remove", t.name, e);
}

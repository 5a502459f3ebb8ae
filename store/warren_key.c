#include <stdio.h>
#include <string.h>

#include "store/ctl_key.h"
#include "store/ctl_tenant.h"
#include "store/warren_cli.h"

enum err warren_key_add(struct cli *cli, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	enum key_scope scope = ctl_key_scope(cli->scope);
	char prefix[CTL_KEY_PREFIX_LEN + 1] = {0};
	char text[CTL_KEY_LEN + 1];
	struct ctl_tenant t;
	enum err r;

	if (scope == KEY_NONE)
		return err_set(e, ERR_ARG, 0,
			       "a scope is read, exec or manage");
	r = warren_cli_open(cli, &c, e);
	if (r == ERR_NONE)
		r = ctl_tenant_find(c, cli->args[0], &t, e);
	if (r == ERR_NONE)
		r = ctl_key_add(c, t.id, scope, text, e);
	if (r != ERR_NONE)
		return r;
	printf("%s\n", text);
	memcpy(prefix, text, CTL_KEY_PREFIX_LEN);
	return warren_cli_audit(c, t.id, "key.add", prefix, e);
}

enum err warren_key_revoke(struct cli *cli, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	enum err r = warren_cli_open(cli, &c, e);

	if (r == ERR_NONE)
		r = ctl_key_revoke(c, cli->args[0], e);
	if (r != ERR_NONE)
		return r;
	return warren_cli_audit(c, "", "key.revoke", cli->args[0], e);
}

enum err warren_key_list(struct cli *cli, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	OWN(ctl_key_list_free) struct ctl_key_list l = {.n = 0};
	enum err r = warren_cli_open(cli, &c, e);

	if (r == ERR_NONE)
		r = ctl_key_list(c, &l, e);
	for (size_t i = 0; i < l.n; i++)
		printf("%s\t%s\t%s\t%s\n", l.rows[i].prefix, l.rows[i].tenant,
		       ctl_key_scope_name(l.rows[i].scope),
		       l.rows[i].revoked_ms != 0 ? "revoked" : "valid");
	return r;
}

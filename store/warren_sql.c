#include <stdio.h>
#include <string.h>

#include "store/migrate.h"
#include "store/sql_query.h"
#include "store/warren_cli.h"
#include "store/warren_out.h"

static void tell_migrated(const char *name, int64_t before, int64_t now)
{
	if (before == 0)
		printf("%s: made, with schema %lld\n", name, (long long)now);
	else if (before < now)
		printf("%s: from schema %lld to %lld\n", name,
		       (long long)before, (long long)now);
	else
		printf("%s: has schema %lld, nothing to do\n", name,
		       (long long)now);
}

enum err warren_migrate(struct cli *cli, struct errinfo *e)
{
	static const char *const names[STORE_DBS] = {
	    [STORE_CTL] = "ctl.db",
	    [STORE_NODE] = "node.db",
	    [STORE_LOGS] = "logs.db",
	};
	struct migrate_done done;
	enum err r = warren_cli_make_dirs(cli, e);

	if (r == ERR_NONE)
		r = warren_cli_drop(cli, e);
	if (r == ERR_NONE)
		r = migrate_all(cli->data, &done, e);
	if (r != ERR_NONE)
		return r;
	for (int i = 0; i < STORE_DBS; i++)
		tell_migrated(names[i], done.before[i], done.now[i]);
	return ERR_NONE;
}

enum err warren_sql(struct cli *cli, struct errinfo *e)
{
	OWN(warren_out_end)
	struct warren_out o = {.file = stdout, .json = cli->json};
	const struct sql_caps caps = SQL_CAPS_DEFAULT;
	const struct sql_sink sink = warren_out_sink(&o);
	enum err r = warren_cli_drop(cli, e);

	if (r != ERR_NONE)
		return r;
	if (cli->views)
		return sql_query_views(cli->data, &sink, e);
	r = sql_query_run(cli->data, cli->args[0], &caps, &sink, e);
	if (r == ERR_ARG && strncmp(e->text, "no such ", 8) == 0)
		return err_set(e, r, 0, "%.180s; warren sql --views lists them",
			       e->text);
	return r;
}

#include <stdio.h>

#include "store/migrate.h"
#include "store/sql_query.h"
#include "store/warren_cli.h"
#include "store/warren_out.h"

enum err warren_migrate(struct cli *cli, struct errinfo *e)
{
	enum err r = warren_cli_make_dirs(cli, e);

	if (r == ERR_NONE)
		r = warren_cli_drop(cli, e);
	return r == ERR_NONE ? migrate_all(cli->data, e) : r;
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
	return sql_query_run(cli->data, cli->args[0], &caps, &sink, e);
}

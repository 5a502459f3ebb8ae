/*
 * The operator's command line, one file for each noun. Run by root it becomes
 * the owner of the database directory before it opens anything, so that no
 * file of root's locks the workers out.
 */
#ifndef STORE_WARREN_CLI_H
#define STORE_WARREN_CLI_H

#include <stdbool.h>

#include "store/db.h"

#define WARREN_USER "warren"
#define WARREN_DATA "/var/lib/warren"
#define CLI_LIMITS_MAX 64

struct cli {
	const char *data;
	const char *scope;
	const char *url; /* --url, --key: of a service; NULL when not given */
	const char *key;
	const char *plan;                   /* --plan; NULL when not given */
	const char *limits[CLI_LIMITS_MAX]; /* each --limit */
	size_t nlimits;
	bool json;
	bool force;
	bool views;
	char **args; /* after the command's own words */
	char db_dir[4096];
};

/* A command. Errors: any; told in one sentence, the exit status is 1. */
typedef enum err cli_fn(struct cli *cli, struct errinfo *e);

cli_fn warren_tenant_add, warren_tenant_list, warren_tenant_remove;
cli_fn warren_tenant_set, warren_plan_list, warren_plan_add, warren_plan_set;
cli_fn warren_key_add, warren_key_revoke, warren_key_list;
cli_fn warren_image_import, warren_image_list, warren_image_remove;
cli_fn warren_sql, warren_migrate, warren_doctor, warren_selftest;

/** warren_cli_drop(cli, e): Root becomes the owner of D/db for good; anybody
 * else stays what he is. Errors: ERR_NOT_FOUND, ERR_DENIED, ERR_IO. */
FALLIBLE enum err warren_cli_drop(struct cli *cli, struct errinfo *e);

/** warren_cli_make_dirs(cli, e): D root's, D/db the workers'. */
FALLIBLE enum err warren_cli_make_dirs(struct cli *cli, struct errinfo *e);

/** warren_cli_open(cli, c, e): Drop, then open the databases. */
FALLIBLE enum err warren_cli_open(struct cli *cli, struct store_conn **c,
				  struct errinfo *e);

/** warren_cli_audit(c, tenant, action, target, e): Note what was done. */
FALLIBLE enum err warren_cli_audit(struct store_conn *c, const char *tenant,
				   const char *action, const char *target,
				   struct errinfo *e);

#endif

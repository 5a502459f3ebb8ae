/*
 * warren: the operator's command line. Run by root it becomes the owner of
 * the database directory before it opens anything, so that no file of
 * root's locks the workers out.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <locale.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "base/log.h"
#include "store/ctl_audit.h"
#include "store/ctl_key.h"
#include "store/ctl_tenant.h"
#include "store/db.h"
#include "store/migrate.h"
#include "store/sql_query.h"
#include "store/warren_out.h"

#define WARREN_USER "warren"
#define WARREN_DATA "/var/lib/warren"

struct cli {
	const char *data;
	const char *scope;
	bool json;
	char **args; /* after the command's own words */
	char db_dir[4096];
};

typedef enum err cli_fn(struct cli *cli, struct errinfo *e);

static const char cli_usage[] =
    "usage: warren [--data DIR] COMMAND\n"
    "\n"
    "  tenant add NAME              a new tenant\n"
    "  tenant list\n"
    "  key add TENANT [--scope S]   print a new key; S is read, exec or\n"
    "                               manage (the default: everything)\n"
    "  key list\n"
    "  key revoke PREFIX            refuse the key that begins so\n"
    "  sql TEXT [--json]            one SELECT over tenants, keys,\n"
    "                               sandboxes, executions, processes,\n"
    "                               contexts, process_logs,\n"
    "                               execution_logs, ports, audit\n"
    "  migrate                      make the databases, or bring them to\n"
    "                               this program's schema\n"
    "\n"
    "DIR is " WARREN_DATA " unless given.\n";

/* ---- who we are ---- */

static enum err cli_become(uid_t uid, gid_t gid, struct errinfo *e)
{
	if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
	    setresuid(uid, uid, uid) != 0)
		return err_set(e, ERR_IO, errno,
			       "cannot become the owner of the databases");
	return ERR_NONE;
}

/* Root becomes the owner of D/db; anybody else stays what he is. */
static enum err cli_drop(struct cli *cli, struct errinfo *e)
{
	struct stat st;

	if (stat(cli->db_dir, &st) != 0)
		return err_set(e, ERR_NOT_FOUND, 0,
			       "there is no %.150s: run warren migrate first",
			       cli->db_dir);
	if (geteuid() != 0)
		return ERR_NONE;
	if (st.st_uid == 0)
		return err_set(e, ERR_DENIED, 0,
			       "%.120s belongs to root, but the workers are "
			       "user " WARREN_USER ": chown it",
			       cli->db_dir);
	return cli_become(st.st_uid, st.st_gid, e);
}

static enum err cli_mkdir(const char *path, mode_t mode, struct errinfo *e)
{
	if (mkdir(path, 0700) != 0) {
		if (errno == EEXIST)
			return ERR_NONE;
		return err_set(e, ERR_IO, errno, "cannot make %.180s", path);
	}
	/* Past the umask, which is for the files. */
	if (chmod(path, mode) != 0)
		return err_set(e, ERR_IO, errno, "cannot make %.180s", path);
	return ERR_NONE;
}

/* D root's, D/db the workers'. */
static enum err cli_make_dirs(struct cli *cli, struct errinfo *e)
{
	const struct passwd *pw = NULL;
	struct stat st;
	enum err r;

	if (stat(cli->db_dir, &st) == 0)
		return ERR_NONE;
	if (geteuid() == 0) {
		pw = getpwnam(WARREN_USER);
		if (pw == NULL)
			return err_set(e, ERR_NOT_FOUND, 0,
				       "there is no user " WARREN_USER
				       " to own the databases: adduser "
				       "--system --group " WARREN_USER);
	}
	r = cli_mkdir(cli->data, 0755, e);
	if (r == ERR_NONE)
		r = cli_mkdir(cli->db_dir, 0700, e);
	if (r != ERR_NONE || pw == NULL)
		return r;
	if (chown(cli->db_dir, pw->pw_uid, pw->pw_gid) != 0)
		return err_set(e, ERR_IO, errno, "cannot give %.180s away",
			       cli->db_dir);
	return ERR_NONE;
}

static enum err cli_open(struct cli *cli, struct store_conn **c,
			 struct errinfo *e)
{
	enum err r = cli_drop(cli, e);

	return r == ERR_NONE ? store_open(cli->data, c, e) : r;
}

static enum err cli_audit(struct store_conn *c, const char *tenant,
			  const char *action, const char *target,
			  struct errinfo *e)
{
	const struct ctl_audit a = {.tenant = tenant,
				    .actor = "operator",
				    .action = action,
				    .target = target};

	return ctl_audit_add(c, &a, e);
}

/* ---- commands ---- */

static enum err cli_migrate(struct cli *cli, struct errinfo *e)
{
	enum err r = cli_make_dirs(cli, e);

	if (r == ERR_NONE)
		r = cli_drop(cli, e);
	return r == ERR_NONE ? migrate_all(cli->data, e) : r;
}

static enum err cli_tenant_add(struct cli *cli, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	struct ctl_tenant t;
	enum err r = cli_open(cli, &c, e);

	if (r == ERR_NONE)
		r = ctl_tenant_add(c, cli->args[0], &t, e);
	if (r != ERR_NONE)
		return r;
	printf("%s\t%s\n", t.name, t.id);
	return cli_audit(c, t.id, "tenant.add", t.name, e);
}

static enum err cli_tenant_list(struct cli *cli, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	OWN(ctl_tenant_list_free) struct ctl_tenant_list l = {.n = 0};
	enum err r = cli_open(cli, &c, e);

	if (r == ERR_NONE)
		r = ctl_tenant_list(c, &l, e);
	for (size_t i = 0; i < l.n; i++)
		printf("%s\t%s\n", l.rows[i].name, l.rows[i].id);
	return r;
}

static enum err cli_key_add(struct cli *cli, struct errinfo *e)
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
	r = cli_open(cli, &c, e);
	if (r == ERR_NONE)
		r = ctl_tenant_find(c, cli->args[0], &t, e);
	if (r == ERR_NONE)
		r = ctl_key_add(c, t.id, scope, text, e);
	if (r != ERR_NONE)
		return r;
	printf("%s\n", text);
	memcpy(prefix, text, CTL_KEY_PREFIX_LEN);
	return cli_audit(c, t.id, "key.add", prefix, e);
}

static enum err cli_key_revoke(struct cli *cli, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	enum err r = cli_open(cli, &c, e);

	if (r == ERR_NONE)
		r = ctl_key_revoke(c, cli->args[0], e);
	if (r != ERR_NONE)
		return r;
	return cli_audit(c, "", "key.revoke", cli->args[0], e);
}

static enum err cli_key_list(struct cli *cli, struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	OWN(ctl_key_list_free) struct ctl_key_list l = {.n = 0};
	enum err r = cli_open(cli, &c, e);

	if (r == ERR_NONE)
		r = ctl_key_list(c, &l, e);
	for (size_t i = 0; i < l.n; i++)
		printf("%s\t%s\t%s\t%s\n", l.rows[i].prefix, l.rows[i].tenant,
		       ctl_key_scope_name(l.rows[i].scope),
		       l.rows[i].revoked_ms != 0 ? "revoked" : "valid");
	return r;
}

static enum err cli_sql(struct cli *cli, struct errinfo *e)
{
	OWN(warren_out_end)
	struct warren_out o = {.file = stdout, .json = cli->json};
	const struct sql_caps caps = SQL_CAPS_DEFAULT;
	const struct sql_sink sink = warren_out_sink(&o);
	enum err r = cli_drop(cli, e);

	if (r != ERR_NONE)
		return r;
	return sql_query_run(cli->data, cli->args[0], &caps, &sink, e);
}

/* ---- the command line ---- */

static const struct {
	const char *words[2];
	int nargs;
	cli_fn *fn;
} cli_commands[] = {
    {{"tenant", "add"}, 1, cli_tenant_add},
    {{"tenant", "list"}, 0, cli_tenant_list},
    {{"key", "add"}, 1, cli_key_add},
    {{"key", "revoke"}, 1, cli_key_revoke},
    {{"key", "list"}, 0, cli_key_list},
    {{"sql", NULL}, 1, cli_sql},
    {{"migrate", NULL}, 0, cli_migrate},
};

#define COMMANDS (sizeof(cli_commands) / sizeof(cli_commands[0]))

static cli_fn *cli_find(struct cli *cli, int argc, char **argv)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		const char *const *w = cli_commands[i].words;
		int n = w[1] != NULL ? 2 : 1;

		if (argc != n + cli_commands[i].nargs ||
		    strcmp(argv[0], w[0]) != 0)
			continue;
		if (n == 2 && strcmp(argv[1], w[1]) != 0)
			continue;
		cli->args = argv + n;
		return cli_commands[i].fn;
	}
	return NULL;
}

static cli_fn *cli_parse(struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
	    {"data", required_argument, NULL, 'd'},
	    {"scope", required_argument, NULL, 's'},
	    {"json", no_argument, NULL, 'j'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0}};
	int o;

	while ((o = getopt_long(argc, argv, "d:s:jh", options, NULL)) != -1) {
		switch (o) {
		case 'd':
			cli->data = optarg;
			break;
		case 's':
			cli->scope = optarg;
			break;
		case 'j':
			cli->json = true;
			break;
		case 'h':
			fputs(cli_usage, stdout);
			exit(0);
		default:
			return NULL;
		}
	}
	return optind < argc ? cli_find(cli, argc - optind, argv + optind)
			     : NULL;
}

int main(int argc, char **argv)
{
	struct cli cli = {.data = WARREN_DATA, .scope = "manage"};
	struct errinfo e = {.code = ERR_NONE};
	cli_fn *fn;
	int n;

	log_open("warren", LOG_INFO);
	id_init();
	umask(077);
	setlocale(LC_CTYPE, "C.UTF-8");
	fn = cli_parse(&cli, argc, argv);
	if (fn == NULL) {
		fputs(cli_usage, stderr);
		return 2;
	}
	n = snprintf(cli.db_dir, sizeof(cli.db_dir), "%s/db", cli.data);
	if (n < 0 || (size_t)n >= sizeof(cli.db_dir)) {
		fputs("warren: the data directory's name is too long\n",
		      stderr);
		return 1;
	}
	if (fn(&cli, &e) != ERR_NONE) {
		fflush(stdout);
		fprintf(stderr, "warren: %s\n", e.text);
		return 1;
	}
	if (fflush(stdout) != 0) {
		fputs("warren: the output cannot be written\n", stderr);
		return 1;
	}
	return 0;
}
